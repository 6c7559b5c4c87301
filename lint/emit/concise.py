"""The report as one line a finding, for editors and grep: `path:line:column: CODE [confidence] message`; in a notebook
`path:cell 3:line 5:column:`.
"""

from __future__ import annotations

import click

from ..findings import CheckReport, Finding, Severity
from .look import PLAIN, Look, printable

COLOURS = {Severity.ERROR: "red", Severity.WARNING: "yellow", Severity.NOTE: "blue"}


def render(report: CheckReport, notes: bool, look: Look = PLAIN) -> str:
    """One styled line for each finding; notes only when asked for."""
    return "".join(f"{headline(finding, look)}\n" for finding in shown(report, notes))


def shown(report: CheckReport, notes: bool) -> list[Finding]:
    """The findings that people want to see."""
    return [finding for finding in report.findings if notes or finding.severity is not Severity.NOTE]


def placed(finding: Finding) -> str:
    """The message, for what only knows the lines of files: in a notebook it names the cell and the line."""
    return finding.message if finding.span.cell is None else f"{finding.span.start}: {finding.message}"


def headline(finding: Finding, look: Look) -> str:
    """Columns count from 1 here, as editors expect; a severity that is not the usual one is named."""
    span, severity = finding.span, finding.severity
    place = click.style(f"{printable(span.start)}:{span.column + 1}:", bold=True)
    code = look.linked(click.style(finding.code, fg=COLOURS[severity], bold=True), finding.code)
    named = "" if severity is Severity.WARNING else f"{severity.value}: "
    return f"{place} {code} [{finding.confidence.value}] {named}{printable(finding.message)}"
