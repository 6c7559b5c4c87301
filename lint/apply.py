"""Fixes of findings → new contents of files: pass by pass until nothing is left to fix, checked anew after each one.

Nothing is written before all is done; `write` then replaces a file at once, with its mode kept.
"""

from __future__ import annotations

import ast
import io
import os
import shutil
import tempfile
import tokenize
import warnings
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from difflib import unified_diff
from pathlib import Path

from .findings import CheckReport, Edit, Finding, Fix

PASSES = 10

Key = tuple[str, str, str]
"""Which findings a fix counts for: path, code, function."""

Contents = Mapping[str, bytes]
"""Files (as findings name them) → what they hold instead of what is on disk."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What fixing came to."""

    report: CheckReport
    """What is found when all is fixed."""
    changed: tuple[tuple[str, bytes, bytes], ...] = ()
    """Path, contents before, contents after."""
    fixed: int = 0
    """How many fixes were applied."""
    refused: tuple[Key, ...] = ()
    """Findings that stay: their fixes don't parse, or leave them as they are."""


def fix_all(
    first: CheckReport,
    check: Callable[[Contents], CheckReport],
    fixes_of: Callable[[Finding], tuple[Fix, ...]],
    read: Callable[[str], bytes] = lambda path: Path(path).read_bytes(),
) -> Outcome:
    """Apply what `fixes_of` lets through to the findings of `first`; `check` says what is found in changed files,
    `read` what they hold now.

    Where a fix turns out to be no good all is done again without it, so that nothing of it is left behind.
    """
    refused: set[Key] = set()
    while True:
        attempt = _Attempt(first, check, fixes_of, read, refused)
        attempt.run()
        if attempt.bad <= refused:
            changed = ((path, attempt.before[path], after) for path, after in sorted(attempt.after.items()))
            return Outcome(attempt.report, tuple(changed), attempt.fixed, tuple(sorted(refused)))
        refused |= attempt.bad


@dataclass(slots=True)
class _Attempt:
    """One way through the passes, without the fixes refused so far."""

    report: CheckReport
    check: Callable[[Contents], CheckReport]
    fixes_of: Callable[[Finding], tuple[Fix, ...]]
    read: Callable[[str], bytes]
    refused: set[Key]
    before: dict[str, bytes] = field(default_factory=dict)
    after: dict[str, bytes] = field(default_factory=dict)
    fixed: int = 0
    bad: set[Key] = field(default_factory=set)

    def run(self) -> None:
        for _ in range(PASSES):
            chosen = self._chosen()
            if not chosen:
                return
            self._apply(chosen)
            if self.bad:
                return
            counts = _counts(self.report)
            self.report = self.check(self.after)
            left = _counts(self.report)
            self.bad = {key for _, key in chosen if left[key] >= counts[key]}
            if self.bad:
                return

    def _chosen(self) -> list[tuple[tuple[Edit, ...], Key]]:
        """In the order of the findings, the first fix of each, unless it meets one chosen already: that one waits."""
        chosen: list[tuple[tuple[Edit, ...], Key]] = []
        taken: defaultdict[str, list[Edit]] = defaultdict(list)
        for finding in self.report.findings:
            key = _key(finding)
            fix = next(iter(self.fixes_of(finding)), None)
            if fix is None or key in self.refused:
                continue
            rivals = taken[finding.span.path]
            fresh = [edit for edit in fix.edits if edit not in rivals]  # an import that two fixes need is added once
            if fresh and not any(_meet(edit, rival) for edit in fresh for rival in rivals):
                rivals += fresh
                chosen.append((tuple(fresh), key))
        return chosen

    def _apply(self, chosen: list[tuple[tuple[Edit, ...], Key]]) -> None:
        edits: defaultdict[str, list[Edit]] = defaultdict(list)
        for group, _ in chosen:
            for edit in group:
                edits[edit.path].append(edit)
        for path, rows in edits.items():
            if path not in self.before:
                self.before[path] = self.read(path)
            source = self.after.get(path, self.before[path])
            self.after[path] = edited(source, rows)
            if not _parses(self.after[path]):
                here = [([edit for edit in group if edit.path == path], key) for group, key in chosen]
                alone = {key for own, key in here if not _parses(edited(source, own))}
                self.bad |= alone or {key for own, key in here if own}
        self.fixed += len(chosen)


def _key(finding: Finding) -> Key:
    return finding.span.path, finding.code, finding.function


def _counts(report: CheckReport) -> Counter[Key]:
    return Counter(map(_key, report.findings))


def _meet(a: Edit, b: Edit) -> bool:
    return a.path == b.path and a.start <= b.end and b.start <= a.end


def _parses(source: bytes) -> bool:
    with warnings.catch_warnings(action="ignore"):  # about escapes in the user's strings
        try:
            ast.parse(source)
        except (SyntaxError, ValueError):
            return False
    return True


def edited(source: bytes, edits: Iterable[Edit]) -> bytes:
    """The source with the edits, which don't overlap, applied: encoding, byte order mark and line ends stay."""
    encoding, rows = rows_of(source)
    starts = [0]
    for row in rows:
        starts.append(starts[-1] + len(row))
    text = "".join(rows)
    for edit in sorted(edits, key=lambda edit: (edit.start, edit.end), reverse=True):
        start, end = (starts[line - 1] + column for line, column in (edit.start, edit.end))
        row = rows[min(bisect_right(starts, start), len(rows)) - 1]
        text = text[:start] + edit.text.replace("\n", _line_end(row) or _line_end(rows[0]) or "\n") + text[end:]
    return text.encode(encoding)


def patch(path: str, before: bytes, after: bytes) -> Iterator[str]:
    """The rows of a unified diff."""
    for row in unified_diff(rows_of(before)[1], rows_of(after)[1], path, path):
        yield row if row.endswith(("\n", "\r")) else f"{row}\n\\ No newline at end of file\n"


def rows_of(source: bytes) -> tuple[str, list[str]]:
    """The encoding, and the decoded lines with their ends."""
    encoding, _ = tokenize.detect_encoding(io.BytesIO(source).readline)
    return encoding, list(io.TextIOWrapper(io.BytesIO(source), encoding, newline=""))


def _line_end(row: str) -> str:
    return row[len(row.rstrip("\r\n")) :]


def write(path: str, before: bytes, after: bytes) -> None:
    """Replace a file's contents at once. Raises OSError where that can't be done, or the file has changed meanwhile."""
    target = Path(os.path.realpath(path))
    if not os.access(target, os.W_OK):
        raise PermissionError("no permission to write it")
    if target.read_bytes() != before:
        raise OSError("it has changed meanwhile")
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=f".{target.name}.") as folder:
        fresh = Path(folder, target.name)
        fresh.write_bytes(after)
        shutil.copymode(target, fresh)
        fresh.replace(target)
