"""`skip = torch.rand(()) < p` and `if not skip: x = layer(x)` in a loop → the layer runs, and `torch.where` takes its
result or not.

`if torch.rand(()) < p: skip = True` becomes such an assignment. Legal only where the flag is False at the loop's begin
and nothing else reads it; on either side of its tests there may be plain assignments of pure expressions alone. What
the way around the layer gives a None to is read as a tensor or not at all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import libcst as cst
import libcst.matchers as m

from ..arithmetic import torch_name
from ..blocks import around, lines_of, only, single
from ..findings import Fix
from ..joining import reads_of
from ..masking import PYTHON_DRAW, Layers, line, loop_around
from ..search import findall, names_in
from ..slice import Slice
from .drop_layer_by_mask import TITLE

NOTHING = m.Name("None") | m.Tuple(elements=[m.AtLeastN(m.Element(m.Name("None")), n=1)])


def fix(found: Slice, path: str) -> Fix | None:
    torch, function, branch = torch_name(found.module, found.function), found.function, found.statement
    where = None if not isinstance(branch, cst.If) else loop_around(found, branch)
    if torch is None or function is None or where is None:
        return None
    loop, body = where[0], where[0].body
    assert isinstance(branch, cst.If)
    flag = _flag_set(branch) or next((name for name in _names(branch.test) if _starts(body, name)), None)
    if flag is None or not isinstance(body, cst.IndentedBlock):
        return None
    changed = _Body(found, Layers(found, function, torch, loop), torch, function, flag).masked(body)
    return None if changed is None else Fix(TITLE, "unsafe", (found.replace(path, body, changed),))


def _flag_set(branch: cst.If) -> str | None:
    """`skip`, of `if …: skip = True`."""
    match only(branch.body), branch.orelse:
        case cst.Assign(targets=[cst.AssignTarget(target=cst.Name(value=name))], value=cst.Name("True")), None:
            return name
    return None


def _names(node: cst.CSTNode) -> list[str]:
    return [name.value for name in names_in(node)]


def _starts(body: cst.BaseSuite, flag: str) -> bool:
    """Whether the loop's body itself gives the name a False."""
    start = m.Assign(targets=[m.AssignTarget(m.Name(flag))], value=m.Name("False"))
    return any((statement := single(part)) is not None and m.matches(statement, start) for part in lines_of(body))


@dataclass(frozen=True, slots=True)
class Test:
    """A test of the flag. `runs` is where the layer is, `around` the way that leaves it out."""

    branch: cst.If
    runs: Sequence[cst.BaseStatement]
    around: Sequence[cst.BaseStatement]
    forced: cst.BaseExpression | None
    """What makes the layer run even so."""


