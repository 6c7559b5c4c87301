"""`setting = True` → `setting = False`."""

from __future__ import annotations

import libcst as cst

from ..findings import Edit, Fix
from ..slice import Slice


def fix(found: Slice, path: str) -> Fix | None:
    match found.statement:
        case cst.Assign(value=cst.Name("True")) as assignment:
            changed = assignment.with_changes(value=cst.Name("False"))
            edit = Edit(path, found.start, found.end, found.code(changed))
            return Fix("switch it off", "unsafe", (edit,))
    return None
