"""Says on stderr how far long work has come, if somebody looks; work that takes no time says nothing."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

PATIENCE_S = 1.0
INTERVAL_S = 0.2


@contextmanager
def progress(verb: str, noun: str) -> Iterator[Callable[[int, int], None]]:
    """Gives what is to be called with how many are done, and of how many; the line vanishes in the end."""
    due = time.monotonic() + PATIENCE_S
    told = False

    def advance(done: int, total: int) -> None:
        nonlocal due, told
        if sys.stderr.isatty() and time.monotonic() >= due:
            due, told = time.monotonic() + INTERVAL_S, True
            sys.stderr.write(f"\r{verb} {done} of {total} {noun}\x1b[K")
            sys.stderr.flush()

    try:
        yield advance
    finally:
        if told:
            sys.stderr.write("\r\x1b[K")