class _Body:
    """The body of a loop in which the flag is set and tested."""

    def __init__(self, found: Slice, layers: Layers, torch: str, function: cst.FunctionDef, flag: str) -> None:
        self._found = found
        self._layers = layers
        self._torch = torch
        self._function = function
        self._flag = flag

    def masked(self, body: cst.IndentedBlock) -> cst.IndentedBlock | None:
        """The whole body, with every test of the flag replaced; None where it is used in another way."""
        lines = body.body
        tests = {
            id(part): test for part in lines if isinstance(part, cst.If) and (test := self._test(part)) is not None
        }
        if not tests or len(reads_of(self._function, self._flag)) != len(tests) or not _starts(body, self._flag):
            return None
        changed: list[cst.BaseStatement] = []
        for part in lines:
            test = tests.get(id(part))
            new = [self._assigned(part)] if test is None else self._replaced(test, lines)
            if new is None:
                return None
            changed += new
        return body.with_changes(body=changed) if self._is_drawn(changed) else None

    def _assigned(self, part: cst.BaseStatement) -> cst.BaseStatement:
        changed = part.visit(_Assigned(self._found, self._flag))
        assert isinstance(changed, cst.BaseStatement)
        return changed

    def _is_drawn(self, lines: Sequence[cst.BaseStatement]) -> bool:
        """Whether the flag is given what torch's generator decides, once."""
        drawn = [
            node.value
            for part in lines
            for node in findall(part, m.Assign(targets=[m.AssignTarget(m.Name(self._flag))], value=~m.Name("False")))
            if isinstance(node, cst.Assign)
        ]
        return len(drawn) == 1 and not findall(drawn[0], PYTHON_DRAW | m.Name("True"))

    def _test(self, branch: cst.If) -> Test | None:
        """What the branch asks of the flag; None where it asks anything else."""
        body, other = lines_of(branch.body), _other(branch.orelse)
        skip, run = m.Name(self._flag), m.UnaryOperation(m.Not(), m.Name(self._flag))
        if other is None:
            return None
        match branch.test:
            case cst.BooleanOperation(left=left, operator=cst.Or(), right=cst.Name() as right) if m.matches(left, run):
                return Test(branch, body, other, right)
            case cst.BooleanOperation(
                left=left, operator=cst.And(), right=cst.UnaryOperation(cst.Not(), cst.Name() as right)
            ) if m.matches(left, skip):
                return Test(branch, other, body, right)
            case test if m.matches(test, run):
                return Test(branch, body, other, None)
            case test if m.matches(test, skip):
                return Test(branch, other, body, None)
        return None

    def _replaced(self, test: Test, lines: Sequence[cst.BaseStatement]) -> list[cst.BaseStatement] | None:
        match test.around:
            case [last] if not test.runs and isinstance(single(last), cst.Continue) and test.branch is lines[-1]:
                return []
        given = self._given(test)
        forced = "" if test.forced is None else f" and not {self._found.code(test.forced)}"
        decided = f"{self._flag} is not False{forced}"
        chosen = None if given is None else self._layers.chosen(test.runs, self._flag, decided, given)
        if chosen is None:
            return None
        above = [*test.branch.leading_lines, *getattr(chosen[0], "leading_lines", ())]
        return [chosen[0].with_changes(leading_lines=above), *chosen[1:]]

    def _given(self, test: Test) -> frozenset[str] | None:
        """Names that the way around the layer binds to nothing; None where it does more, or that could be told."""
        names: set[str] = set()
        for part in test.around:
            match single(part):
                case cst.Assign(targets=[cst.AssignTarget(target=cst.Name(value=name))], value=value) if m.matches(
                    value, NOTHING
                ):
                    names.add(name)
                case _:
                    return None
        return frozenset(names) if all(self._needs_items(name, test) for name in names) else None

    def _needs_items(self, name: str, test: Test) -> bool:
        """Whether reading it fails where it is nothing: each use but those in the test asks an attribute of an item."""
        uses = [around(self._function, use) for use in reads_of(self._function, name)]
        item = m.Attribute(value=m.Subscript(value=m.Name(name)))
        return all(test.branch in parents or m.matches(parents[-2], item) for parents in uses)


def _other(orelse: cst.If | cst.Else | None) -> Sequence[cst.BaseStatement] | None:
    """The lines of an `else`; None of an `elif`."""
    match orelse:
        case None:
            return ()
        case cst.Else(body=body):
            return lines_of(body)
    return None


class _Assigned(cst.CSTTransformer):
    """`if t: flag = True` → `flag = t`, and `if p and t: …` → `flag = t if p else False`."""

    def __init__(self, found: Slice, flag: str) -> None:
        super().__init__()
        self._found = found
        self._flag = flag

    def leave_If(self, original_node: cst.If, updated_node: cst.If) -> cst.BaseStatement:
        if _flag_set(original_node) != self._flag:
            return updated_node
        match original_node.test:
            case cst.BooleanOperation(left=left, operator=cst.And(), right=right):
                value = f"{self._found.code(right)} if {self._found.code(left)} else False"
            case test:
                value = self._found.code(test)
        new = line(f"{self._flag} = {value}")
        beside = original_node.body.header if isinstance(original_node.body, cst.IndentedBlock) else None
        return new.with_changes(
            leading_lines=original_node.leading_lines, trailing_whitespace=beside or cst.TrailingWhitespace()
        )
