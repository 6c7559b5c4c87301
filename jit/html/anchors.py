"""The names by which one part of the page links to another."""

from __future__ import annotations

import re
from collections import Counter


class Anchors:
    """Hands out ids, each once; what belongs to one of several targets begins with the target's number."""

    def __init__(self, prefix: str = "") -> None:
        self._prefix = prefix
        self._used = Counter[str]()
        self._numbers = Counter[str]()
        self._known: dict[tuple[str, object], str] = {}
        self._lines: dict[str, tuple[str, frozenset[int]]] = {}

    def new(self, kind: str, name: object = "", of: object = None) -> str:
        """`frame` and `0/1` give `frame-0-1`; it can be asked for by the kind and what it is of, or the name."""
        base = self._prefix + re.sub(r"[^0-9A-Za-z]+", "-", f"{kind} {name}").strip("-")
        self._used[base] += 1
        anchor = base if self._used[base] == 1 else f"{base}_{self._used[base]}"
        self._known.setdefault((kind, name if of is None else of), anchor)
        return anchor

    def numbered(self, kind: str, of: object = None) -> str:
        """`finding-1`, `finding-2` and so on."""
        self._numbers[kind] += 1
        return self.new(kind, self._numbers[kind], of)

    def show(self, path: str, anchor: str, lines: frozenset[int]) -> None:
        """These lines of the file have ids."""
        self._lines[path] = (anchor, lines)

    def of(self, kind: str, key: object) -> str | None:
        """Where something is told of, if it is."""
        return self._known.get((kind, key))

    def frame(self, frame: str) -> str | None:
        """An id without its recompile number stands for the first compilation."""
        return self.of("frame", frame) or self.of("frame", f"{frame}/0")

    def line(self, path: str, line: int) -> str | None:
        """Where a line of source is shown, if it is."""
        anchor, lines = self._lines.get(path, ("", frozenset()))
        return f"{anchor}-{line}" if line in lines else None
