"""Run a logging statement only when nothing is being compiled."""

from __future__ import annotations

import libcst as cst

from ..findings import Edit, Fix
from ..slice import Slice

GUARD = "torch.compiler.is_compiling()"


def fix(found: Slice, path: str) -> Fix | None:
    if not found.alone or not isinstance(found.statement, cst.Expr) or "torch" not in found.module.bindings:
        return None
    step = found.tree.default_indent
    body = found.code(found.statement).replace("\n", f"\n{step}")
    text = f"if not {GUARD}:\n{found.indent}{step}{body}"
    return Fix(f"guard with `not {GUARD}`", "unsafe", (Edit(path, found.start, found.end, text),))
