"""`random.random()` in arithmetic with tensors → `random.uniform(0, 1)`: the same draw, and one that is captured.

In a condition it would leave a branch on a draw, which is no better.
"""

from __future__ import annotations

import libcst as cst

from ..findings import Fix
from ..joining import value_joins
from ..slice import Slice


def fix(found: Slice, path: str) -> Fix | None:
    match found.underlined:
        case cst.Call(func=cst.Attribute(value=cst.Name("random"), attr=cst.Name("random")), args=[]) as call:
            if value_joins(found, call):
                drawn = cst.parse_expression("random.uniform(0, 1)")
                return Fix("draw with `random.uniform`", "unsafe", (found.replace(path, call, drawn),))
    return None
