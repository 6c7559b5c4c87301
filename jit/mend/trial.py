"""What a run of a program with changed files is to do, and what it tells: never imports torch."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

OTHERS = "other inputs"
GRADIENTS = "inputs with gradients"
"""Labels of the calls that nobody asked for, see `others`."""


@dataclass(frozen=True, slots=True)
class Trial:
    """A run whose behaviour is kept in a file, or held against that of another run."""

    contents: tuple[tuple[str, bytes], ...]
    """Absolute paths of source files, and what the program is to find there."""
    eager: bool
    """Compiled functions run as they are written."""
    record: Path | None = None
    """Where to keep what the run does."""
    against: Path | None = None
    """The record of another run to compare with: to the last bit where this one is eager too."""
    others: bool = True
    """Call an object with other inputs too than are asked for."""
    lines: bool = False
    """Tell which lines of first-party files are executed."""
    unsteady: tuple[str, ...] = ()
    """Variables of modules that are not compared."""
    watched: tuple[tuple[str, str], ...] = ()
    """Path and qualified name of functions whose calls are kept, though they are compiled no longer."""


@dataclass(frozen=True, slots=True)
class Executed:
    """Lines of one file that the program ran."""

    path: str
    lines: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Difference:
    """What another run did otherwise."""

    text: str
    variable: str | None = None
    """Of a module, which may hold times and the like."""


@dataclass(frozen=True, slots=True)
class Compared:
    """How a run held against another one came out: differences, one of a kind, in their order."""

    calls: int
    """Of compiled functions."""
    inputs: int
    """How many of them had other arguments than those before."""
    differences: tuple[Difference, ...]
    largest: float | None
    """The largest absolute difference of what the calls return or change; None if no numbers were compared."""
    largest_gradient: float | None
    step_s: float | None
    """The quickest call for which nothing was compiled."""
