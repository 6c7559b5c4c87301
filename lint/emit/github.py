"""The report as commands for GitHub Actions, which turns each into an annotation, and as a summary in Markdown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from difflib import unified_diff
from html import escape
from itertools import islice
from pathlib import Path

from ..apply import edited, rows_of
from ..findings import CheckReport, Finding, Fix, Severity, Span
from .concise import placed, shown
from .look import printable

COMMANDS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "notice"}
ROWS = 50
"""Findings listed in the summary."""


def render(report: CheckReport, notes: bool) -> str:
    """One command a finding."""
    return "".join(f"{_command(finding)}\n" for finding in shown(report, notes))


def _command(finding: Finding) -> str:
    span = finding.span
    place = {"file": span.path, "title": f"{finding.code} {finding.rule}"}
    if span.cell is None:
        place |= {"line": str(span.line), "endLine": str(span.end_line)}
        if span.line == span.end_line:
            place |= {"col": str(span.column + 1), "endColumn": str(span.end_column + 1)}
    properties = ",".join(f"{key}={_property(value)}" for key, value in place.items())
    return f"::{COMMANDS[finding.severity]} {properties}::{_data(f'{placed(finding)}. Instead: {finding.advice}.')}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def summary(report: CheckReport, notes: bool) -> str:
    """What stands on the page of a run: counts by rule, the findings, and the fixes proposed."""
    return "\n".join(_summary(report, shown(report, notes))) + "\n"


def _summary(report: CheckReport, findings: list[Finding]) -> Iterator[str]:
    yield "## fullgraph\n"
    if not findings:
        yield f"Nothing found in {report.files} files for torch {report.torch}."
        return
    yield f"{len(findings)} findings in {report.files} files, judged by torch {report.torch}.\n"
    yield from ("| rule | findings |", "| --- | --- |")
    for (code, rule), count in sorted(Counter((finding.code, finding.rule) for finding in findings).items()):
        yield f"| {code} {rule} | {count} |"
    yield from ("", "| where | what |", "| --- | --- |")
    for finding in findings[:ROWS]:
        yield f"| {_cell(f'`{printable(finding.span.start)}`')} | {finding.code} {_cell(finding.message)} |"
    if len(findings) > ROWS:
        yield f"\n… and {len(findings) - ROWS} more."
    for finding in findings[:ROWS]:
        for fix in finding.fixes:
            title = escape(f"{printable(finding.span.start)}: {fix.title} ({fix.safety})")
            yield f"\n<details><summary>{title}</summary>\n"
            yield from ("```diff", *_changes(finding.span, fix), "```", "</details>")


def _changes(span: Span, fix: Fix) -> Iterator[str]:
    """The lines that a fix changes, before and after; none in a notebook, which is never edited."""
    for path in dict.fromkeys(edit.path for edit in fix.edits if span.cell is None):
        try:
            before = Path(path).read_bytes()
        except OSError:
            continue  # changed under our hands
        after = edited(before, [edit for edit in fix.edits if edit.path == path])
        for row in islice(unified_diff(rows_of(before)[1], rows_of(after)[1], n=0), 2, None):
            yield row.rstrip("\r\n")


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
