"""The report as GitLab's code quality artifact."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ..findings import CheckReport, Finding, Severity
from ..fingerprint import fingerprints
from .concise import placed, shown

SEVERITIES = {Severity.ERROR: "critical", Severity.WARNING: "major", Severity.NOTE: "info"}


def render(report: CheckReport, notes: bool) -> str:
    names = fingerprints(shown(report, notes), Path.cwd())
    return json.dumps([_issue(finding, name) for finding, name in names.items()], indent=1) + "\n"


def _issue(finding: Finding, name: str) -> dict[str, Any]:
    """A line has to be named; those of a notebook's cell are no lines of the file, so that its first stands for all."""
    span = finding.span
    begin, end = (span.line, span.end_line) if span.cell is None else (1, 1)
    return {
        "description": placed(finding),
        "check_name": finding.code,
        "fingerprint": name,
        "severity": SEVERITIES[finding.severity],
        "location": {"path": span.path, "lines": {"begin": begin, "end": end}},
    }
