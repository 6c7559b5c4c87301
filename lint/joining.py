"""Where a value that was a number may be a tensor of no dimension: in arithmetic that a tensor takes part in as well.

Importing this module imports libcst.
"""

from __future__ import annotations

from collections.abc import Sequence

import libcst as cst
import libcst.matchers as m

from .arithmetic import Scope
from .blocks import around

EXACT = (cst.Add, cst.Subtract, cst.Multiply, cst.Divide)


def reads_of(function: cst.FunctionDef, name: str) -> list[cst.Name]:
    """Every occurrence of the name as a value in the function."""
    found = [node for node in m.findall(function.body, m.Name(name)) if isinstance(node, cst.Name)]
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
    """Whether each use ends in arithmetic with a tensor, combined before with nothing but numbers and one another."""
    return bool(uses) and all(use is not None and _ends_in_tensor(scope, function, use, uses) for use in uses)


def _ends_in_tensor(
    scope: Scope, function: cst.FunctionDef, use: cst.BaseExpression, others: Sequence[cst.BaseExpression | None]
) -> bool:
    part: cst.CSTNode = use
    for node in reversed(around(function.body, use)):
        match node:
            case cst.BinaryOperation(left=left, operator=operator, right=right) if isinstance(operator, EXACT):
                other = right if left is part else left
                if scope.is_tensor(other):
                    return True
                if not scope.is_number(other) and not any(other is use for use in others):
                    return False
            case cst.UnaryOperation(operator=cst.Minus()):
                pass
            case _:
                return False
        part = node
    return False
