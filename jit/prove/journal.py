"""What has been seen already: a file of lines, one a task, so that a run that was interrupted goes on where it was."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable
from pathlib import Path

from fullgraph.rules import __version__

from .pool import Version
from .tasks import Seen, Task


class Journal:
    """Of one version of torch and of Python. Only ever appended to; half a line at its end is of a run that died."""

    def __init__(self, folder: Path, version: Version) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._path = folder / f"torch-{version.torch}-py{version.python}-{__version__}.jsonl"
        self._known: dict[str, str] = {}
        if self._path.is_file():
            for line in self._path.read_text(encoding="utf-8").splitlines():
                with contextlib.suppress(ValueError):
                    key, seen = json.loads(line)
                    self._known[key] = seen

    def clear(self) -> None:
        self._known.clear()
        self._path.unlink(missing_ok=True)

    def asking(self, ask: Callable[[Task], Seen]) -> Callable[[Task], Seen]:
        """Asks only what has not been answered."""

        def recall(task: Task) -> Seen:
            if (known := self._known.get(task.digest)) is not None:
                return Seen.decoded(known)
            seen = ask(task)
            with self._path.open("a", encoding="utf-8") as file:
                file.write(json.dumps([task.digest, seen.encoded()]) + "\n")
            return seen

        return recall
