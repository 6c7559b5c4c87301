"""Where a value that was a number may be a tensor of no dimension: in arithmetic that a tensor takes part in as well.

Importing this module imports libcst.
"""

from __future__ import annotations

from collections.abc import Sequence

import libcst as cst

from .arithmetic import Scope
from .blocks import around
from .search import names_in
from .slice import Slice

EXACT = (cst.Add, cst.Subtract, cst.Multiply, cst.Divide)


def reads_of(function: cst.FunctionDef, name: str) -> list[cst.Name]:
    """Every occurrence of the name as a value in the function."""
    found = [node for node in names_in(function.body) if node.value == name]
    return [node for node in found if not _is_written(around(function.body, node), node)]


def _is_written(parents: list[cst.CSTNode], node: cst.CSTNode) -> bool:
    match parents[-1]:
        case cst.AssignTarget():
            return True
        case cst.AnnAssign(target=target) if target is node:
            return True
        case cst.Element() if any(isinstance(parent, cst.AssignTarget) for parent in parents):
            return True
        case cst.Arg(keyword=keyword) if keyword is node:
            return True
        case cst.Attribute(attr=attr) if attr is node:
            return True
    return False


def joins(scope: Scope, function: cst.FunctionDef, uses: Sequence[cst.BaseExpression | None]) -> bool:
    """Whether each use ends in arithmetic with a tensor, which would fail were something else made of it before."""
    return bool(uses) and all(use is not None and _ends_in_tensor(scope, function, use) for use in uses)


def widened(
    scope: Scope, function: cst.FunctionDef, uses: Sequence[cst.BaseExpression | None], tensor: cst.Call
) -> cst.Call:
    """The tensor, as a double if any use is reckoned with before it meets another tensor: so Python would do."""
    reckons = any(use is not None and not _meets_tensor(scope, function, use) for use in uses)
    return cst.Call(cst.Attribute(tensor, cst.Name("double"))) if reckons else tensor


def _meets_tensor(scope: Scope, function: cst.FunctionDef, use: cst.BaseExpression) -> bool:
    match around(function.body, use)[-1]:
        case cst.BinaryOperation(left=left, right=right):
            return scope.is_tensor(right if left is use else left)
    return False


def _ends_in_tensor(scope: Scope, function: cst.FunctionDef, use: cst.BaseExpression) -> bool:
    part: cst.CSTNode = use
    for node in reversed(around(function.body, use)):
        match node:
            case cst.BinaryOperation(left=left, operator=operator, right=right) if isinstance(operator, EXACT):
                other = right if left is part else left
                if scope.is_tensor(other):
                    return True
                if isinstance(operator, cst.Divide) and other is left:
                    return False  # of numbers, Python refuses to divide by zero
            case cst.UnaryOperation(operator=cst.Minus()):
                pass
            case _:
                return False
        part = node
    return False


def value_joins(found: Slice, call: cst.Call) -> bool:
    """Whether the call's value, at once or by the one name that it is given, only joins arithmetic with tensors."""
    function = found.function
    if function is None:
        return False
    scope = Scope(found, function)
    match found.statement:
        case cst.Assign(targets=[cst.AssignTarget(target=cst.Name(value=name))], value=value) if value is call:
            return scope.assigned_once(name) and joins(scope, function, reads_of(function, name))
    return joins(scope, function, [call])
