"""Content-addressed store of IR in the user's cache folder: same bytes, tool and Python → the same entry.

An entry is a BLAKE2 digest followed by `marshal` data; an entry that does not match its digest is dropped and made
again, and a folder that cannot be written only costs time.
"""

from __future__ import annotations

import contextlib
import hashlib
import marshal
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import cast

from .ir import Block

FORMAT = 3
MOST = 512 << 20
"""Bytes that the folder may hold."""
DIGEST_SIZE = 16


class SummaryCache:
    """Reads and writes entries below `folder`."""

    def __init__(self, folder: Path, tool_version: str) -> None:
        self._folder = folder
        self._salt = f"{tool_version}|{FORMAT}|{sys.version_info[:3]}|{sys.implementation.name}".encode()

    def load(self, source: bytes) -> Block | None:
        """The entry for these bytes; None where there is none or it is damaged."""
        try:
            data = self._path(source).read_bytes()
        except OSError:
            return None
        payload = data[DIGEST_SIZE:]
        if data[:DIGEST_SIZE] != _digest(payload):
            return None
        return cast(Block, marshal.loads(payload))

    def store(self, source: bytes, body: Block) -> None:
        """Write the entry atomically; a full or read-only disk is not an error."""
        try:
            payload = marshal.dumps(body)
        except ValueError:  # nested deeper than marshal allows
            return
        path = self._path(source)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as file:
                file.write(_digest(payload) + payload)
            Path(file.name).replace(path)
        except OSError:
            return

    def _path(self, source: bytes) -> Path:
        key = hashlib.blake2b(source, digest_size=DIGEST_SIZE, key=self._salt[:64]).hexdigest()
        return self._folder / key[:2] / key[2:]


def cache_folder() -> Path:
    """Where things are kept between runs, a folder a kind."""
    import platformdirs

    return Path(platformdirs.user_cache_dir("fullgraph", appauthor=False))


def prune(folder: Path, most: int = MOST) -> None:
    """Delete the files written longest ago, as many as `folder` holds more than `most` bytes; other runs may be at it
    too.
    """
    files = [(state.st_mtime_ns, state.st_size, file) for file, state in files_in(folder)]
    excess = sum(size for _, size, _ in files) - most
    for _, size, file in sorted(files):
        if excess <= 0:
            return
        with contextlib.suppress(OSError):
            file.unlink()
        excess -= size


def files_in(folder: Path) -> Iterator[tuple[Path, os.stat_result]]:
    """The files below a folder that are there to be looked at."""
    for file in folder.rglob("*"):
        with contextlib.suppress(OSError):
            if file.is_file():
                yield file, file.stat()


def _digest(payload: bytes) -> bytes:
    return hashlib.blake2b(payload, digest_size=DIGEST_SIZE).digest()
