"""What source files hold for those who judge a run: a program may delete its own, and may have been shown others."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from .targets import Target
from .verify import read_source


@dataclass(frozen=True, slots=True)
class Kept:
    """By absolute path; what is on disk counts for as long as it is there, unless something else is shown."""

    _contents: dict[Path, bytes]
    _shown: Mapping[Path, bytes] = field(default_factory=dict)

    @classmethod
    def of(cls, targets: Iterable[Target]) -> Kept:
        contents = {}
        for path in {target.path for target in targets}:
            with contextlib.suppress(OSError):  # running it will tell
                contents[path] = path.read_bytes()
        return cls(contents)

    def showing(self, contents: Mapping[str, bytes]) -> Kept:
        """With other contents for files, by absolute path."""
        return replace(self, _shown={Path(path): data for path, data in contents.items()})

    @property
    def contents(self) -> dict[str, bytes]:
        """What counts instead of what is on disk."""
        gone = {path: data for path, data in self._contents.items() if not path.is_file()}
        return {str(path): data for path, data in {**gone, **self._shown}.items()}

    def has(self, path: str) -> bool:
        return Path(path).is_file() or Path(path).absolute() in self._contents

    def read(self, path: str) -> str:
        """Raises OSError or ValueError if it is gone or no text."""
        own = Path(os.path.abspath(path))  # noqa: PTH100  (links stay as they are written)
        data = self._shown.get(own) or (None if own.is_file() else self._contents.get(own))
        return read_source(path) if data is None else data.decode()
