"""A position → the pages of the rules found there, what compiling said of them, and the guards of a function."""

from __future__ import annotations

from collections.abc import Iterator
from textwrap import shorten

from lsprotocol.types import Hover, MarkupContent, MarkupKind, Position

from fullgraph.rules.page import page

from .checked import Checked
from .diagnostics import shown
from .state import State

GUARDS = 12
"""Shown of one frame."""
WIDTH = 160


def hover(state: State, checked: Checked, cell: int | None, position: Position) -> Hover | None:
    parts = [*_findings(state, checked, cell, position), *_functions(state, checked, position)]
    return Hover(MarkupContent(MarkupKind.Markdown, "\n\n---\n\n".join(parts))) if parts else None


def _findings(state: State, checked: Checked, cell: int | None, position: Position) -> Iterator[str]:
    for finding in shown(state, checked):
        place = state.documents.text(checked.path, finding.span.cell).range_of(finding.span)
        if finding.span.cell != cell or not place.start <= position <= place.end:
            continue
        verdict = state.verdicts.verdict(checked, finding)
        told = f"**{finding.code}** {finding.message}" + (f"\n\n**{verdict}**" if verdict else "")
        rule = state.pages.rule(finding.code, checked.config)
        yield told if rule is None else f"{told}\n\n{page(rule)}"


def _functions(state: State, checked: Checked, position: Position) -> Iterator[str]:
    """Of the function whose header the position is on."""
    for function, definition in (checked.outline or {}).items():
        found = state.verdicts.proof(checked, function)
        if found is None or not definition.first <= position.line + 1 <= definition.line:
            continue
        for frame in found[0].frames:
            graphs = "1 graph" if frame.graphs == 1 else f"{frame.graphs} graphs"
            head = (
                f"`{function}` frame {frame.id}: {graphs}, {frame.ops} operators, compiled in {frame.compile_s:.1f} s"
            )
            # What is about the function's own values first: the others are the same everywhere.
            guards = sorted(frame.guards, key=lambda guard: "L[" not in guard)
            more = [f"… and {len(guards) - GUARDS} more"] if len(guards) > GUARDS else []
            listed = "\n".join((*(shorten(guard, WIDTH, placeholder=" …") for guard in guards[:GUARDS]), *more))
            yield f"{head}\n\n```python\n{listed}\n```"
