"""The report as GitLab's code quality artifact."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ..findings import CheckReport, Finding, Severity
from ..fingerprint import fingerprints
from .concise import shown

SEVERITIES = {Severity.ERROR: "critical", Severity.WARNING: "major", Severity.NOTE: "info"}


def render(report: CheckReport, notes: bool) -> str:
    names = fingerprints(shown(report, notes), Path.cwd())
    return json.dumps([_issue(finding, name) for finding, name in names.items()], indent=1) + "\n"


def _issue(finding: Finding, name: str) -> dict[str, Any]:
    return {
        "description": finding.message,
        "check_name": finding.code,
        "fingerprint": name,
        "severity": SEVERITIES[finding.severity],
        "location": {
            "path": finding.span.path,
            "lines": {"begin": finding.span.line, "end": finding.span.end_line},
        },
    }
