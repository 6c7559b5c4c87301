"""`setting = True` → `setting = False`."""

from __future__ import annotations

import libcst as cst

from ..findings import Fix
from ..slice import Slice


def fix(found: Slice, path: str) -> Fix | None:
    match found.statement:
        case cst.Assign(value=cst.Name("True") as value):
            return Fix("switch it off", "unsafe", (found.replace(path, value, cst.Name("False")),))
    return None
