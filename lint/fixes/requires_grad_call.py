"""`t.requires_grad = True` → `t.requires_grad_()`, where `t` is made here and only detached values leave."""

from __future__ import annotations

import libcst as cst
import libcst.matchers as m

from ..findings import Fix
from ..search import findall
from ..slice import Slice

DETACHED = m.Call(func=m.Attribute(attr=m.Name("detach")), args=[])


def fix(found: Slice, path: str) -> Fix | None:
    function = found.function
    match found.statement:
        case cst.Assign(
            targets=[cst.AssignTarget(target=cst.Attribute(value=cst.Name(value=name) as tensor))],
            value=cst.Name("True"),
        ) if function and _made_here(function, name) and _detaches(function):
            called = cst.Expr(cst.Call(cst.Attribute(tensor, cst.Name("requires_grad_"))))
            return Fix("call `requires_grad_()`", "unsafe", (found.replace(path, found.statement, called),))
    return None


def _made_here(function: cst.FunctionDef, name: str) -> bool:
    """Assigned once, from `.detach()`: a new leaf."""
    made = findall(function, m.AssignTarget(target=m.Name(name)))
    detached = findall(function, m.Assign(targets=[m.AssignTarget(target=m.Name(name))], value=DETACHED))
    return len(made) == len(detached) == 1


def _detaches(function: cst.FunctionDef) -> bool:
    returns = findall(function, m.Return())
    return bool(returns) and all(m.matches(node, m.Return(value=DETACHED)) for node in returns)
