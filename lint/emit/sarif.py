"""The report as SARIF 2.1.0, for code scanning."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from fullgraph.rules.model import Rule
from fullgraph.rules.page import page

from ..findings import CheckReport, Edit, Finding, Fix, Severity, Span
from ..fingerprint import fingerprints
from .concise import placed

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "note"}


def render(
    report: CheckReport, rules: Iterable[Rule], version: str, known: Sequence[Finding], has_baseline: bool
) -> str:
    """The whole report, notes included; with a baseline, `known` findings are given as unchanged.

    Projects checked together may have given one code to rules of their own, so that its name is needed too.
    """
    names = fingerprints([*report.findings, *known], Path.cwd())
    put_off = frozenset(known)
    described = {(rule.code, rule.name): rule for rule in rules}
    used = sorted({(finding.code, finding.rule) for finding in names})
    results = []
    for finding in sorted(names, key=lambda finding: finding.sort_key):
        result = _result(finding, used.index((finding.code, finding.rule)), names[finding])
        if has_baseline and finding.severity is not Severity.NOTE:  # no baseline holds notes
            result["baselineState"] = "unchanged" if finding in put_off else "new"
        results.append(result)
    driver = {"name": "fullgraph", "semanticVersion": version, "rules": [_rule(described[key]) for key in used]}
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "results": results,
        "invocations": [
            {
                "executionSuccessful": True,
                "toolExecutionNotifications": [{"message": {"text": remark}} for remark in report.remarks],
            }
        ],
        "properties": {"torch": report.torch, "files": report.files},
    }
    document = {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}
    return json.dumps(document, indent=1, ensure_ascii=True) + "\n"


def _rule(rule: Rule) -> dict[str, Any]:
    return {
        "id": rule.code,
        "name": "".join(word.capitalize() for word in rule.name.split("-")),
        "shortDescription": {"text": f"{rule.summary}."},
        "fullDescription": {"text": " ".join(rule.why.split())},
        "help": {"text": " ".join(rule.use_instead.split()), "markdown": page(rule)},
        "defaultConfiguration": {"level": rule.severity},
        "properties": {
            "tags": list(dict.fromkeys(filter(None, (rule.effect, rule.cause)))),
            "precision": _precision(rule),
        },
    }


def _precision(rule: Rule) -> str:
    return {"certain": "very-high", "likely": "high", "possible": "medium"}[rule.confidence]


def _result(finding: Finding, index: int, name: str) -> dict[str, Any]:
    return {
        "ruleId": finding.code,
        "ruleIndex": index,
        "level": LEVELS[finding.severity],
        "message": {"text": f"{placed(finding)}. {finding.advice[:1].upper()}{finding.advice[1:]}."},
        "locations": [
            {
                "physicalLocation": _location(finding.span),
                "logicalLocations": [{"fullyQualifiedName": finding.function, "kind": "function"}],
            }
        ],
        "partialFingerprints": {"fullgraph/v1": name},
        "fixes": [_fix(fix) for fix in finding.fixes if fix.is_applicable],
        "properties": {
            "confidence": finding.confidence.value,
            "effect": finding.effect.value,
            "gb": list(finding.gb),
            "via": list(finding.via),
        },
    }


def _location(span: Span) -> dict[str, Any]:
    """Lines of a notebook's cell are no lines of the file, so that only the file is named."""
    artifact = {"artifactLocation": _artifact(span.path)}
    if span.cell is not None:
        return artifact
    return {
        **artifact,
        "region": _region((span.line, span.column), (span.end_line, span.end_column)),
    }


def _artifact(path: str) -> dict[str, str]:
    if Path(path).is_absolute():
        return {"uri": Path(path).as_uri()}
    return {"uri": quote(path, errors="surrogateescape"), "uriBaseId": "%SRCROOT%"}


def _region(start: tuple[int, int], end: tuple[int, int]) -> dict[str, int]:
    return {"startLine": start[0], "startColumn": start[1] + 1, "endLine": end[0], "endColumn": end[1] + 1}


def _fix(fix: Fix) -> dict[str, Any]:
    paths = list(dict.fromkeys(edit.path for edit in fix.edits))
    return {
        "description": {"text": f"{fix.title} ({fix.safety})"},
        "artifactChanges": [
            {
                "artifactLocation": _artifact(path),
                "replacements": [_replacement(edit) for edit in fix.edits if edit.path == path],
            }
            for path in paths
        ],
    }


def _replacement(edit: Edit) -> dict[str, Any]:
    return {"deletedRegion": _region(edit.start, edit.end), "insertedContent": {"text": edit.text}}
