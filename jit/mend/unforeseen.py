"""Fixes for a break that no finding foresaw: those of the rules that name its id, at the line where tracing stopped."""

from __future__ import annotations

import os
from pathlib import Path

from fullgraph import rules
from fullgraph.lint.findings import Fix
from fullgraph.lint.fixes import suggest
from fullgraph.lint.ir import Span
from fullgraph.lint.project import Project
from fullgraph.lint.symbols import Module

from ..events import Break
from .lab import Contents


def fixes_of(broken: Break, file: str, contents: Contents) -> tuple[Fix, ...]:
    """What is proposed for the line of the file, an absolute path, as it stands in `contents` or on disk."""
    named = [rule.fix for rule in rules.load().values() if broken.gb in rule.gb]
    names = dict.fromkeys(name for fixes in named for name in fixes)
    module = _module(file, contents) if names else None
    return () if module is None else suggest(names, module, _span(broken, module), broken.path)


def fix_above(path: str, line: int, contents: Contents) -> Fix | None:
    """What leaves a line of a compiled function, and all below it, to Python."""
    module = _module(os.path.abspath(path), contents)  # noqa: PTH100  (links stay as they are written)
    if module is None or line > len(module.lines):
        return None
    row = module.lines[line - 1]
    start, stop = (len(text.encode()) for text in (row[: len(row) - len(row.lstrip())], row.rstrip()))
    return next(iter(suggest(("compile_above",), module, (line, start, line, stop), path)), None)


def _module(file: str, contents: Contents) -> Module | None:
    try:
        module = Project(Path.cwd(), None, contents=contents).load(file)
    except OSError:
        return None
    return None if module is None or module.cells else module.settled()


def _span(broken: Break, module: Module) -> Span:
    """Of the expression, where Python knows it, else of what the line holds."""
    row = module.lines[broken.line - 1] if broken.line <= len(module.lines) else ""
    column, end = broken.column, broken.end_column
    if column is None or end is None or end <= column:
        column, end = len(row) - len(row.lstrip()), len(row.rstrip())
    start, stop = (len(row[:place].encode()) for place in (column, end))
    return broken.line, start, broken.line, stop
