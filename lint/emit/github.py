"""The report as commands for GitHub Actions, which turns each into an annotation, and as a summary in Markdown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from ..findings import CheckReport, Finding, Severity
from .concise import printable, shown

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
    return f"::{COMMANDS[finding.severity]} {properties}::{_data(f'{finding.message}. Instead: {finding.advice}.')}"


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
            yield f"\n<details><summary>{finding.span.start}: {fix.title} ({fix.safety})</summary>\n"
            yield from ("```suggestion", *(edit.text.rstrip("\n") for edit in fix.edits), "```", "</details>")


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
