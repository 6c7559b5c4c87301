"""A number read from a tensor that may stay one: in arithmetic with tensors, in a sum that is returned, in an assert.

`.item()` of a reduction → `.detach()`, so that gradients stop there as before; in a test it is only left out.
"""

from __future__ import annotations

from collections.abc import Sequence

import libcst as cst
import libcst.matchers as m

from ..arithmetic import REDUCTIONS, Scope
from ..blocks import around
from ..findings import Fix
from ..joining import joins, reads_of, widened
from ..slice import Slice
from ..truth import Truth

DETACH = cst.Name("detach")
WHOLE = m.Call(func=m.Attribute(attr=m.Name(m.MatchIfTrue(REDUCTIONS.__contains__))), args=[])


def fix(found: Slice, path: str) -> Fix | None:
    call, function = found.underlined, found.function
    if call is None or function is None:
        return None
    scope = Scope(found, function)
    if isinstance(found.statement, cst.Assert):
        return _asserted(found, scope, path, found.statement)
    match call:
        case (
            cst.Call(func=cst.Attribute(value=tensor, attr=cst.Name("item")), args=[])
            | cst.Call(func=cst.Name("float"), args=[cst.Arg(value=tensor)])
        ) if _is_single(scope, tensor) and _stays(found, scope, function, call):
            kept = widened(scope, function, _uses(found, function, call), cst.Call(cst.Attribute(tensor, DETACH)))
            kept = kept.with_changes(lpar=call.lpar, rpar=call.rpar)
            return Fix("keep the value as a tensor", "unsafe", (found.replace(path, call, kept),))
    return None


def _asserted(found: Slice, scope: Scope, path: str, statement: cst.Assert) -> Fix | None:
    """`assert t.item() < n` → `assert t < n`, which Dynamo captures with a constant message or none."""
    test = None if isinstance(statement.test, cst.UnaryOperation) else Truth(found, scope).of(statement.test)
    if test is None or test == found.code(statement.test) or not isinstance(statement.msg, cst.SimpleString | None):
        return None
    return Fix("assert on the tensor", "unsafe", (found.replace(path, statement.test, cst.parse_expression(test)),))


def _is_single(scope: Scope, tensor: cst.BaseExpression) -> bool:
    """Whether the tensor, which the finding says it is, has no dimension."""
    return scope.is_reduction(tensor) or m.matches(tensor, WHOLE)


def _stays(found: Slice, scope: Scope, function: cst.FunctionDef, call: cst.Call) -> bool:
    """Whether nothing but arithmetic with tensors sees the value."""
    match found.statement:
        case cst.Assign(targets=[cst.AssignTarget(target=cst.Name(value=name))], value=value) if value is call:
            return scope.assigned_once(name) and joins(scope, function, reads_of(function, name))
        case cst.Assign(
            targets=[cst.AssignTarget(target=cst.Name(value=name))],
            value=cst.BinaryOperation(left=cst.Name(value=total), operator=cst.Add(), right=right),
        ) if right is call and name == total:
            return _is_sum(scope, function, name)
        case cst.AugAssign(target=cst.Name(value=name), operator=cst.AddAssign(), value=value) if value is call:
            return _is_sum(scope, function, name)
    return joins(scope, function, [call])


def _uses(found: Slice, function: cst.FunctionDef, call: cst.Call) -> Sequence[cst.BaseExpression]:
    """Where the value is used; none is known of a sum, which stays what it is."""
    match found.statement:
        case cst.Assign(targets=[cst.AssignTarget(target=cst.Name(value=name))], value=value) if value is call:
            return reads_of(function, name)
        case cst.Assign(value=cst.BinaryOperation(right=right)) | cst.AugAssign(value=right) if right is call:
            return []
    return [call]


def _is_sum(scope: Scope, function: cst.FunctionDef, name: str) -> bool:
    """A local that starts as a number, is bound once more, in the sum at hand, and is else only returned as it is."""
    starts = [value for value in scope.values_of(name) if value is not None and scope.is_number(value)]
    uses = [around(function.body, use)[-1] for use in reads_of(function, name)]
    sums = [use for use in uses if isinstance(use, cst.BinaryOperation | cst.AugAssign)]
    returned = [use for use in uses if isinstance(use, cst.Return)]
    return (
        len(starts) == 1
        and len(scope.values_of(name)) == 2
        and len(sums) == 1
        and len(sums) + len(returned) == len(uses)
    )
