"""The lines that a working tree changes against a revision, asked of git."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path

from .findings import Span

HUNK = re.compile(r"^@@ -\S+ \+(\d+)(?:,(\d+))? @@")

DIFF = ("--unified=0", "--text", "--no-textconv", "--no-color", "--no-ext-diff", "--no-prefix", "--relative=")
NO_ANCESTOR = "no commit in common with HEAD; in a shallow clone fetch more of the history"
"""The one thing about which git fails without a word."""


class ChangedError(Exception):
    """git can't tell; the message says why."""


def changed_lines(revision: str, files: Iterable[Path]) -> Mapping[Path, tuple[range, ...]]:
    """File → the ranges of lines that differ from `revision`, committed or not; files not yet added count whole.

    The working directory's repository is asked, and those that the files are in. Raises ChangedError where there is
    none or the revision is not known.
    """
    if revision.startswith("-"):
        raise ChangedError(f"--changed-since: {revision!r} is no revision")
    here = Path.cwd()
    folders = dict.fromkeys([_repository(here), *sorted({_repository(file.resolve().parent) for file in files})])
    return {path: ranges for folder in folders for path, ranges in _changed_in(folder, revision).items()}


def _repository(folder: Path) -> Path:
    """The innermost repository around a folder, the folder itself where there is none."""
    return next((above for above in (folder, *folder.parents) if (above / ".git").exists()), folder)


def _changed_in(folder: Path, revision: str) -> Mapping[Path, tuple[range, ...]]:
    root = Path(_git(folder, "rev-parse", "--show-toplevel").removesuffix("\n"))
    base = _git(folder, "merge-base", revision, "HEAD").strip()
    listed = _git(folder, "diff", *DIFF, base)
    changed: dict[Path, list[range]] = {}
    ranges: list[range] = []
    header = True
    for line in listed.split("\n"):
        if line.startswith("diff --git "):
            header = True
        elif header and line.startswith("+++ "):
            ranges = changed.setdefault(root / _unquoted(line[4:].rstrip("\t")), [])
        elif (hunk := HUNK.match(line)) is not None:
            header = False  # a line that begins with `++ ` looks like a file's name in what follows
            start, count = int(hunk[1]), int(hunk[2] or 1)
            ranges.append(range(start, start + max(count, 1)))
    for name in _git(folder, "ls-files", "--others", "--exclude-standard", "-z", "--full-name", str(root)).split("\0"):
        if name:
            changed[root / name] = [range(1, 1 << 30)]
    return {path: tuple(found) for path, found in changed.items()}


def touches(span: Span, changed: Mapping[Path, tuple[range, ...]]) -> bool:
    """Whether a finding stands on a changed line; in a notebook any change of the file counts."""
    ranges = changed.get((Path.cwd() / span.path).resolve(), ())
    if span.cell is not None:
        return bool(ranges)
    return any(found.start <= span.end_line and span.line < found.stop for found in ranges)


def _unquoted(name: str) -> str:
    """git writes names with quotes or other alphabets in C's manner."""
    if not name.startswith('"'):
        return name
    return name[1:-1].encode().decode("unicode_escape").encode("latin-1").decode("utf-8", errors="surrogateescape")


def _git(folder: Path, *arguments: str) -> str:
    command = ["git", "-C", str(folder), *arguments]
    try:
        done = subprocess.run(command, capture_output=True, check=True)
    except FileNotFoundError:
        raise ChangedError("--changed-since needs git, which is not installed") from None
    except subprocess.CalledProcessError as error:
        said = error.stderr.decode(errors="replace").strip() or NO_ANCESTOR
        raise ChangedError(f"--changed-since: {said.splitlines()[0]} (in {os.path.relpath(folder)})") from None
    return done.stdout.decode("utf-8", errors="surrogateescape")
