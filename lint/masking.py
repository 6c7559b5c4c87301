"""A layer that is left out at times → one that always runs, with `torch.where` to take its result or what was there.

Importing this module imports libcst.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import libcst as cst
import libcst.matchers as m

from .arithmetic import Scope, mutates
from .blocks import around
from .search import children, findall, names_in
from .slice import Slice
from .ways import Way, fresh_name, is_tensor, names_of, way_of

PYTHON_DRAW = m.Name("random") | m.Name("np") | m.Name("numpy")


class Layers:
    """A loop over layers in the function of a slice."""

    def __init__(self, found: Slice, function: cst.FunctionDef, torch: str, loop: cst.For) -> None:
        self._found = found
        self._function = function
        self._torch = torch
        self._loop = loop
        self._scope = Scope(found, function)

    def chosen(
        self,
        lines: Sequence[cst.BaseStatement],
        flag: str,
        decided: str | None,
        given: frozenset[str] = frozenset(),
        apart: Sequence[cst.BaseStatement] = (),
    ) -> list[cst.BaseStatement] | None:
        """The lines, run always, and then what was there before taken wherever `flag` holds.

        `decided` is what Python asks before it looks at the flag, None if nothing; `given` are names that the way
        around the lines binds to nothing of use; statements `apart` never run where the flag is looked at. None where
        more happens than assignments of tensors.
        """
        way = way_of(self._found, lines, self._callable())
        kept = None if way is None or way.result is not None else self._kept(way, [*lines, *apart], given)
        if not kept:
            return None
        names = {name: fresh_name(self._found, f"kept_{name}") for name in kept}
        before = [line(f"{new} = {name}") for name, new in names.items()]
        after: list[cst.BaseStatement] = [
            line(f"{name} = {self._torch}.where({flag}, {old}, {name})") for name, old in names.items()
        ]
        if decided is not None:
            after = [cst.If(cst.parse_expression(decided), cst.IndentedBlock(after))]
        return [*before, *lines, *after]

    def is_settled(self, name: str) -> bool:
        """Whether nothing in the loop gives the name another value."""
        return not any(inner.value == name for target in _targets(self._loop) for inner in names_in(target))

    def _callable(self) -> frozenset[str]:
        """The loop's own names: layers."""
        return frozenset(node.value for node in names_in(self._loop.target))

    def _kept(self, way: Way, lines: Sequence[cst.BaseStatement], given: frozenset[str]) -> list[str] | None:
        """Names bound in the way that it, or anything but `lines`, reads; None where one is not surely a tensor."""
        own = {node for statement in lines for node in names_in(statement)}
        elsewhere = {node.value for node in names_in(self._function.body) if node not in own}
        kept = sorted(name for name in way.writes if name in elsewhere - given or name in way.reads)
        return kept if all(self._may_be_chosen(name, way, kept) for name in kept) else None

    def _may_be_chosen(self, name: str, way: Way, kept: Sequence[str]) -> bool:
        local = {id(value) for value in way.writes.values()}
        earlier = [value for value in self._scope.values_of(name) if id(value) not in local]
        tensors = all(value is not None and is_tensor(self._scope, value, {}, frozenset({name})) for value in earlier)
        known = tensors and (bool(earlier) or self._scope.is_parameter(name))
        made_of_it = set(names_of(way.writes[name])) & {*kept, *way.writes}
        return bool(known and made_of_it) and not any(mutates(part, name) for part in self._later())

    def _later(self) -> Iterator[cst.CSTNode]:
        """What runs once the loop has begun."""
        part: cst.CSTNode = self._loop
        for node in reversed(around(self._function, self._loop)):
            match node:
                case cst.For() | cst.While():
                    part = node
                case cst.IndentedBlock(body=lines) if part in lines:
                    yield from lines[[other is part for other in lines].index(True) :]
                    part = node
                case _:
                    part = node
        yield self._loop


def _targets(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """What is bound in a statement, and in all inside it."""
    stack = [node]
    while stack:
        match part := stack.pop():
            case cst.AssignTarget(target=target) | cst.AugAssign(target=target) | cst.AnnAssign(target=target):
                yield target
            case cst.For(target=target) | cst.NamedExpr(target=target) | cst.Del(target=target):
                yield target
            case cst.AsName(name=target):
                yield target
        stack.extend(children(part))


def line(code: str) -> cst.SimpleStatementLine:
    """A line of source as a statement."""
    parsed = cst.parse_statement(code)
    assert isinstance(parsed, cst.SimpleStatementLine)
    return parsed


def loop_around(found: Slice, part: cst.CSTNode) -> tuple[cst.For, list[cst.CSTNode]] | None:
    """The innermost `for` around a statement, and the nodes between them; None where names are not the function's."""
    parents = around(found.tree, part)
    loops = [at for at, node in enumerate(parents) if isinstance(node, cst.For)]
    if not loops or found.function is None or findall(found.function, m.Global() | m.Nonlocal()):
        return None
    loop = parents[loops[-1]]
    assert isinstance(loop, cst.For)
    return loop, parents[loops[-1] + 1 :]
