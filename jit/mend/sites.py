"""The sites of a report at which something is to be mended, each with its fixes, the most local first."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from fullgraph.lint.apply import edited
from fullgraph.lint.findings import Effect, Fix, Severity, Verdict

from ..events import Break
from ..verify import TargetReport
from .lab import Contents
from .unforeseen import fixes_of

PRINTING = frozenset({"print", "logging", "warnings"})
"""Rules whose fixes may keep compiled code from printing."""


@dataclass(frozen=True, slots=True)
class Site:
    """What is to go. `root` is where it really begins."""

    path: str
    line: int
    code: str
    function: str
    effect: Effect
    root: tuple[str, int]
    fixes: tuple[Fix, ...] = ()
    prints: bool = False
    """It is about what the program prints, so that compiled code may leave that out."""


def sites(report: TargetReport, contents: Contents) -> Iterator[Site]:
    """Confirmed findings that count, then breaks that no finding foresaw; `contents` are those that were run."""
    for item in report.judged:
        finding = item.finding
        if item.verdict is Verdict.CONFIRMED and finding.severity is not Severity.NOTE:
            path, _, line = finding.root.rpartition(":")
            root = (path, int(line)) if path and line.isdecimal() else (finding.span.path, finding.span.line)
            yield Site(
                finding.span.path,
                finding.span.line,
                finding.code,
                finding.function,
                finding.effect,
                root,
                _tried(finding.fixes),
                finding.rule in PRINTING,
            )
    for broken in {item.site: item for item in map(_cause, report.unpredicted)}.values():
        path, _, line = broken.root.rpartition(":")
        code = broken.gb or broken.gb_type
        tried = _tried(fixes_of(broken, absolute(broken.path), contents))
        yield Site(broken.path, broken.line, code, broken.function, Effect.GRAPH_BREAK, (path, int(line)), tried)


def _cause(broken: Break) -> Break:
    """The one that a break on its line was raised for: of a branch in a loop, what keeps it from being traced."""
    here = broken.root == f"{broken.path}:{broken.line}"
    return replace(broken, gb=broken.root_gb) if here and broken.root_gb else broken


def _tried(fixes: tuple[Fix, ...]) -> tuple[Fix, ...]:
    return tuple(sorted((fix for fix in fixes if fix.is_applicable and fix.edits), key=_reach))


def _reach(fix: Fix) -> tuple[int, int, int]:
    """How far a fix reaches: files, places, lines."""
    lines = sum(edit.end[0] - edit.start[0] + edit.text.count("\n") for edit in fix.edits)
    return len({edit.path for edit in fix.edits}), len(fix.edits), lines


def applied(fix: Fix, contents: Contents) -> Contents:
    changed = dict(contents)
    for name in {edit.path for edit in fix.edits}:
        path = absolute(name)
        changed[path] = edited(changed[path], [edit for edit in fix.edits if edit.path == name])
    return changed


def absolute(shown: str) -> str:
    return os.path.abspath(shown)  # noqa: PTH100  (links stay as they are written)


def shown(path: str) -> str:
    """As events and findings have it."""
    working = Path.cwd()
    return Path(path).relative_to(working).as_posix() if Path(path).is_relative_to(working) else path
