"""`t.tolist()` whose elements only take part in arithmetic with tensors → `t.detach().unbind()`: they stay tensors.

The list is unpacked to names or read at constant places; one that is iterated, measured, stored or passed on stays.
"""

from __future__ import annotations

from collections.abc import Sequence

import libcst as cst

from ..arithmetic import Scope
from ..blocks import around
from ..findings import Fix
from ..joining import joins, reads_of, widened
from ..slice import Slice


def fix(found: Slice, path: str) -> Fix | None:
    call, function = found.underlined, found.function
    match call:
        case cst.Call(func=cst.Attribute(attr=cst.Name("tolist")) as method, args=[]) if function:
            scope, places = Scope(found, function), _elements(found, function, call)
            if joins(scope, function, places):
                detached = widened(scope, function, places, cst.Call(method.with_changes(attr=cst.Name("detach"))))
                kept = cst.Call(cst.Attribute(detached, cst.Name("unbind")))
                return Fix("keep the values as tensors", "unsafe", (found.replace(path, call, kept),))
    return None


def _elements(found: Slice, function: cst.FunctionDef, call: cst.Call) -> Sequence[cst.BaseExpression | None]:
    """Where elements are used; none where the list is more than that."""
    scope = Scope(found, function)
    match found.statement:
        case cst.Assign(targets=[cst.AssignTarget(target=cst.Tuple(elements=elements))], value=value) if value is call:
            names = [part.value.value for part in elements if isinstance(part.value, cst.Name)]
            once = all(scope.times_bound(name) == 1 for name in names) and len(names) == len(elements)
            return [use for name in names for use in reads_of(function, name)] if once else []
        case cst.Assign(targets=[cst.AssignTarget(target=cst.Name(value=name))], value=value) if value is call:
            places = [_element(function, use) for use in reads_of(function, name)]
            return places if scope.times_bound(name) == 1 else []
    return []


def _element(function: cst.FunctionDef, use: cst.Name) -> cst.BaseExpression | None:
    """`values[0]` around a use of `values`."""
    match around(function.body, use)[-1]:
        case cst.Subscript(slice=[cst.SubscriptElement(slice=cst.Index(value=cst.Integer()))]) as element:
            return element
    return None
