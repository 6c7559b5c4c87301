"""The report as JSON, schema `fullgraph.check/1` (docs/schema/check.json)."""

from __future__ import annotations

import json
import re
from typing import Any

from ..findings import CheckReport, Edit, Finding, Fix


def render(report: CheckReport) -> str:
    """The whole report, notes included."""
    document = {
        "schema": "fullgraph.check/1",
        "torch": report.torch,
        "files": report.files,
        "entries": [{"path": entry.path, "qualname": entry.qualname, "how": entry.how} for entry in report.entries],
        "findings": [finding_as_json(finding) for finding in report.findings],
        "remarks": list(report.remarks),
    }
    text = json.dumps(document, indent=2, ensure_ascii=False) + "\n"
    return re.sub("[\ud800-\udfff]", lambda match: f"\\u{ord(match[0]):04x}", text)  # bytes of a file name, not UTF-8


def finding_as_json(finding: Finding) -> dict[str, Any]:
    """One finding, as it also stands in the output of `fullgraph verify`."""
    span, when, impact = finding.span, finding.when, finding.impact
    return {
        "code": finding.code,
        "rule": finding.rule,
        "path": span.path,
        **({} if span.cell is None else {"cell": span.cell}),
        "line": span.line,
        "column": span.column,
        "end_line": span.end_line,
        "end_column": span.end_column,
        "function": finding.function,
        "message": finding.message,
        "advice": finding.advice,
        "effect": finding.effect.value,
        "severity": finding.severity.value,
        "cause": finding.cause.value if finding.cause else None,
        "confidence": finding.confidence.value,
        "modes": dict(finding.modes),
        "when": {"training": when.training, "given": list(when.given) or None, "dtype": when.dtype},
        "gb": list(finding.gb),
        "root": finding.root,
        "via": list(finding.via),
        "impact": {
            "loop": impact.loop,
            "where": impact.where,
            "entries": impact.entries,
            "callers": list(impact.callers),
        },
        "fixes": [_fix(fix) for fix in finding.fixes],
    }


def _fix(fix: Fix) -> dict[str, Any]:
    return {"title": fix.title, "safety": fix.safety, "edits": [_edit(edit) for edit in fix.edits]}


def _edit(edit: Edit) -> dict[str, Any]:
    return {"path": edit.path, "start": list(edit.start), "end": list(edit.end), "text": edit.text}
