"""Checks in a thread of their own, one at a time: what is asked while one runs is answered by the next, which sees the
newest text. The event loop never waits for the linter.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from queue import SimpleQueue
from threading import Thread
from typing import TypeVar, cast

from .checked import SYNTAX, Checked
from .documents import Documents
from .text import Text
from .workspace import Workspace

T = TypeVar("T")


class Checker:
    """`told` are the files whose state the linter knows; what has changed since is told before the next check."""

    def __init__(self, documents: Documents) -> None:
        self.workspace = Workspace()
        self._documents = documents
        self._work: SimpleQueue[Callable[[], None]] = SimpleQueue()
        # A daemon: the server ends when it is told to, whatever is being checked.
        Thread(target=self._serve, name="check", daemon=True).start()
        self._changed: set[str] = set()
        self._next: dict[tuple[str, bool], asyncio.Task[Checked]] = {}
        """Checks that have not begun."""
        self._last: dict[str, Checked] = {}
        self._free = asyncio.Lock()

    def changed(self, path: str) -> None:
        """The file is no longer what the linter was told."""
        self._changed.add(path)

    def knows(self, path: str) -> bool:
        """Whether the linter was told what the file is now."""
        return path not in self._changed

    def forget(self, path: str) -> None:
        """The file is closed."""
        self._last.pop(path, None)

    def last(self, path: str) -> Checked | None:
        """What the newest finished check said, moved to the text of now."""
        checked = self._last.get(path)
        return None if checked is None else checked.at(self._lines(path))

    async def with_fixes(self, path: str) -> Checked:
        """What is found in the text of now, and how to mend it."""
        checked = self._last.get(path)
        if checked is not None and checked.fixes and self.knows(path):
            return checked
        return await self.check(path, fixes=True)

    async def check(self, path: str, fixes: bool = False) -> Checked:
        """What a check that sees the text of now says. Raises click.UsageError for settings that are wrong."""
        key = (path, fixes)
        if key not in self._next:
            self._next[key] = asyncio.create_task(self._checked(path, fixes))
        # Who gives up waiting does not take the answer from the others.
        return await asyncio.shield(self._next[key])

    async def alone(self, work: Callable[[Workspace], T]) -> T:
        """Have the linter do something else between checks."""
        async with self._free:
            return await self._in_thread(work)

    async def _checked(self, path: str, fixes: bool) -> Checked:
        async with self._free:
            del self._next[path, fixes]
            text, before = self._text(path), self._last.get(path)
            checked = await self._in_thread(lambda workspace: _check(workspace, path, text, fixes, before))
            self._last[path] = checked
            return checked

    async def _in_thread(self, work: Callable[[Workspace], T]) -> T:
        news = {path: self._documents.content(path) for path in self._changed}
        self._changed.clear()

        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()

        def answer(result: T | None, error: Exception | None) -> None:
            if future.done():
                return  # nobody waits any more
            if error is not None:
                future.set_exception(error)
            else:
                future.set_result(cast("T", result))

        def informed() -> None:
            result, problem = None, None
            try:
                for path, content in news.items():
                    self.workspace.update(path, content)
                result = work(self.workspace)
            except Exception as error:  # whatever it is, the next check is to run
                problem = error
            loop.call_soon_threadsafe(answer, result, problem)

        self._work.put(informed)
        return await future

    def _serve(self) -> None:
        while True:
            self._work.get()()

    def _text(self, path: str) -> Text | None:
        """None for a notebook, whose cells are texts of their own."""
        return self._documents.text(path) if path.endswith(".py") else None

    def _lines(self, path: str) -> list[str]:
        text = self._text(path)
        return [] if text is None else text.lines


def _check(workspace: Workspace, path: str, text: Text | None, fixes: bool, before: Checked | None) -> Checked:
    config = workspace.config(path)
    report = workspace.report(path, fixes)
    findings = tuple(finding for finding in report.findings if finding.span.path == path)
    if text is None:
        return Checked(path, (), findings, report.entries, config=config, fixes=fixes)
    broken = any(finding.code == SYNTAX for finding in findings)
    checked = Checked(path, text.lines, findings, report.entries, broken=broken, config=config, fixes=fixes)
    return checked.after(Checked(path, text.lines) if before is None else before.at(text.lines))
