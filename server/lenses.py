"""Entries → a code lens each, which verifies the function and then says what that has shown."""

from __future__ import annotations

from lsprotocol.types import CodeLens, Command

from .checked import Checked
from .outline import header
from .state import State

VERIFY = "fullgraph.verify"


def lenses(state: State, checked: Checked) -> list[CodeLens]:
    """What has no name from outside, such as a function within a function, can't be verified by itself."""
    found = []
    for entry in checked.entries:
        definition = (checked.outline or {}).get(entry.qualname)
        if entry.path != checked.path or definition is None or "<" in entry.qualname:
            continue
        proven = state.verdicts.proof(checked, entry.qualname)
        summary = proven[0].summary if proven else ""
        title = f"Verify again: {summary}" if summary else "Verify"
        where = state.documents.text(checked.path).range_of(header(checked.path, definition))
        uri = state.documents.uri(checked.path)
        found.append(CodeLens(where, Command(title, VERIFY, arguments=[uri, entry.qualname])))
    return found
