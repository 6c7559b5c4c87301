"""What a run of a program with changed files is to do, and what it tells: never imports torch."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

OTHERS = "other inputs"
GRADIENTS = "inputs with gradients"
"""Labels of the calls that nobody asked for, see `others`."""


@dataclass(frozen=True, slots=True)
class Released:
    """A function that a decorator compiled, or in it a module, by the text that stands for it."""

    path: str
    function: str
    """The qualified name; empty at module level."""
    module: str = ""


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
    watched: tuple[Released, ...] = ()
    """What is compiled as a whole no longer, and whose calls are kept all the same."""


@dataclass(frozen=True, slots=True)
class Executed:
    """Lines of one file that the program ran."""

    path: str
    lines: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Kind:
    """A class of modules."""

    holds: str
    """How to come by the modules in it: `list` and `dict` as one does with these, else by their names."""
    runs: bool
    """Its `forward` is not one of torch's, which Dynamo does not compile by itself."""
    functions: tuple[tuple[str, int, int], ...]
    """Path, first and last line of each that it defines, and of its `forward`; torch's own have none."""


@dataclass(frozen=True, slots=True)
class Composition:
    """A module that is compiled, the line that does so, and what it is made of."""

    path: str
    line: int
    kinds: tuple[Kind, ...]
    modules: tuple[tuple[str, int], ...]
    """Dotted names in it, its own being empty, and the positions of their kinds."""


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
    elements: int = 0
    """Of all results in the graphs that ran, counted each time, in the calls that the program made itself."""
