"""A branch on a tensor whose ways are arithmetic on the same tensors → `torch.where`, which computes both."""

from __future__ import annotations

from collections.abc import Sequence

import libcst as cst
import libcst.matchers as m

from ..arithmetic import TRUTHS, Scope, has_comments, torch_name
from ..blocks import block_of, lines_of, only, single
from ..findings import Fix
from ..search import comments_in, findall
from ..slice import Slice

ONE = m.Tuple(elements=[]) | m.List(elements=[]) | m.Integer("1")
DRAW = m.Call(func=m.Attribute(value=m.Name("torch"), attr=m.Name("rand")), args=[m.Arg(ONE), m.ZeroOrMore()])
BOUND = m.Float() | m.Name() | m.Attribute(value=m.Name("self"))
TITLE = "select with `torch.where`, which computes both sides"


def fix(found: Slice, path: str) -> Fix | None:
    torch, function = torch_name(found.module, found.function), found.function
    if torch is None or function is None:
        return None
    change = _change(found, Scope(found, function), torch)
    return None if change is None else Fix(TITLE, "unsafe", (found.replace(path, *change),))


Change = tuple[cst.CSTNode, cst.CSTNode]
"""A node, and what takes its place."""


def _change(found: Slice, scope: Scope, torch: str) -> Change | None:
    match found.statement:
        case cst.If() as branch:
            return _of_statement(found, scope, torch, branch)
        case cst.BaseSmallStatement() as statement:
            return _of_expression(found, scope, torch, statement)
    return None


def _of_expression(found: Slice, scope: Scope, torch: str, statement: cst.BaseSmallStatement) -> Change | None:
    """`a if t else b`, all that is assigned or returned."""
    match statement:
        case cst.Assign(value=cst.IfExp() as choice) | cst.Return(value=cst.IfExp() as choice):
            selected = _selected(found, scope, torch, choice.test, choice.body, choice.orelse)
            aliases = _aliases(scope, statement, (choice.body, choice.orelse))
            return None if selected is None or aliases else (choice, selected)
    return None


def _of_statement(found: Slice, scope: Scope, torch: str, branch: cst.If) -> Change | None:
    """`if t: return a`, or `if t: y = a`, with an `else` or what comes without one."""
    block = block_of(found.tree, branch)
    if block is None:
        return None  # an `elif`
    at = next(index for index, line in enumerate(block.body) if line is branch)
    if branch.orelse is None and (mended := _mended(found, scope, torch, branch)) is not None:
        return block, block.with_changes(body=[*block.body[:at], *mended, *block.body[at + 1 :]])
    if has_comments(branch):
        return None
    first, second, end = only(branch.body), _otherwise(branch, block.body[at + 1 :]), at + 1
    match first, second:
        case cst.Return(value=cst.BaseExpression() as a), cst.Return(value=cst.BaseExpression() as b):
            end += branch.orelse is None
            if end - at > 1 and comments_in(block.body[at + 1]):
                return None
        case cst.Assign(targets=[target], value=a), cst.Assign(targets=[other], value=b) if isinstance(
            target.target, cst.Name
        ) and target.deep_equals(other):
            pass
        case _:
            return None
    selected = _selected(found, scope, torch, branch.test, a, b)
    if selected is None:
        return None
    if _aliases(scope, first, (a, b)):
        return None
    line = cst.SimpleStatementLine([first.with_changes(value=selected)], leading_lines=branch.leading_lines)
    return block, block.with_changes(body=[*block.body[:at], line, *block.body[end:]])


def _mended(found: Slice, scope: Scope, torch: str, branch: cst.If) -> list[cst.BaseStatement] | None:
    """`if t: y = a` → `y = where(t, a, y)`; an `if p and t` keeps the `if p`, numbers made on the way stay."""
    body = lines_of(branch.body)
    numbers = {name for line in body[:-1] if (name := _number(scope, line)) is not None}
    last = single(body[-1])
    match last:
        case cst.Assign(targets=[cst.AssignTarget(target=cst.Name() as kept)], value=value) if len(numbers) == len(
            body
        ) - 1 and not _aliases(scope, last, (value, kept)):
            pass
        case _:
            return None
    first, test = None, branch.test
    if isinstance(test, cst.BooleanOperation) and isinstance(test.operator, cst.And):
        first, test = test.left, test.right
    selected = _selected(found, scope, torch, test, value, kept, frozenset(numbers))
    if selected is None:
        return None
    lines = [*body[:-1], body[-1].with_changes(body=[last.with_changes(value=selected)])]
    if first is not None:
        return [branch.with_changes(test=first, body=cst.IndentedBlock(lines))]
    above = [*branch.leading_lines, *getattr(lines[0], "leading_lines", ())]
    return [lines[0].with_changes(leading_lines=above), *lines[1:]]


