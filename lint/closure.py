"""Which files a result rests on: the import graph as far as it was followed becomes one digest for each file."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable

DIGEST_SIZE = 16
NEW = -1


class Closure:
    """Digests of files together with everything they import, directly or not.

    `content` gives a file's own digest, `imports` the paths it imports. Files that import each other share a digest.
    """

    def __init__(self, content: Callable[[str], bytes], imports: Callable[[str], Iterable[str]]) -> None:
        self._content = content
        self._imports = imports
        self._digests: dict[str, bytes] = {}

    def digest(self, path: str) -> bytes:
        if path not in self._digests:
            self._visit(path)
        return self._digests[path]

    def _visit(self, start: str) -> None:
        """Tarjan's strongly connected components, without recursion: chains of imports may be thousands long."""
        order: dict[str, int] = {}
        low: dict[str, int] = {}
        open_: list[str] = []
        edges: dict[str, list[str]] = {}
        work: list[tuple[str, int]] = [(start, NEW)]
        while work:
            path, position = work.pop()
            if position == NEW:
                order[path] = low[path] = len(order)
                open_.append(path)
                edges[path] = sorted(self._imports(path))
            for index in range(max(position, 0), len(edges[path])):
                target = edges[path][index]
                if target in self._digests:
                    continue
                if target not in order:
                    work += [(path, index), (target, NEW)]
                    break
                low[path] = min(low[path], low[target])
            else:
                if low[path] == order[path]:
                    self._close(open_, path, edges)

    def _close(self, open_: list[str], root: str, edges: dict[str, list[str]]) -> None:
        """The component above `root` on the stack is complete."""
        at = open_.index(root)
        members = sorted(open_[at:])
        del open_[at:]
        inside = set(members)
        beyond = {self._digests[target] for path in members for target in edges[path] if target not in inside}
        whole = hashlib.blake2b(digest_size=DIGEST_SIZE)
        for part in (*[os.fsencode(path) + self._content(path) for path in members], *sorted(beyond)):
            whole.update(part)
        for path in members:
            self._digests[path] = whole.digest()
