"""`if torch.rand(()) < p: continue` in a loop over layers → the layer runs, and `torch.where` takes its result or not.

The draw is made where it was made; the layer runs when it is left out as well, so that it draws what it draws, and its
parameters get gradients of zero in place of none. Legal only where what follows in the loop is plain assignments of
pure expressions, and what they give to the next round are tensors.
"""

from __future__ import annotations

from collections.abc import Sequence

import libcst as cst
import libcst.matchers as m

from ..arithmetic import Scope, has_comments, torch_name
from ..blocks import around, only
from ..findings import Fix
from ..slice import Slice
from ..ways import Way, fresh_name, is_tensor, names_of, way_of

PYTHON_DRAW = m.Name("random") | m.Name("np") | m.Name("numpy")


def fix(found: Slice, path: str) -> Fix | None:
    torch, function, branch = torch_name(found.module, found.function), found.function, found.statement
    if torch is None or function is None or not isinstance(branch, cst.If) or branch.orelse is not None:
        return None
    if not isinstance(only(branch.body), cst.Continue) or has_comments(branch) or m.findall(branch.test, PYTHON_DRAW):
        return None
    parents = around(found.tree, branch)
    loops = [at for at, node in enumerate(parents) if isinstance(node, cst.For)]
    if not loops or m.findall(function, m.Global() | m.Nonlocal()):
        return None
    loop, inside = parents[loops[-1]], parents[loops[-1] + 1 :]
    assert isinstance(loop, cst.For)
    new = _Loop(found, function, torch, loop).with_mask(branch, inside)
    return (
        None if new is None else Fix("leave the layer out by a mask", "unsafe", (found.replace(path, loop.body, new),))
    )


class _Loop:
    """A loop over layers."""

    def __init__(self, found: Slice, function: cst.FunctionDef, torch: str, loop: cst.For) -> None:
        self._found = found
        self._function = function
        self._torch = torch
        self._loop = loop
        self._drop = fresh_name(found, "drop")

    def with_mask(self, branch: cst.If, inside: list[cst.CSTNode]) -> cst.IndentedBlock | None:
        body = self._loop.body
        match inside:
            case [cst.IndentedBlock()]:
                header: cst.BaseStatement = branch
                lines = self._drawn(branch)
            case [cst.IndentedBlock(), cst.If(orelse=None) as header, cst.IndentedBlock() as block] if (
                block.body[-1] is branch
            ):
                lines = self._drawn_within(header, block, branch)
            case _:
                return None
        assert isinstance(body, cst.IndentedBlock)
        at = next(index for index, line in enumerate(body.body) if line is header)
        rest = body.body[at + 1 :]
        way = way_of(self._found, rest, self._callable())
        carried = None if way is None or way.result is not None else self._carried(way)
        if not carried:
            return None
        kept = [fresh_name(self._found, f"kept_{name}") for name in carried]
        saved = [self._line(f"{new} = {name}") for new, name in zip(kept, carried, strict=True)]
        return body.with_changes(
            body=[*body.body[:at], *lines, *saved, *rest, *self._chosen(branch, inside, kept, carried)]
        )

    def _callable(self) -> frozenset[str]:
        """The loop's own names: layers."""
        return frozenset(node.value for node in m.findall(self._loop.target, m.Name()) if isinstance(node, cst.Name))

    def _line(self, code: str) -> cst.SimpleStatementLine:
        line = cst.parse_statement(code)
        assert isinstance(line, cst.SimpleStatementLine)
        return line

    def _parts(self, branch: cst.If) -> tuple[cst.BaseExpression | None, cst.BaseExpression]:
        """What Python decides, and the draw."""
        match branch.test:
            case cst.BooleanOperation(left=left, operator=cst.And(), right=right):
                return left, right
        return None, branch.test

    def _drawn(self, branch: cst.If) -> list[cst.BaseStatement]:
        asked, draw = self._parts(branch)
        choice = "" if asked is None else f" if {self._found.code(asked)} else None"
        line = self._line(f"{self._drop} = {self._found.code(draw)}{choice}")
        return [line.with_changes(leading_lines=branch.leading_lines)]

    def _drawn_within(self, header: cst.If, block: cst.IndentedBlock, branch: cst.If) -> list[cst.BaseStatement]:
        drawn = self._line(f"{self._drop} = {self._found.code(branch.test)}")
        changed = block.with_changes(body=[*block.body[:-1], drawn.with_changes(leading_lines=branch.leading_lines)])
        return [self._line(f"{self._drop} = None"), header.with_changes(body=changed)]

    def _chosen(
        self, branch: cst.If, inside: list[cst.CSTNode], kept: Sequence[str], carried: Sequence[str]
    ) -> list[cst.BaseStatement]:
        lines: list[cst.BaseStatement] = [
            self._line(f"{name} = {self._torch}.where({self._drop}, {old}, {name})")
            for old, name in zip(kept, carried, strict=True)
        ]
        if len(inside) == 1 and self._parts(branch)[0] is None:
            return lines
        test = cst.parse_expression(f"{self._drop} is not None")
        return [cst.If(test, cst.IndentedBlock(lines))]

    def _carried(self, way: Way) -> list[str] | None:
        """Names that the next round or the code after the loop reads; None where one is not surely a tensor."""
        scope = Scope(self._found, self._function)
        own = {id(node) for node in m.findall(self._loop, m.Name())}
        outside = {
            node.value
            for node in m.findall(self._function.body, m.Name())
            if id(node) not in own and isinstance(node, cst.Name)
        }
        carried = sorted(name for name in way.writes if name in outside or name in way.reads)
        local = {id(value) for value in way.writes.values()}
        for name in carried:
            earlier = [value for value in scope.values_of(name) if id(value) not in local]
            tensors = all(value is not None and is_tensor(scope, value, {}) for value in earlier)
            if not (tensors and (earlier or scope.is_parameter(name))) or scope.is_mutated(name):
                return None
            if not set(names_of(way.writes[name])) & {*carried, *way.writes}:
                return None
        return carried
