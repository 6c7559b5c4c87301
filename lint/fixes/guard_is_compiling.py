"""Run a logging statement only when nothing is being compiled."""

from __future__ import annotations

import libcst as cst

from ..findings import Fix
from ..slice import Slice

GUARD = "not torch.compiler.is_compiling()"


def fix(found: Slice, path: str) -> Fix | None:
    line = found.line
    if not isinstance(line, cst.SimpleStatementLine) or len(line.body) != 1 or "torch" not in found.module.bindings:
        return None
    if not isinstance(found.statement, cst.Expr) or not isinstance(found.statement.value, cst.Call):
        return None
    guarded = cst.If(
        test=cst.parse_expression(GUARD),
        body=cst.IndentedBlock([line.with_changes(leading_lines=())]),
        leading_lines=line.leading_lines,
    )
    return Fix(f"guard with `if {GUARD}`", "unsafe", (found.replace(path, line, guarded),))
