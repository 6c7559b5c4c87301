"""Answers worked out once, with the parts of edited files that they rest on, so that an edit takes away those alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

K = TypeVar("K")
V = TypeVar("V")


class Table(dict[K, V]):
    """`rests` has the bits of the code that an answer was drawn from; most answers rest on nothing that changes."""

    __slots__ = ("rests",)

    def __init__(self) -> None:
        super().__init__()
        self.rests: dict[K, int] = {}

    def add(self, key: K, rests: int) -> None:
        """The answer rests on these too."""
        if rests:
            self.rests[key] = self.rests.get(key, 0) | rests

    def drop(self, mask: int) -> None:
        """Forget what rests on any of these."""
        for key in [key for key, rests in self.rests.items() if rests & mask]:
            del self.rests[key]
            self.pop(key, None)


class Tracker:
    """Collects what is read while an answer is worked out."""

    def __init__(self) -> None:
        self.rests = 0

    def once(self, table: Table[K, V], key: K, work: Callable[[], V], meanwhile: V | None = None) -> V:
        """The answer kept for `key`, else that of `work`; one that asks for itself gets `meanwhile`."""
        held = table.get(key)
        if held is not None:
            if table.rests:
                self.rests |= table.rests.get(key, 0)
            return held
        outer, self.rests = self.rests, 0
        if meanwhile is not None:
            table[key] = meanwhile
        table[key] = held = work()
        if self.rests:
            table.rests[key] = self.rests
        self.rests |= outer
        return held