def _number(scope: Scope, line: cst.BaseStatement) -> str | None:
    """The name that a line gives to a number, nowhere else bound."""
    match single(line):
        case cst.Assign(targets=[cst.AssignTarget(target=cst.Name(value=name))], value=value) if scope.assigned_once(
            name
        ) and scope.is_number(value):
            return name
    return None


def _condition(found: Slice, scope: Scope, test: cst.BaseExpression) -> str | None:
    """The test as one bool tensor of no dimension."""
    match test:
        case cst.BooleanOperation(left=left, operator=cst.Or(), right=right):
            sides = (_condition(found, scope, left), _condition(found, scope, right))
            return None if None in sides else " | ".join(f"({side})" for side in sides)
    return found.code(test) if scope.is_scalar_test(test) or _is_draw(scope, test) else None


def _without_reads(scope: Scope, way: cst.BaseExpression) -> cst.BaseExpression:
    """A way whose `.item()` of reductions have become `.detach()`: numbers that need not be read."""
    reads = m.Call(func=m.Attribute(value=m.MatchIfTrue(scope.is_reduction), attr=m.Name("item")), args=[])
    kept = m.replace(way, m.SaveMatchedNode(reads, "read"), lambda _, found: _detached(found["read"]))
    assert isinstance(kept, cst.BaseExpression)
    return kept


def _detached(read: cst.CSTNode | Sequence[cst.CSTNode]) -> cst.Call:
    assert isinstance(read, cst.Call)
    method = cst.ensure_type(read.func, cst.Attribute)
    return read.with_changes(func=method.with_changes(attr=cst.Name("detach")))


def _is_draw(scope: Scope, test: cst.BaseExpression) -> bool:
    """`torch.rand(()) < p`, the draw perhaps in a name."""
    match test:
        case cst.Comparison(left=left, comparisons=[cst.ComparisonTarget(comparator=bound)]):
            draw = scope.value_of(left.value) if isinstance(left, cst.Name) else left
            return draw is not None and m.matches(draw, DRAW) and m.matches(bound, BOUND)
    return False


def _selected(
    found: Slice,
    scope: Scope,
    torch: str,
    test: cst.BaseExpression,
    a: cst.BaseExpression,
    b: cst.BaseExpression,
    also: frozenset[str] = frozenset(),
) -> cst.BaseExpression | None:
    """The call that selects, where that is legal: a test of one element, and ways of one and the same shape.

    `also` are names bound by the time it runs.
    """
    if isinstance(test, cst.UnaryOperation) and isinstance(test.operator, cst.Not):
        test, a, b = test.expression, b, a
    a, b = (_without_reads(scope, way) for way in (a, b))
    first, second = scope.leaves(a), scope.leaves(b)
    if any(findall(part, TRUTHS) for part in (a, b)):
        return None  # bools, which the other way may not be
    if first is None or second is None or not (first <= second or second <= first):
        return None
    condition = _condition(found, scope, test)
    if condition is None or not all(scope.is_bound(part, also) and scope.is_tensor(part) for part in (a, b)):
        return None
    return cst.parse_expression(f"{torch}.where({condition}, {found.code(a)}, {found.code(b)})")


def _aliases(scope: Scope, statement: cst.Assign | cst.Return, ways: tuple[cst.BaseExpression, ...]) -> bool:
    """Whether one of the ways is a tensor itself, and the function changes that or the new one in place."""
    targets = [target.target for target in statement.targets] if isinstance(statement, cst.Assign) else []
    return any(isinstance(node, cst.Name) and scope.is_mutated(node.value) for node in (*ways, *targets))


def _otherwise(branch: cst.If, after: Sequence[cst.BaseStatement]) -> cst.BaseSmallStatement | None:
    """What runs in place of the body: the `else`, or the statement after the branch."""
    match branch.orelse:
        case cst.Else(body=body):
            return only(body)
        case None if after:
            return single(after[0])
    return None
