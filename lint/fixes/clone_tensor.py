"""`copy.deepcopy(t)` of a tensor → `t.clone()`."""

from __future__ import annotations

import libcst as cst

from ..findings import Fix
from ..slice import Slice

SIMPLE = (cst.Name, cst.Attribute, cst.Call, cst.Subscript)
"""Expressions to which `.clone()` can be added as it is."""


def fix(found: Slice, path: str) -> Fix | None:
    match found.underlined:
        case cst.Call(args=[cst.Arg(value=tensor, star="", keyword=None)]) as copy:
            code = found.code(tensor)
            cloned = cst.parse_expression(f"{code}.clone()" if isinstance(tensor, SIMPLE) else f"({code}).clone()")
            return Fix("use `clone()`", "unsafe", (found.replace(path, copy, cloned),))
    return None
