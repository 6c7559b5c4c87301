"""Native code of regions kept between processes: what the compiler would make of a region → what it made of it before;
and of whole graphs how they are split into regions.

An entry is found by all that decides it: the region, its signature, the lowering's own code, the versions of Python,
torch and torch-mlir, and the processor. It is code that will run, so that only a folder that nobody else can write is
trusted, and an entry that does not match its digest is dropped. Beside the code of a region may lie a verdict: that it
agreed with eager, or that it differed and is not to run again; and beside that of a product, how it was timed.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.metadata
import os
import stat
import sys
import tempfile
from functools import cache
from pathlib import Path

from fullgraph.lint.cache import cache_folder, prune
from fullgraph.rules import __version__

from .lower.signature import Artifact, Signature

DIGEST_SIZE = 32
MOST = 1 << 30
"""Bytes that the folder may hold; what was used longest ago goes first."""
PRUNED_EVERY = 64
"""Entries written by one process between two looks at how much there is."""
PROCESSOR = ("model name", "flags")
AGREES, DIFFERS, TIMED, PLAN = ".agrees", ".differs", ".timed", ".plan"


class ObjectCache:
    """Reads and writes entries below `folder`, by default in the user's cache folder. Nothing here raises."""

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder or cache_folder() / "objects"
        self._written = 0

    @property
    def is_empty(self) -> bool:
        """Whether nothing was kept yet, so that whatever comes has to be compiled."""
        with contextlib.suppress(OSError):
            return next(self._folder.iterdir(), None) is None
        return True

    def load(self, text: str, signature: Signature) -> Artifact | None:
        """The region's code; None where there is none, or none that can be trusted."""
        if (payload := self._read(self._path(text, signature))) is None:
            return None
        entry, _, code = payload.partition(b"\n")
        return Artifact(code, entry.decode())

    def store(self, text: str, signature: Signature, artifact: Artifact) -> None:
        self._write(self._path(text, signature), artifact.entry.encode() + b"\n" + artifact.code)

    def verdict(self, text: str, signature: Signature) -> str | None:
        """Why the region's code is not to run, as `condemn` was told; None if it may."""
        payload = self._read(self._path(text, signature).with_suffix(DIFFERS))
        return None if payload is None else payload.decode()

    def condemn(self, text: str, signature: Signature, reason: str) -> None:
        self._write(self._path(text, signature).with_suffix(DIFFERS), reason.encode())

    def has_agreed(self, text: str, signature: Signature) -> bool:
        """Whether `approve` was told of the region."""
        return self._read(self._path(text, signature).with_suffix(AGREES)) is not None

    def approve(self, text: str, signature: Signature) -> None:
        self._write(self._path(text, signature).with_suffix(AGREES), b"")

    def timing(self, text: str, signature: Signature, threads: int) -> str | None:
        """What `keep_timing` was told of the region on so many threads."""
        payload = self._read(self._path(text, signature).with_suffix(f"{TIMED}{threads}"))
        return None if payload is None else payload.decode()

    def keep_timing(self, text: str, signature: Signature, threads: int, timing: str) -> None:
        self._write(self._path(text, signature).with_suffix(f"{TIMED}{threads}"), timing.encode())

    def plan(self, graph: str) -> bytes | None:
        """What `keep_plan` was told of the graph."""
        return self._read(self._path(graph).with_suffix(PLAN))

    def keep_plan(self, graph: str, plan: bytes) -> None:
        self._write(self._path(graph).with_suffix(PLAN), plan)

    def _read(self, path: Path) -> bytes | None:
        try:
            if not _is_private(self._folder):
                return None
            data = path.read_bytes()
            digest, payload = data[:DIGEST_SIZE], data[DIGEST_SIZE:]
            if _digest(payload) != digest:
                path.unlink(missing_ok=True)
                return None
            with contextlib.suppress(OSError):  # a disk that can only be read
                os.utime(path)  # used, and so the last to be dropped
        except OSError:
            return None
        return payload

    def _write(self, path: Path, payload: bytes) -> None:
        """Write the entry whole or not at all; a full or read-only disk only costs time."""
        with contextlib.suppress(OSError):
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            if not _is_private(self._folder):
                return
            path.parent.mkdir(mode=0o700, exist_ok=True)
            with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as file:
                try:
                    file.write(_digest(payload) + payload)
                    file.close()
                    Path(file.name).replace(path)
                except OSError:
                    Path(file.name).unlink(missing_ok=True)
                    return
            self._written += 1
            if self._written % PRUNED_EVERY == 1:
                prune(self._folder, MOST)

    def _path(self, text: str, signature: Signature | None = None) -> Path:
        key = hashlib.blake2b(f"{_surroundings()}\n{signature}\n{text}".encode(), digest_size=16).hexdigest()
        return self._folder / key[:2] / key[2:]


def _is_private(folder: Path) -> bool:
    """Whether the folder is this user's, and nobody else may put code into it."""
    state = folder.stat()
    return state.st_uid == os.geteuid() and not state.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


@cache
def _surroundings() -> str:
    """All that decides what becomes of a region beside the region."""
    versions = [importlib.metadata.version(name) for name in ("torch", "torch-mlir")]
    return "\n".join((__version__, sys.version, *versions, _lowering(), *_processor()))


def _lowering() -> str:
    """The digest of the code that lowers, and of the table that it reads."""
    files = sorted(file for file in (Path(__file__).parent / "lower").rglob("*") if file.suffix in (".py", ".json"))
    return hashlib.blake2b(b"".join(_digest(file.read_bytes()) for file in files)).hexdigest()


def _processor() -> tuple[str, ...]:
    """What the first processor is and can do: code is made for this one."""
    try:
        lines = Path("/proc/cpuinfo").read_text(errors="replace").partition("\n\n")[0].splitlines()
    except OSError:
        return ()
    return tuple(line for line in lines if line.startswith(PROCESSOR))


def _digest(payload: bytes) -> bytes:
    return hashlib.blake2b(payload, digest_size=DIGEST_SIZE).digest()
