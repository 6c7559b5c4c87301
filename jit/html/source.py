"""The files that a target's findings and events lie in, cut to the lines around them, with what is known of each."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import PurePosixPath
from typing import NamedTuple, TypeVar

from markupsafe import Markup

from fullgraph.lint.findings import Severity, Verdict
from fullgraph.lint.libraries import is_installed

from ..events import BackendError, Break, Failure, Frame, Guard, Recompile
from ..verify import Judged, Stale, TargetReport
from .anchors import Anchors
from .highlight import python

At = TypeVar("At", Frame, Recompile)
CONTEXT = 6
"""Lines shown around each that something is said about."""
GAP = 3
"""Lines that are shown rather than left out between two others."""


class Guarded(NamedTuple):
    """A guard that a line made necessary, and the frames that have it."""

    guard: Guard
    frames: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Compiled:
    """The frames whose code begins at one line."""

    frames: tuple[Frame, ...]


@dataclass(frozen=True, slots=True)
class Recompiled:
    """The recompiles of code that begins at one line."""

    recompiles: tuple[Recompile, ...]


@dataclass(frozen=True, slots=True)
class Guards:
    """All that one line made necessary."""

    guarded: tuple[Guarded, ...]


About = Judged | Break | Stale | Failure | BackendError | Compiled | Recompiled | Guards
RANK: Mapping[type, int] = {
    kind: rank for rank, kind in enumerate((Compiled, Recompiled, Judged, Break, Failure, BackendError, Stale, Guards))
}


@dataclass(frozen=True, slots=True)
class Note:
    """What is known of a line."""

    path: str
    line: int
    about: About
    unpredicted: bool = False
    anchor: str = ""

    @property
    def kind(self) -> str:
        return "Unpredicted" if self.unpredicted else type(self.about).__name__

    @property
    def is_finding(self) -> bool:
        """Whether the reader has something to decide here."""
        match self.about:
            case Judged(finding):
                return finding.severity is not Severity.NOTE
            case Break():
                return self.unpredicted
            case _:
                return isinstance(self.about, Failure | BackendError | Stale)


@dataclass(frozen=True, slots=True)
class Line:
    number: int
    html: Markup
    notes: tuple[Note, ...] = ()


@dataclass(frozen=True, slots=True)
class Hunk:
    """Lines without a gap; `skipped` of the file lie between it and what is shown before."""

    skipped: int
    lines: tuple[Line, ...]


@dataclass(frozen=True, slots=True)
class File:
    path: str
    anchor: str
    hunks: tuple[Hunk, ...]
    after: int
    """How many lines follow the last hunk."""
    loose: tuple[Note, ...]
    """What belongs to no line that can be shown."""
    problem: str = ""
    findings: int = 0


def files(report: TargetReport, anchors: Anchors, read: Callable[[str], str]) -> tuple[File, ...]:
    """`read` gives the text of a path, or raises OSError or ValueError."""
    ordered = sorted(_notes(report), key=lambda note: (note.path, note.line, RANK[type(note.about)]))
    named = [_named(note, anchors) for note in ordered]
    found = [_file(path, list(notes), anchors, read) for path, notes in groupby(named, key=lambda note: note.path)]
    return tuple(found)


def _notes(report: TargetReport) -> Iterator[Note]:
    seen = report.observation
    for judged in report.judged:
        yield Note(judged.finding.span.path, judged.finding.span.line, judged)
    for item in seen.breaks:
        yield Note(item.path, item.line, item, unpredicted=item in report.unpredicted)
    stopped: tuple[Stale | Failure, ...] = (*report.stale, *seen.failures)
    for place in stopped:
        yield Note(place.path, place.line, place)
    for error in seen.backend_errors:
        yield Note(error.site.path, error.site.line, error)
    for (path, line), frames in _by_line(seen.frames):
        yield Note(path, line, Compiled(frames))
    for (path, line), recompiles in _by_line(seen.recompiles):
        yield Note(path, line, Recompiled(recompiles))
    yield from _guards(seen.frames)


def _by_line(items: Iterable[At]) -> Iterator[tuple[tuple[str, int], tuple[At, ...]]]:
    found: dict[tuple[str, int], list[At]] = defaultdict(list)
    for item in items:
        if not _in_library(item.path):
            found[item.path, item.line].append(item)
    for place, here in found.items():
        yield place, tuple(here)


def _in_library(path: str) -> bool:
    return is_installed(PurePosixPath(path))


def _guards(frames: Iterable[Frame]) -> Iterator[Note]:
    made: dict[tuple[str, int], dict[str, tuple[Guard, list[str]]]] = defaultdict(dict)
    for frame in frames:
        for guard in frame.guard_tree.walk() if frame.guard_tree else ():
            if guard.site and not _in_library(guard.site.path):
                known = made[guard.site.path, guard.site.line].setdefault(guard.expression, (guard, []))
                known[1].append(frame.id)
    for (path, line), items in made.items():
        guarded = (Guarded(guard, tuple(dict.fromkeys(ids))) for guard, ids in items.values())
        yield Note(path, line, Guards(tuple(guarded)))


def _named(note: Note, anchors: Anchors) -> Note:
    match note.about:
        case Judged():
            name = anchors.numbered("finding")
        case Break(number):
            name = anchors.numbered("break", of=number)
        case _:
            name = anchors.numbered(note.kind.lower())
    return Note(note.path, note.line, note.about, note.unpredicted, name)


def _file(path: str, notes: Sequence[Note], anchors: Anchors, read: Callable[[str], str]) -> File:
    anchor = anchors.numbered("file")
    count = sum(note.is_finding for note in notes)
    if any(isinstance(note.about, Judged) and note.about.finding.span.cell is not None for note in notes):
        return File(path, anchor, (), 0, tuple(notes), "a notebook: its cells are not shown", count)
    try:
        text = read(path).split("\n")
    except (OSError, ValueError):
        return File(path, anchor, (), 0, tuple(notes), "this file could not be read when the report was made", count)
    length = len(text) - (text[-1] == "")
    by_line: dict[int, list[Note]] = defaultdict(list)
    for note in notes:
        by_line[note.line].append(note)
    shown = _around(by_line, length)
    lines = python("".join(f"{line}\n" for line in text[: shown[-1]]) if shown else "", _marks(notes))
    anchors.show(path, anchor, frozenset(shown))
    hunks, last = [], 0
    for _, run in groupby(enumerate(shown), key=lambda pair: pair[1] - pair[0]):
        numbers = [number for _, number in run]
        held = (Line(number, lines[number - 1], tuple(by_line.get(number, ()))) for number in numbers)
        hunks.append(Hunk(numbers[0] - last - 1, tuple(held)))
        last = numbers[-1]
    loose = tuple(note for note in notes if not 1 <= note.line <= length)
    return File(path, anchor, tuple(hunks), length - last, loose, "", count)


def _around(lines: Iterable[int], last: int) -> list[int]:
    """With their context, and with what is too little to be left out."""
    shown: list[int] = []
    for line in sorted({near for at in lines for near in range(at - CONTEXT, at + CONTEXT + 1) if 1 <= near <= last}):
        if shown and line - shown[-1] <= GAP + 1:
            shown.extend(range(shown[-1] + 1, line))
        shown.append(line)
    return shown


def _marks(notes: Iterable[Note]) -> dict[int, list[tuple[int, int]]]:
    marks: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for note in notes:
        match note.about:
            case Judged(finding, Verdict.CONFIRMED) if note.is_finding:
                span = finding.span
                end = span.end_column if span.end_line == span.line else 10_000
                marks[span.line].append((span.column, end))
            case Break(column=int(start), end_column=int(end)) if note.unpredicted:
                marks[note.line].append((start, end))
    return marks
