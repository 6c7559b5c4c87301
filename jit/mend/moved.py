"""Which line of an older version of a file a line is, if it is unchanged."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import SequenceMatcher


def moved(old: bytes, new: bytes) -> dict[int, int]:
    """Lines of `new` that stand in `old` too → their lines there."""
    matcher = SequenceMatcher(None, old.splitlines(), new.splitlines(), autojunk=False)
    return {
        block.b + offset + 1: block.a + offset + 1
        for block in matcher.get_matching_blocks()
        for offset in range(block.size)
    }


class Moves:
    """Of all files of one version."""

    def __init__(self, old: Mapping[str, bytes], new: Mapping[str, bytes]) -> None:
        self._moved = {path: moved(old[path], new[path]) for path in new if old.get(path) != new[path] and path in old}

    def line(self, path: str, line: int) -> int | None:
        """`path` is absolute; None where the line is new or changed."""
        return self._moved[path].get(line) if path in self._moved else line
