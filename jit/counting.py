"""Ends a program after so many calls of compiled functions."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from torch._dynamo import eval_frame


class Enough(BaseException):
    """Unwinds the program; not an Exception, which programs catch."""


@dataclass
class Calls:
    """How many calls were begun, and whether the next one was refused."""

    limit: int | None
    begun: int = 0
    stopped: bool = False

    def begin(self) -> None:
        if self.begun == self.limit:
            self.stopped = True
            raise Enough
        self.begun += 1


@contextlib.contextmanager
def limited(limit: int | None) -> Iterator[Calls]:
    """Refuse the call of a compiled function that is one too many."""
    calls = Calls(limit)
    if limit is None:
        yield calls
        return
    original = eval_frame._callback_from_stance

    def callback_from_stance(callback: Any) -> Any:
        # Every compiled function asks this when it is called; what is not to be compiled asks with something else.
        if callable(callback):
            calls.begin()
        return original(callback)

    eval_frame._callback_from_stance = callback_from_stance
    try:
        yield calls
    finally:
        eval_frame._callback_from_stance = original
