"""Counts the calls of compiled functions, up to a limit."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from torch._dynamo import eval_frame


@contextlib.contextmanager
def counted(limit: int, exceeded: Callable[[], None]) -> Iterator[None]:
    """Tell of every call that is one too many, before it begins."""
    original = eval_frame._callback_from_stance
    begun = itertools.count(1)

    def callback_from_stance(callback: Any) -> Any:
        # Every compiled function asks this when it is called; what is not to be compiled asks with something else.
        if callable(callback) and next(begun) > limit:
            exceeded()
        return original(callback)

    eval_frame._callback_from_stance = callback_from_stance
    try:
        yield
    finally:
        eval_frame._callback_from_stance = original


class Enough(BaseException):
    """Unwinds the program; not an Exception, which programs catch."""


@dataclass
class Calls:
    """How many calls are allowed, and whether one more was refused."""

    limit: int | None
    stopped: bool = False

    def refuse(self) -> None:
        self.stopped = True
        raise Enough


@contextlib.contextmanager
def limited(limit: int | None) -> Iterator[Calls]:
    """Refuse the call of a compiled function that is one too many."""
    calls = Calls(limit)
    with counted(limit, calls.refuse) if limit is not None else contextlib.nullcontext():
        yield calls
