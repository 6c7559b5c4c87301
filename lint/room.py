"""Room for deep recursion. CPython keeps the frames of Python functions in chunks of 16 KiB, and maps a chunk whenever
a call does not fit into the last one and unmaps it on return: where a recursion goes to and fro across the end of a
chunk, that took a tenth of the time of a check. A frame that needs more gets a chunk as large as it needs, rounded up
to a power of two, and those of the functions that it calls take what is left over.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")
SLOTS = 1 << 18
"""Of eight bytes each: with the frame's own head that is just over 2 MiB, which leaves the rest of 4 MiB to others."""


def with_room(work: Callable[[], T]) -> T:
    """What `work` gives, called where some ten thousand frames fit into one chunk."""
    return work()


with_room.__code__ = with_room.__code__.replace(co_stacksize=SLOTS)
