"""What the targets' own files held before they ran: a program may delete its own, and is judged all the same."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from .targets import Target
from .verify import read_source


@dataclass(frozen=True, slots=True)
class Kept:
    """By absolute path; what is on disk counts for as long as it is there."""

    _contents: dict[Path, bytes]

    @classmethod
    def of(cls, targets: Iterable[Target]) -> Kept:
        contents = {}
        for path in {target.path for target in targets}:
            with contextlib.suppress(OSError):  # running it will tell
                contents[path] = path.read_bytes()
        return cls(contents)

    @property
    def gone(self) -> dict[str, bytes]:
        return {str(path): data for path, data in self._contents.items() if not path.is_file()}

    def has(self, path: str) -> bool:
        return Path(path).is_file() or Path(path).absolute() in self._contents

    def read(self, path: str) -> str:
        """Raises OSError or ValueError if it is gone or no text."""
        data = None if Path(path).is_file() else self._contents.get(Path(path).absolute())
        return read_source(path) if data is None else data.decode()
