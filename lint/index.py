"""What is known of a project's files from earlier checks: their digests and what they import, and the finished results.

One file a project and settings in the user's cache folder, read whole and written atomically; a damaged one is made
again.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TypeVar

import msgspec
from msgspec import Struct

from .findings import CheckReport
from .results import Result
from .summary import SyntaxProblem

T = TypeVar("T")
DIGEST_SIZE = 16
SETTLED_NS = 2_000_000_000
"""A file written so shortly before it was looked at may have been written again under the same time stamp."""

LATEST = 8
"""How many reports are kept, and results of whole projects: each set of files asked about has its own."""


class FileRecord(Struct, frozen=True):
    """One file as it was when last looked at."""

    mtime_ns: int
    size: int
    digest: bytes
    torch: bool
    """It names torch: only then can it compile anything."""
    compiles: bool
    """It has the word `compile`, or may set a switch of Dynamo's."""
    unknown_codes: tuple[tuple[int, str], ...] = ()
    """Lines of ignore comments, and codes in them that no rule has."""
    suppresses: bool = False
    """It may have a suppression comment."""
    environment: tuple[str, ...] = ()
    """Environment variables that it sets, `*` for one whose name is not a literal."""
    imports: str = ""
    """The words of its import statements, with blanks between them."""
    generator: str = ""
    """The file that it says it is generated from."""
    problem: SyntaxProblem | None = None
    asked: tuple[str, ...] = ()
    """The dotted names of modules that were looked for on its behalf."""


class Kept(Struct, frozen=True):
    """A result and the digest of all that it rests on."""

    key: bytes
    result: Result


class Snapshot(Struct):
    written_ns: int = 0
    files: dict[str, FileRecord] = {}
    results: dict[str, Kept] = {}
    wholes: dict[bytes, Result] = {}
    """Results of all files together, the latest last."""
    reports: dict[bytes, msgspec.Raw] = {}
    """The latest last; of a large project they are the most of it, and a check needs one at most."""


Describe = Callable[[str, bytes, int], FileRecord]
"""Of a path, what the file holds, and its time stamp."""


class Index:
    """The snapshot in `file`, brought up to date file by file; with None nothing is remembered.

    Of what is `installed`, which changes as a whole if at all, the time stamp is enough. The files in `contents` are
    taken to hold that.
    """

    def __init__(
        self, file: Path | None, describe: Describe, installed: Callable[[str], bool], contents: Mapping[str, bytes]
    ) -> None:
        self._file = file
        self._contents = contents
        self._installed = installed
        self._describe = describe
        self._before = Snapshot() if file is None else _read(file)
        self._after = Snapshot(time.time_ns())
        self._changed = False

    def look(self, path: str) -> FileRecord:
        """The record of a file, made anew where the file has changed. Raises OSError where it can't be read."""
        if path not in self._after.files:
            self._after.files[path] = self._look(path)
        return self._after.files[path]

    def forget(self, path: str) -> None:
        """The file has changed."""
        self._after.files.pop(path, None)

    def _look(self, path: str) -> FileRecord:
        if path in self._contents:
            return self._describe(path, self._contents[path], 0)
        state = os.stat(path)
        if self._installed(path):
            return self._stamped(path, state)
        known = self._before.files.get(path)
        settled = known is not None and known.mtime_ns < self._before.written_ns - SETTLED_NS
        if known is not None and settled and (known.mtime_ns, known.size) == (state.st_mtime_ns, state.st_size):
            return known
        source = Path(path).read_bytes()
        if known is not None and known.digest == digest_of(source):
            return msgspec.structs.replace(known, mtime_ns=state.st_mtime_ns, size=state.st_size)
        self._changed = True
        return self._describe(path, source, state.st_mtime_ns)

    def _stamped(self, path: str, state: os.stat_result) -> FileRecord:
        stamp = digest_of(repr((state.st_mtime_ns, state.st_size)).encode())
        known = self._before.files.get(path)
        if known is not None and known.digest == stamp:
            return known
        self._changed = True
        return FileRecord(state.st_mtime_ns, state.st_size, stamp, torch=False, compiles=False)

    def note_asked(self, path: str, names: Iterable[str]) -> None:
        """`path` was seen to look for these modules too."""
        record = self._after.files.get(path)
        if record is not None and not set(names) <= set(record.asked):
            asked = tuple(sorted({*record.asked, *names}))
            self._after.files[path] = msgspec.structs.replace(record, asked=asked)
            self._changed = True

    def note_parsed(self, path: str, problem: SyntaxProblem | None) -> None:
        """`path` was parsed, or why it could not be."""
        record = self._after.files.get(path)
        if record is not None and record.problem != problem:
            self._after.files[path] = msgspec.structs.replace(record, problem=problem)
            self._changed = True

    def recall(self, name: str, key: bytes) -> Result | None:
        """The result kept under a name, if it still rests on the same."""
        kept = self._before.results.get(name)
        return kept.result if kept is not None and kept.key == key else None

    def keep(self, name: str, key: bytes, result: Result) -> None:
        self._after.results[name] = Kept(key, result)
        self._changed = self._changed or self._before.results.get(name) != self._after.results[name]

    def recall_whole(self, key: bytes) -> Result | None:
        return self._before.wholes.get(key)

    def keep_whole(self, key: bytes, result: Result) -> None:
        if self._before.wholes.get(key) != result:
            self._after.wholes = {**_latest(self._before.wholes), key: result}
            self._changed = True

    def recall_report(self, key: bytes) -> CheckReport | None:
        packed = self._before.reports.get(key)
        return None if packed is None else msgspec.msgpack.decode(packed, type=CheckReport)

    def keep_report(self, key: bytes, report: CheckReport) -> None:
        with contextlib.suppress(UnicodeEncodeError):  # a file name that is no text
            packed = msgspec.Raw(msgspec.msgpack.encode(report))
            self._after.reports = {**_latest(self._before.reports), key: packed}
            self._changed = True

    def save(self) -> None:
        """Write what this check knows, and what earlier ones knew of files it did not look at and that still exist."""
        if self._file is None or not self._changed:
            return
        self._after.reports = self._after.reports or self._before.reports
        self._after.wholes = self._after.wholes or self._before.wholes
        for path, record in self._before.files.items():
            if path not in self._after.files and os.path.exists(path):
                self._after.files[path] = record
        for name, kept in self._before.results.items():
            if name not in self._after.results and name.partition(" ")[2] in self._after.files:
                self._after.results[name] = kept
        # A full or read-only disk, or a file name that is no text, only costs time.
        with contextlib.suppress(OSError, UnicodeEncodeError):
            payload = msgspec.msgpack.encode(self._after)
            self._file.parent.mkdir(parents=True, exist_ok=True)
            with tempfile.NamedTemporaryFile(dir=self._file.parent, delete=False) as file:
                file.write(digest_of(payload) + payload)
            Path(file.name).replace(self._file)


def _latest(kept: dict[bytes, T]) -> dict[bytes, T]:
    """All but the oldest, if there is no room for another."""
    return dict(list(kept.items())[1 - LATEST :])


def digest_of(data: bytes) -> bytes:
    return hashlib.blake2b(data, digest_size=DIGEST_SIZE).digest()


def _read(file: Path) -> Snapshot:
    try:
        data = file.read_bytes()
        if data[:DIGEST_SIZE] == digest_of(data[DIGEST_SIZE:]):
            return msgspec.msgpack.decode(data[DIGEST_SIZE:], type=Snapshot)
    except (OSError, msgspec.DecodeError):
        pass
    return Snapshot()
