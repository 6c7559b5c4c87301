"""`t.requires_grad = True` → the same in eager code only, where `t` is made on the way and made into something else.

Compiled code gives `t` itself no gradient then. Legal only where the function asks for none and hands `t` to nobody who
could: no line of it names a gradient, and `t` is bound anew further on.
"""

from __future__ import annotations

import libcst as cst
import libcst.matchers as m

from ..findings import Fix
from ..search import descendants, names_in
from ..slice import Slice
from ..vocabulary import words
from .guard_is_compiling import guarded

GRADIENTS = words("autograd backward grad grad_fn is_leaf register_hook retain_grad")


def fix(found: Slice, path: str) -> Fix | None:
    function = found.function
    match found.statement:
        case cst.Assign(
            targets=[cst.AssignTarget(target=cst.Attribute(value=cst.Name(value=name)))], value=cst.Name("True")
        ) if function and _is_on_the_way(found, function, name) and not _asks_for_gradients(function):
            return guarded(found, path)
    return None


def _is_on_the_way(found: Slice, function: cst.FunctionDef, name: str) -> bool:
    """Bound before the statement, so that it is not the caller's, and after it."""
    bound = m.AssignTarget(target=m.Name(name))
    order = [node for node in descendants(function) if node is found.statement or m.matches(node, bound)]
    return 0 < order.index(found.statement) < len(order) - 1


def _asks_for_gradients(function: cst.FunctionDef) -> bool:
    return any(name.value in GRADIENTS for name in names_in(function))
