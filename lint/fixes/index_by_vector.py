"""`x[i]` by a computed index of no dimension → `x[i[None]][0]`, and `x[i] = v` → `x[i[None]] = v`, which stay captured.

What is read is a copy in place of a view. So legal only for a named tensor that the function does not change in place
if it is read, and not where the result is changed, at once or by the name that it is given.
"""

from __future__ import annotations

import libcst as cst
import libcst.matchers as m

from ..arithmetic import Scope
from ..blocks import around
from ..findings import Fix
from ..slice import Slice

PLAIN = m.Name() | m.Attribute() | m.Call() | m.Subscript()
TITLE = "index by a vector of one element"


def fix(found: Slice, path: str) -> Fix | None:
    function, read = found.function, found.underlined
    match read:
        case cst.Subscript(
            value=cst.Name(value=tensor), slice=[cst.SubscriptElement(slice=cst.Index(value=index, star=None))]
        ) if function is not None and m.matches(index, PLAIN):
            pass
        case _:
            return None
    vector = read.with_deep_changes(read.slice[0], slice=cst.Index(cst.parse_expression(f"{found.code(index)}[None]")))
    if isinstance(around(function, read)[-1], cst.AssignTarget):
        new: cst.BaseExpression = vector
    elif _may_be_copied(Scope(found, function), found.statement, tensor):
        new = cst.Subscript(vector, [cst.SubscriptElement(cst.Index(cst.Integer("0")))])
    else:
        return None
    return Fix(TITLE, "unsafe", (found.replace(path, read, new),))


def _may_be_copied(scope: Scope, statement: cst.CSTNode, tensor: str) -> bool:
    """Whether nothing in the function shows that the element is no view any more."""
    match statement:
        case cst.Assign(targets=[cst.AssignTarget(target=cst.Name(value=name))]):
            return not scope.is_mutated(name) and not scope.is_mutated(tensor)
        case cst.Return():
            return not scope.is_mutated(tensor)
    return False
