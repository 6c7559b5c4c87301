"""The fixes as a review of a pull request: comments whose `suggestion` blocks GitHub offers to commit.

Enters a report, leaves what GitHub's REST API takes at `POST /repos/{owner}/{repo}/pulls/{number}/reviews`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any

from ..apply import edited, rows_of
from ..findings import CheckReport, Finding, Fix
from .concise import shown

MOST = 30
"""Comments in one review."""


def render(report: CheckReport, notes: bool) -> str:
    """JSON; without a fix that one suggestion can hold, a review without comments."""
    comments = [comment for finding in shown(report, notes) for comment in _comments(finding)][:MOST]
    document = {"event": "COMMENT", "body": f"fullgraph suggests {len(comments)} changes.", "comments": comments}
    return json.dumps(document, indent=1) + "\n"


def _comments(finding: Finding) -> Iterator[dict[str, Any]]:
    """The first fix that changes lines in one place: a suggestion replaces the lines that it is attached to."""
    for fix in finding.fixes if finding.span.cell is None else ():
        replaced = _replaced(fix) if fix.is_applicable else None
        if replaced is not None:
            first, last, rows = replaced
            title = f"**{finding.code}** {finding.message}\n\n{fix.title} ({fix.safety})"
            fence = max("```", *("`" * (row.count("`") + 1) for row in rows), key=len)
            comment = {
                "path": finding.span.path,
                "line": last,
                "side": "RIGHT",
                "body": "\n".join([title, f"{fence}suggestion", *rows, fence]),
            }
            yield comment | ({"start_line": first, "start_side": "RIGHT"} if first < last else {})
            return


def _replaced(fix: Fix) -> tuple[int, int, list[str]] | None:
    """First and last line that the fix replaces, and what by; None where it is more than one place, or adds a line
    without changing one.
    """
    paths = {edit.path for edit in fix.edits}
    if len(paths) != 1:
        return None
    try:
        before = Path(*paths).read_bytes()
    except OSError:
        return None  # changed under our hands
    old, new = (rows_of(text)[1] for text in (before, edited(before, list(fix.edits))))
    changes = [code for code in SequenceMatcher(None, old, new, autojunk=False).get_opcodes() if code[0] != "equal"]
    if len(changes) != 1 or changes[0][1] == changes[0][2]:
        return None
    _, first, last, start, end = changes[0]
    return first + 1, last, [row.rstrip("\r\n") for row in new[start:end]]
