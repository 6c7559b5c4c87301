"""`if t: … else: …` → `torch.cond`, with a function for each way and the tensors it works on as operands.

Legal only for ways that are plain assignments of pure expressions (and a `return` at the end of both): nothing is
changed in place, no exception, no draw. What a way returns gets memory of its own, since `cond` may not return its
operands or views of them; so nothing may be done later that shows whether it was shared. Whether both ways give one
shape, dtype and layout is known only when compiling, which fails where they do not.
"""

from __future__ import annotations

from collections.abc import Sequence

import libcst as cst
import libcst.matchers as m

from ..arithmetic import TRUTHS, Scope, has_comments, torch_name
from ..blocks import around, block_of, lines_of, single
from ..findings import Fix
from ..search import findall, names_in
from ..slice import Slice
from ..truth import Truth
from ..ways import Way, fresh_name, is_fresh, is_tensor, names_of, owned, tuple_of, way_of

BARRED = m.Yield() | m.Await() | m.Global() | m.Nonlocal()
HANDLED = (cst.Try, cst.TryStar)
"""What may read names that a way binds, after it."""
TITLE = "branch in the graph with `torch.cond`"


def fix(found: Slice, path: str) -> Fix | None:
    torch, function, branch = torch_name(found.module, found.function), found.function, found.statement
    if torch is None or function is None or not isinstance(branch, cst.If) or isinstance(branch.orelse, cst.If):
        return None
    block = block_of(found.tree, branch)
    if block is None or findall(function, BARRED) or any(isinstance(part, HANDLED) for part in around(function, block)):
        return None
    at = next(index for index, line in enumerate(block.body) if line is branch)
    new = _Branch(found, function, torch, branch).replaced(block.body[at + 1 :])
    if new is None:
        return None
    lines, used = new
    changed = block.with_changes(body=[*block.body[:at], *lines, *block.body[at + 1 + used :]])
    return Fix(TITLE, "unsafe", (found.replace(path, block, changed),))


