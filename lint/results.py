"""The parts that a check is made of: a `Task` for a file, and the `Result` of doing it."""

from __future__ import annotations

import zlib
from collections.abc import Iterable
from enum import Enum
from typing import NamedTuple

import msgspec
from msgspec import Struct

from .emission import Emission
from .findings import Entry
from .summary import SyntaxProblem

_DECODER = msgspec.msgpack.Decoder(tuple[Emission, ...])


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

    packed: bytes | tuple[Emission, ...] = b""
    """The emissions, which most checks only pass on: many ways lead to one line, so they shrink to a tenth."""
    entries: tuple[Entry, ...] = ()
    """Paths are absolute."""
    active: bool = False
    """The file makes or calls compiled code."""

    @property
    def emissions(self) -> tuple[Emission, ...]:
        if isinstance(self.packed, tuple):
            return self.packed
        return _DECODER.decode(zlib.decompress(self.packed)) if self.packed else ()


def packed(emissions: Iterable[Emission]) -> bytes | tuple[Emission, ...]:
    """Emissions as a `Result` keeps them."""
    found = tuple(emissions)
    try:
        return zlib.compress(msgspec.msgpack.encode(found), level=1) if found else b""
    except UnicodeEncodeError:
        return found  # a file name that is no text


class Done(NamedTuple):
    """What a process did and learned since it last told."""

    results: tuple[tuple[Task, Result], ...]
    asked: dict[str, set[str]]
    parsed: dict[str, SyntaxProblem | None]
    """The files that were loaded, and why one could not be parsed."""


def entry_order(entry: Entry) -> tuple[str, str, str]:
    return (entry.path, entry.qualname, entry.how)
