"""`t.tolist()` whose elements only take part in arithmetic with tensors → `t.detach().unbind()`: they stay tensors.

The list is unpacked to names or read at constant places; one that is iterated, measured, stored or passed on stays.
"""

from __future__ import annotations

import libcst as cst

from ..arithmetic import Scope
from ..blocks import around
from ..findings import Fix
from ..joining import joins, reads_of
from ..slice import Slice


def fix(found: Slice, path: str) -> Fix | None:
    call, function = found.underlined, found.function
    match call:
        case cst.Call(func=cst.Attribute(attr=cst.Name("tolist")) as method, args=[]) if function:
            if _elements_join(found, function, call):
                detached = cst.Call(method.with_changes(attr=cst.Name("detach")))
                kept = cst.Call(cst.Attribute(detached, cst.Name("unbind")))
                return Fix("keep the values as tensors", "unsafe", (found.replace(path, call, kept),))
    return None


def _elements_join(found: Slice, function: cst.FunctionDef, call: cst.Call) -> bool:
    scope = Scope(found, function)
    match found.statement:
        case cst.Assign(targets=[cst.AssignTarget(target=cst.Tuple(elements=elements))], value=value) if value is call:
            names = [part.value.value for part in elements if isinstance(part.value, cst.Name)]
            once = all(scope.times_bound(name) == 1 for name in names) and len(names) == len(elements)
            return (
                once and bool(names) and joins(scope, function, [use for n in names for use in reads_of(function, n)])
            )
        case cst.Assign(targets=[cst.AssignTarget(target=cst.Name(value=name))], value=value) if value is call:
            places = [_element(function, use) for use in reads_of(function, name)]
            return scope.times_bound(name) == 1 and joins(scope, function, places)
    return False


def _element(function: cst.FunctionDef, use: cst.Name) -> cst.BaseExpression | None:
    """`values[0]` around a use of `values`."""
    match around(function.body, use)[-1]:
        case cst.Subscript(slice=[cst.SubscriptElement(slice=cst.Index(value=cst.Integer()))]) as element:
            return element
    return None
