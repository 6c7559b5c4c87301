"""Code actions: the fixes of findings, a comment that hides one, its rule's page, and all safe fixes at once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from lsprotocol.types import (
    CodeAction,
    CodeActionKind,
    CodeActionParams,
    Command,
    OptionalVersionedTextDocumentIdentifier,
    Range,
    TextDocumentEdit,
    TextEdit,
    WorkspaceEdit,
)

from fullgraph.lint.apply import fix_all, rows_of
from fullgraph.lint.findings import CheckReport, Edit, Finding, Fix, Severity
from fullgraph.lint.ignores import commented

from .checked import Checked, common
from .diagnostics import diagnostic, shown
from .state import State
from .text import Text
from .workspace import Workspace

EXPLAIN = "fullgraph.explain"
FIX_ALL = f"{CodeActionKind.SourceFixAll.value}.fullgraph"
OWN = "FG9"
"""A file that can't be parsed and a comment that is not needed want mending, not hiding."""


def actions(state: State, checked: Checked, cell: int | None, params: CodeActionParams) -> Iterator[CodeAction]:
    """What can be done about the findings in a range; fixing everything is worked out when it is chosen."""
    if wants(params.context.only, CodeActionKind.QuickFix.value):
        here = [finding for finding in shown(state, checked) if _touches(state, finding, cell, params.range)]
        for finding in here:
            yield from _fixes(state, checked, finding)
        for finding in here:
            yield from _ignore(state, checked, finding)
        for code in dict.fromkeys(finding.code for finding in here):
            yield CodeAction(
                f"Explain {code}",
                kind=CodeActionKind.QuickFix,
                command=Command(f"Explain {code}", EXPLAIN, arguments=[code, params.text_document.uri]),
            )
    if cell is None and wants(params.context.only, FIX_ALL) and any(_safe(each) for each in checked.findings):
        yield CodeAction("Fix all that is safe to fix", kind=FIX_ALL, data=params.text_document.uri)


def wants(only: Sequence[str] | None, kind: str) -> bool:
    """Kinds are a hierarchy: who asks for `source` asks for `source.fixAll` too."""
    return only is None or any(kind == each or kind.startswith(f"{each}.") or each == "" for each in only)


def fix_all_in(workspace: Workspace, path: str, content: bytes) -> bytes:
    """The content with all safe fixes applied that turn out to help; the workspace is left as it was."""

    def check(contents: Mapping[str, bytes]) -> CheckReport:
        for changed, source in contents.items():
            workspace.update(changed, source)
        return workspace.report(path, fixes=True)

    def allowed(finding: Finding) -> tuple[Fix, ...]:
        return tuple(fix for fix in _safe(finding) if all(edit.path == path for edit in fix.edits))

    try:
        outcome = fix_all(workspace.report(path, fixes=True), check, allowed, lambda _: content)
    finally:
        workspace.update(path, content)
    return next((after for changed, _, after in outcome.changed if changed == path), content)


def replacement(state: State, path: str, after: bytes) -> WorkspaceEdit:
    """What turns the text of now into another."""
    text = state.documents.text(path)
    return workspace_edit(state, {path: [difference(text, "".join(rows_of(after)[1]))]})


def difference(text: Text, after: str) -> TextEdit:
    """The one edit between what is the same at the beginning and at the end."""
    before = text.source
    start = common(before, after)
    rest = min(len(before), len(after)) - start
    end = min(common(before[::-1], after[::-1]), rest)
    return TextEdit(text.range_between(start, len(before) - end), after[start : len(after) - end])


def workspace_edit(state: State, edits: Mapping[str, list[TextEdit]]) -> WorkspaceEdit:
    """With the versions that the edits are for, so that a client refuses them when it has moved on."""
    changes = []
    for path, own in edits.items():
        document = state.documents.at(path)
        name = OptionalVersionedTextDocumentIdentifier(
            state.documents.uri(path), document.version if document else None
        )
        changes.append(TextDocumentEdit(name, list(own)))
    return WorkspaceEdit(document_changes=list(changes))


def _safe(finding: Finding) -> list[Fix]:
    return [fix for fix in finding.fixes if fix.safety == "safe" and finding.severity is not Severity.NOTE]


def _touches(state: State, finding: Finding, cell: int | None, wanted: Range) -> bool:
    if finding.span.cell != cell:
        return False
    place = state.documents.text(finding.span.path, cell).range_of(finding.span)
    return place.start <= wanted.end and wanted.start <= place.end


def _fixes(state: State, checked: Checked, finding: Finding) -> Iterator[CodeAction]:
    """Safe ones first; only those are for a key that fixes without asking."""
    offered = (fix for fix in finding.fixes if fix.is_applicable)
    for number, fix in enumerate(sorted(offered, key=lambda fix: fix.safety != "safe")):
        safe = fix.safety == "safe"
        title = fix.title[:1].upper() + fix.title[1:]
        yield CodeAction(
            f"{title} ({finding.code})" if safe else f"{title} ({finding.code}, may change results)",
            kind=CodeActionKind.QuickFix,
            diagnostics=[diagnostic(state, checked, finding)],
            is_preferred=True if safe and number == 0 else None,
            edit=workspace_edit(state, _text_edits(state, fix.edits)),
        )


def _text_edits(state: State, edits: Sequence[Edit]) -> dict[str, list[TextEdit]]:
    found: dict[str, list[TextEdit]] = {}
    for edit in edits:
        text = state.documents.text(edit.path)
        change = TextEdit(text.range(edit.start, edit.end), edit.text.replace("\n", text.line_end))
        found.setdefault(edit.path, []).append(change)
    return found


def _ignore(state: State, checked: Checked, finding: Finding) -> Iterator[CodeAction]:
    if finding.code.startswith(OWN) or finding.span.cell is not None or checked.broken:
        return
    source = state.documents.text(checked.path).content
    yield CodeAction(
        f"Ignore {finding.code} here",
        kind=CodeActionKind.QuickFix,
        diagnostics=[diagnostic(state, checked, finding)],
        edit=replacement(state, checked.path, commented(checked.path, source, [finding])),
    )
