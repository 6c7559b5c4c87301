"""The parts that a check is made of: a `Task` for a file, and the `Result` of doing it."""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple

from msgspec import Struct

from .emission import Emission
from .findings import Entry
from .summary import SyntaxProblem


class Kind(str, Enum):
    """What is to be done with a file."""

    FIND = "find"
    """Follow what it makes and calls of compiled code."""
    FORWARD = "forward"
    """Take every `nn.Module.forward` in it for compiled."""
    ALL = "all"
    """Take every function in it for compiled."""
    PARSE = "parse"
    """Only see whether it can be parsed."""


class Task(NamedTuple):
    kind: Kind
    path: str

    @property
    def name(self) -> str:
        return f"{self.kind.value} {self.path}"


class Result(Struct, frozen=True):
    """What one part of the check brought up."""

    emissions: tuple[Emission, ...] = ()
    entries: tuple[Entry, ...] = ()
    """Paths are absolute."""
    active: bool = False
    """The file makes or calls compiled code."""


class Done(NamedTuple):
    """What a process did and learned since it last told."""

    results: tuple[tuple[Task, Result], ...]
    asked: dict[str, set[str]]
    parsed: dict[str, SyntaxProblem | None]
    """The files that were loaded, and why one could not be parsed."""


def entry_order(entry: Entry) -> tuple[str, str, str]:
    return (entry.path, entry.qualname, entry.how)