class _Branch:
    """One `if` that is to become a call."""

    def __init__(self, found: Slice, function: cst.FunctionDef, torch: str, branch: cst.If) -> None:
        self._found = found
        self._function = function
        self._torch = torch
        self._branch = branch
        self._scope = Scope(found, function)

    def replaced(self, after: Sequence[cst.BaseStatement]) -> tuple[list[cst.BaseStatement], int] | None:
        """The lines in its place, and how many of those after it they stand for."""
        branch = self._branch
        orelse = [] if branch.orelse is None else lines_of(branch.orelse.body)
        body = lines_of(branch.body)
        returns = isinstance(single(body[-1]), cst.Return)
        used = len(after) if returns and not orelse else 0
        first, second = way_of(self._found, body), way_of(self._found, orelse or after[:used])
        condition = Truth(self._found, self._scope).of(branch.test)
        if first is None or second is None or condition is None or (first.result is None) != (second.result is None):
            return None
        results = self._results(first, second)
        operands = self._operands(first, second, results or ())
        if results == () or operands is None or not self._fit(first, second, results):
            return None
        call = self._call(condition, (first, second), results, operands)
        return None if call is None else (call, used)

    def _results(self, first: Way, second: Way) -> tuple[str, ...] | None:
        """Names bound in the ways and read elsewhere; None where the ways return."""
        if first.result is not None:
            return None
        own = set(names_in(self._branch))
        outside = {node.value for node in names_in(self._function) if node not in own}
        return tuple(sorted((set(first.writes) | set(second.writes)) & outside))

    def _operands(self, first: Way, second: Way, results: Sequence[str]) -> list[str] | None:
        kept = {name for name in results for way in (first, second) if name not in way.writes}
        read = first.reads | second.reads | kept
        operands = sorted(name for name in read if name != "self" and self._scope.is_tensor(cst.Name(name)))
        known = all(self._scope.is_bound(cst.Name(name)) for name in read)
        return operands if known and first.held | second.held | kept <= set(operands) else None

    def _fit(self, first: Way, second: Way, results: Sequence[str] | None) -> bool:
        """Whether all results are tensors that nobody changes in place, and nothing shows that they differ in shape."""
        for name in results if results is not None else (None,):
            a, b = (way.result if name is None else way.writes.get(name, cst.Name(name)) for way in (first, second))
            if a is None or b is None or any(isinstance(part, cst.Tuple) for part in (a, b)):
                return False
            if not is_tensor(self._scope, a, first.writes) or not is_tensor(self._scope, b, second.writes):
                return False
            if m.matches(a, TRUTHS) != m.matches(b, TRUTHS):
                return False
            if self._scope.is_reduction(a) != self._scope.is_reduction(b):
                return False
            if self._differ(self._leaves(a, first), self._leaves(b, second)):
                return False
        returned = [way.result for way in (first, second) if way.result is not None]
        shared = {*(name for value in returned for name in names_of(value)), *(results or ())}
        return not any(self._scope.is_mutated(name) for name in shared)

    def _leaves(self, value: cst.BaseExpression, way: Way) -> frozenset[str] | None:
        """What it is elementwise arithmetic on; None where that is not known, as of what the way itself makes."""
        leaves = self._scope.leaves(value)
        return None if leaves is None or leaves & set(way.writes) else leaves

    @staticmethod
    def _differ(first: frozenset[str] | None, second: frozenset[str] | None) -> bool:
        """Whether they are arithmetic on other tensors, so that nothing speaks for one shape."""
        return first is not None and second is not None and not (first <= second or second <= first)

    def _call(
        self, condition: str, ways: tuple[Way, Way], results: Sequence[str] | None, operands: list[str]
    ) -> list[cst.BaseStatement]:
        target = "return " if results is None else f"{', '.join(results)} = "
        given = ", ".join(operands)
        lines: list[cst.BaseStatement] = []
        if self._is_short(ways, results):
            values = [way.result or way.writes.get(name, cst.Name(name)) for way in ways for name in results or ("",)]
            texts = [f"lambda{' ' * bool(given)}{given}: {self._found.code(owned(value))}" for value in values]
        else:
            texts = [fresh_name(self._found, wish) for wish in ("when_true", "when_false")]
            orelse = self._branch.orelse
            suites = (self._branch.body, None if orelse is None else orelse.body)
            for name, way, suite in zip(texts, ways, suites, strict=True):
                lines.append(_function_of(name, way, _returned(way, results), suite, given))
        call = f"{target}{self._torch}.cond({condition}, {texts[0]}, {texts[1]}, {tuple_of(operands)})"
        lines.append(cst.parse_statement(call))
        lines[0] = lines[0].with_changes(leading_lines=self._branch.leading_lines)
        if self._branch.orelse is not None and len(lines) > 1:
            lines[1] = lines[1].with_changes(leading_lines=self._branch.orelse.leading_lines)
        return lines

    def _is_short(self, ways: tuple[Way, Way], results: Sequence[str] | None) -> bool:
        """Whether each way is one expression, and there are no comments that functions would keep."""
        if results is not None and len(results) != 1:
            return False
        parts = [self._branch, *(way.end for way in ways if way.end is not None)]
        return all(len(way.lines) <= (results is not None) for way in ways) and not any(map(has_comments, parts))


def _returned(way: Way, results: Sequence[str] | None) -> cst.BaseExpression:
    if results is None:
        assert way.result is not None
        return owned(way.result)
    values = [cst.Name(name) if is_fresh(way.writes.get(name)) else owned(cst.Name(name)) for name in results]
    return values[0] if len(values) == 1 else cst.Tuple([cst.Element(value) for value in values], lpar=(), rpar=())


def _function_of(
    name: str, way: Way, value: cst.BaseExpression, suite: cst.BaseSuite | None, given: str
) -> cst.FunctionDef:
    defined = cst.parse_statement(f"def {name}({given}):\n    pass\n")
    assert isinstance(defined, cst.FunctionDef)
    last = (way.end or cst.SimpleStatementLine([])).with_changes(body=[cst.Return(value)])
    body = cst.IndentedBlock([*way.lines, last])
    if isinstance(suite, cst.IndentedBlock):
        body = body.with_changes(header=suite.header, footer=suite.footer)
    return defined.with_changes(body=body)
