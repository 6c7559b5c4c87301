"""Run a logging statement only when nothing is being compiled."""

from __future__ import annotations

import libcst as cst

from ..arithmetic import torch_name
from ..findings import Fix
from ..slice import Slice


def fix(found: Slice, path: str) -> Fix | None:
    if not isinstance(found.statement, cst.Expr) or not isinstance(found.statement.value, cst.Call):
        return None
    return guarded(found, path)


def guarded(found: Slice, path: str) -> Fix | None:
    """The whole line for eager code only; None where other statements share it, or the file has no name for torch."""
    line, torch = found.line, torch_name(found.module, found.function)
    if not isinstance(line, cst.SimpleStatementLine) or len(line.body) != 1 or torch is None:
        return None
    guard = f"not {torch}.compiler.is_compiling()"
    guarded = cst.If(
        test=cst.parse_expression(guard),
        body=cst.IndentedBlock([line.with_changes(leading_lines=())]),
        leading_lines=line.leading_lines,
    )
    return Fix(f"guard with `if {guard}`", "unsafe", (found.replace(path, line, guarded),))
