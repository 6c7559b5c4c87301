"""Shows diagnostics without being asked, to clients that don't ask: of the file edited last first, then, when all is
quiet, of the other open ones, which may rest on it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable

QUIET_S = 0.5


class Publisher:
    def __init__(self, show: Callable[[str], Awaitable[None]]) -> None:
        self._show = show
        self._edited: dict[str, None] = {}
        self._others: dict[str, None] = {}
        self._news = asyncio.Event()

    def edited(self, path: str, others: Iterable[str]) -> None:
        """The file, and the others that are open."""
        self._edited.pop(path, None)
        self._edited[path] = None
        self.stale(other for other in others if other != path)

    def stale(self, paths: Iterable[str]) -> None:
        self._others |= dict.fromkeys(paths)
        self._news.set()

    async def run(self) -> None:
        while True:
            if self._edited:
                path, _ = self._edited.popitem()
                await self._show(path)
            elif await self._is_quiet() and self._others:
                path, _ = self._others.popitem()
                await self._show(path)

    async def _is_quiet(self) -> bool:
        """False where something was edited meanwhile."""
        self._news.clear()
        try:
            await asyncio.wait_for(self._news.wait(), QUIET_S if self._others else None)
        except TimeoutError:
            return True
        return False
