"""Findings → diagnostics: where, what, why the line is traced, what compiling said of it, and where more is written."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from lsprotocol.types import (
    CodeDescription,
    Diagnostic,
    DiagnosticRelatedInformation,
    DiagnosticSeverity,
    DiagnosticTag,
    Location,
)

from fullgraph.lint.emit.text import HOW
from fullgraph.lint.findings import Finding, Severity

from .checked import Checked
from .outline import Outline, header, outline
from .state import State

SOURCE = "fullgraph"
UNUSED = "FG902"
SEVERITIES = {
    Severity.ERROR: DiagnosticSeverity.Error,
    Severity.WARNING: DiagnosticSeverity.Warning,
    Severity.NOTE: DiagnosticSeverity.Information,
}
ROOT = re.compile(r"(?P<path>.*?):(?:cell (?P<cell>\d+):line )?(?P<line>\d+)", re.DOTALL)

outline_of = lru_cache(maxsize=8)(outline)
"""Of other files than the one that is edited."""


def shown(state: State, checked: Checked) -> list[Finding]:
    """Notes are for those who ask for them."""
    notes = state.settings.notes or (checked.config is not None and checked.config.notes)
    return [finding for finding in checked.findings if notes or finding.severity is not Severity.NOTE]


def diagnostics(state: State, checked: Checked) -> dict[str, list[Diagnostic]]:
    """By the URI of the open file, or of each cell of the open notebook."""
    found: dict[str, list[Diagnostic]] = {each.uri: [] for each in state.documents.documents(checked.path)}
    for finding in shown(state, checked):
        document = state.documents.at(checked.path, finding.span.cell)
        if document is not None and document.uri in found:
            found[document.uri].append(diagnostic(state, checked, finding))
    for uri in found:
        found[uri] += unpredicted(state, checked)
    return found


def diagnostic(state: State, checked: Checked, finding: Finding) -> Diagnostic:
    span = finding.span
    rule = state.pages.rule(finding.code, checked.config)
    page = None if rule is None else state.pages.uri(rule)
    verdict = state.verdicts.verdict(checked, finding)
    advice = f"Help: {finding.advice}" if finding.advice else None
    return Diagnostic(
        range=state.documents.text(span.path, span.cell).range_of(span),
        message="\n".join(filter(None, (finding.message, advice, verdict))),
        severity=SEVERITIES[finding.severity],
        code=finding.code,
        code_description=None if page is None else CodeDescription(page),
        source=SOURCE,
        tags=[DiagnosticTag.Unnecessary] if finding.code == UNUSED else None,
        related_information=list(_related(state, checked, finding)) or None,
    )


def unpredicted(state: State, checked: Checked) -> Iterator[Diagnostic]:
    """Breaks that only compiling has shown."""
    for function in checked.outline or {}:
        if (found := state.verdicts.proof(checked, function)) is None:
            continue
        proof, definition = found
        text = state.documents.text(checked.path)
        for item in proof.breaks:
            line = definition.first + item.line
            end = len(text.lines[line - 1]) if item.end_column is None else item.end_column
            yield Diagnostic(
                range=text.range((line, item.column or 0), (line, end)),
                message=f"{item.reason}\nseen by compiling, and not foreseen",
                severity=DiagnosticSeverity.Warning,
                code=item.gb,
                source=SOURCE,
            )


def _related(state: State, checked: Checked, finding: Finding) -> Iterator[DiagnosticRelatedInformation]:
    """The way from the entry to the line, and the line that is the cause where that is another."""
    entry = next((each for each in checked.entries if finding.via and each.qualname == finding.via[0]), None)
    places = dict.fromkeys((finding.span.path, *((entry.path,) if entry is not None else ())))
    for number, function in enumerate(finding.via):
        path, definition = next(
            ((path, found) for path in places if (found := _outline(state, checked, path).get(function))), (None, None)
        )
        if path is None or definition is None:
            continue
        how = f"{function} is {HOW[entry.how]}" if number == 0 and entry else f"{function} is called from there"
        where = state.documents.text(path).range_of(header(path, definition))
        yield DiagnosticRelatedInformation(Location(state.documents.uri(path), where), how)
    root = ROOT.fullmatch(finding.root)
    if root is None or finding.root == finding.span.start:
        return
    path, cell, line = root["path"], None if root["cell"] is None else int(root["cell"]), int(root["line"])
    where = state.documents.text(path, cell).range((line, 0), (line, 0))
    yield DiagnosticRelatedInformation(Location(state.documents.uri(path, cell), where), "the cause")


def _outline(state: State, checked: Checked, path: str) -> Outline:
    if path == checked.path:
        return checked.outline or {}
    return outline_of(state.documents.text(path).source) if path.endswith(".py") else {}
