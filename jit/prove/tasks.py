"""What the interpreter that has the torch in question is asked to run, and what it answers. Standard library only."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from enum import Enum


class Mode(str, Enum):
    """How a task's `torch.compile` calls behave."""

    DEFAULT = "default"
    FULLGRAPH = "fullgraph"
    EAGER = "eager"


@dataclass(frozen=True, slots=True)
class Task:
    """A program, and expressions or statements to evaluate after it; `prelude` has run in that process before."""

    code: str
    run: tuple[str, ...]
    mode: Mode = Mode.DEFAULT
    prelude: str = ""

    @property
    def digest(self) -> str:
        return hashlib.blake2b(json.dumps(asdict(self)).encode(), digest_size=12).hexdigest()


@dataclass(frozen=True, slots=True)
class BreakAt:
    """A break, by the line of the program; `gb` is the id, or the type where there is none."""

    line: int
    gb: str
    skipped: bool


@dataclass(frozen=True, slots=True)
class Seen:
    """What happened while a task ran."""

    breaks: tuple[BreakAt, ...] = ()
    recompiles: int = 0
    """The most that any one function was compiled again."""
    results: tuple[str, ...] = ()
    """Of the expressions run, as text."""
    error: str = ""
    """The type of the exception that ended it."""
    detail: str = ""
    """The first line of that exception's message."""
    end: str = ""
    """How the process ended if it did not do so well: `hung`, or `crashed` and the signal."""

    @classmethod
    def decoded(cls, text: str) -> Seen:
        data = json.loads(text)
        return cls(
            **data | {"breaks": tuple(BreakAt(**item) for item in data["breaks"]), "results": tuple(data["results"])}
        )

    def encoded(self) -> str:
        return json.dumps(asdict(self))
