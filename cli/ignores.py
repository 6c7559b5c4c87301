"""`--add-ignores`: which findings get a comment, and what is said about it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from fullgraph.lint.discover import lexically_absolute
from fullgraph.lint.findings import CheckReport, Finding, Severity
from fullgraph.lint.ignores import ignore_all
from fullgraph.lint.request import CheckRequest

from .fix import recheck, save

OWN = "FG9"
"""A file that can't be parsed and a comment that is not needed want mending."""


def add_ignores(
    report: CheckReport, requests: Sequence[CheckRequest], notes: bool, diff: bool
) -> tuple[CheckReport, bool]:
    """Write the comments, or print the changes; gives what is left and whether anything changes."""
    editable = {file for request in requests for file in request.files}

    def wanted(finding: Finding) -> bool:
        return (
            not finding.code.startswith(OWN)
            and finding.span.cell is None
            and (notes or finding.severity is not Severity.NOTE)
            and lexically_absolute(Path(finding.span.path)) in editable
        )

    outcome = ignore_all(report, recheck(requests), wanted)
    save(outcome.changed, diff)
    left = [finding for finding in outcome.report.findings if finding.severity is not Severity.NOTE]
    for notebook in sorted({finding.span.path for finding in left if finding.span.cell is not None}):
        click.echo(f"fullgraph: {notebook}: notebooks are never edited", err=True)
    verb = "would ignore" if diff else "ignored"
    click.echo(f"fullgraph: {verb} {outcome.fixed}, {len(left)} left", err=True)
    return outcome.report, bool(outcome.changed)
