"""What a check said of one text, and what of it still holds for a later text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile

import msgspec

from fullgraph.lint.config import Config
from fullgraph.lint.findings import Entry, Finding, Fix, Span

from .outline import Definition, Outline, outline

SYNTAX = "FG901"


@dataclass(frozen=True, slots=True)
class Checked:
    """The findings in one file; their paths, and those of entries, are absolute."""

    path: str
    lines: Sequence[str]
    """Of the text that was checked; none for a notebook, whose cells are texts of their own."""
    findings: tuple[Finding, ...] = ()
    entries: tuple[Entry, ...] = ()
    """All of the project's."""
    outline: Outline | None = None
    missing: frozenset[str] = frozenset()
    """Functions that are found and not in the outline: the module itself, or what the code makes up."""
    broken: bool = False
    """The text does not parse."""
    config: Config | None = None
    """The settings of its project."""
    fixes: bool = False
    """Whether the findings have theirs: those take longer than the rest, and are seldom looked at."""

    def at(self, lines: Sequence[str]) -> Checked:
        """Moved to where its lines stand in another text; what is about lines that differ is left out."""
        if not self.lines or lines is self.lines or lines == self.lines:
            return self
        shift = Shift.between(self.lines, lines)
        return replace(
            self,
            lines=lines,
            findings=tuple(moved for finding in self.findings if (moved := _finding(finding, shift, self.path))),
            outline={name: place for name, each in (self.outline or {}).items() if (place := _definition(each, shift))},
        )

    def after(self, kept: Checked) -> Checked:
        """With what was known of this text before it was checked: where it does not parse, what was found in the rest
        of it; and where its functions stand, as long as it is known of all that matter.
        """
        wanted = {entry.qualname for entry in self.entries if entry.path == self.path}
        wanted |= {finding.function for finding in self.findings}
        if self.broken:
            problems = [finding for finding in self.findings if finding.code == SYNTAX]
            rest = [finding for finding in kept.findings if finding.code != SYNTAX]
            findings = sorted((*problems, *rest), key=lambda finding: finding.sort_key)
            return replace(
                self, findings=tuple(findings), entries=kept.entries, outline=kept.outline, missing=kept.missing
            )
        if kept.outline is not None and wanted <= kept.outline.keys() | kept.missing:
            return replace(self, outline=kept.outline, missing=kept.missing)
        fresh = outline("\n".join(self.lines))
        return replace(self, outline=fresh, missing=frozenset(wanted - fresh.keys()))


@dataclass(frozen=True, slots=True)
class Shift:
    """Two texts begin with the same lines and end with the same lines."""

    same: int
    """How many lines they have in common at the beginning."""
    rest: int
    """The first line, from 1, of the old text's common end."""
    by: int
    """How far that has moved."""

    @classmethod
    def between(cls, old: Sequence[str], new: Sequence[str]) -> Shift:
        shorter = min(len(old), len(new))
        same = common(old, new)
        end = min(common(old[::-1], new[::-1]), shorter - same)
        return cls(same, len(old) - end + 1, len(new) - len(old))

    def lines(self, first: int, last: int) -> tuple[int, int] | None:
        if last <= self.same:
            return first, last
        return (first + self.by, last + self.by) if first >= self.rest else None


def common(old: Sequence[str], new: Sequence[str]) -> int:
    """With how many equal lines, or characters, both begin."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(old, new, strict=False)))


def _finding(finding: Finding, shift: Shift, path: str) -> Finding | None:
    span = finding.span
    lines = shift.lines(span.line, span.end_line)
    if span.cell is not None or lines is None:
        return None
    moved = Span(span.path, lines[0], span.column, lines[1], span.end_column)
    return msgspec.structs.replace(finding, span=moved, fixes=tuple(_fixes(finding, shift, path)))


def _fixes(finding: Finding, shift: Shift, path: str) -> Iterator[Fix]:
    for fix in finding.fixes:
        edits = []
        for edit in fix.edits:
            lines = shift.lines(edit.start[0], edit.end[0]) if edit.path == path else (edit.start[0], edit.end[0])
            if lines is None:
                break
            start, end = (lines[0], edit.start[1]), (lines[1], edit.end[1])
            edits.append(msgspec.structs.replace(edit, start=start, end=end))
        else:
            yield msgspec.structs.replace(fix, edits=tuple(edits))


def _definition(definition: Definition, shift: Shift) -> Definition | None:
    """One whose inside has changed still begins and ends somewhere."""
    first, last = shift.lines(definition.first, definition.line), shift.lines(definition.last, definition.last)
    if first is None:
        return None
    return replace(definition, first=first[0], line=first[1], last=last[0] if last else max(first[1], definition.last))
