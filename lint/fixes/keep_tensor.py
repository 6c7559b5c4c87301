"""`.item()` of a tensor that only takes part in arithmetic with tensors → `.detach()`: the value stays in the graph."""

from __future__ import annotations

import libcst as cst

from ..arithmetic import Scope
from ..findings import Fix
from ..slice import Slice


def fix(found: Slice, path: str) -> Fix | None:
    call, function = found.underlined, found.function
    match call:
        case cst.Call(func=cst.Attribute(value=tensor, attr=cst.Name("item")) as method, args=[]) if function:
            scope = Scope(found, function)
            if scope.is_reduction(tensor) and _stays(found, scope, call):
                kept = call.with_changes(func=method.with_changes(attr=cst.Name("detach")))
                return Fix("keep the value as a tensor", "unsafe", (found.replace(path, call, kept),))
    return None


def _stays(found: Slice, scope: Scope, call: cst.Call) -> bool:
    """Whether nothing but arithmetic with tensors sees the value."""
    match found.statement:
        case cst.Assign(targets=[cst.AssignTarget(target=cst.Name(value=name))], value=value) if value is call:
            uses = scope.uses(name)
            return scope.assigned_once(name) and bool(uses) and all(scope.joins_tensor(*use) for use in uses)
    return any(scope.joins_tensor(around, call) for around in _around(found.statement, call))


def _around(statement: cst.CSTNode, part: cst.CSTNode) -> list[cst.CSTNode]:
    """The node that `part` is a child of."""
    stack, found = [statement], []
    while stack:
        node = stack.pop()
        if any(child is part for child in node.children):
            found.append(node)
        stack.extend(node.children)
    return found
