"""What Dynamo would guard on in each visible call of a compiled function, and which calls would compile again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from enum import Enum

from msgspec import Struct

from .ir import Span

LIMIT = 8
"""Recompiles of one function after which Dynamo gives up on it."""


class Kind(str, Enum):
    """What a guard is about."""

    BRANCH = "branch"
    """Which way a Python condition went."""
    VALUE = "value"
    """A Python value that the graph has fixed in it: a dimension, a key, a position in a list."""
    LENGTH = "length"
    """How many there are of something that is looped over or unpacked."""
    RANGE = "range"
    ATTRIBUTE = "attribute"
    """A Python value read from a module or a class."""
    COUNTER = "counter"
    """The same, changed by the compiled code itself."""
    GLOBAL = "global"
    INPUT = "input"
    """What kind of thing an argument is: its type, dtype, whether it is None."""
    MODE = "mode"
    """Gradients on or off."""
    MODULE = "module"
    """What the modules inside the compiled one are made of."""
    COMPILER = "compiler"
    """The backend, and the options it is given."""
    SIZES = "sizes"
    """Sizes and numbers that become symbolic once they have changed."""


class Place(Struct, frozen=True):
    """A line of the program. Paths are absolute."""

    path: str
    function: str
    span: Span


Number = tuple[str, int | float | None]
"""Where a number or a size comes from, and its value, None for one that is not known."""
MODE = "grad mode"
"""The input that says whether gradients are on."""
COMPILER = "compiler"
"""The input that says what compiles the code."""
GRADIENT = ".requires_grad"
"""What the inputs end in that say whether a tensor wants one."""


class Guard(Struct, frozen=True):
    kind: Kind
    place: Place
    value: object


class Called(Struct, frozen=True):
    """One visible call."""

    place: Place
    written: Place
    """Where its arguments are written out."""
    switched: Place
    """Where gradients were switched on or off for it."""
    compiled: Place
    """Where what it calls was compiled."""
    guards: tuple[Guard, ...]
    inputs: tuple[tuple[str, object], ...]
    """What kind of thing each argument is."""
    numbers: tuple[Number, ...]
    resets: int = 0
    """How often all that was compiled had been dropped before."""


class Cause(Struct, frozen=True):
    """Why one call compiled again: the kind of guard that failed, and the line to point at."""

    kind: Kind
    place: Place


class _Version:
    """One compiled version: what a call has to agree with to use it."""

    def __init__(self, call: Called, symbolic: frozenset[str]) -> None:
        self.numbers = {name: value for name, value in call.numbers if name not in symbolic or _special(name, value)}
        self.symbolic = symbolic
        self.inputs = dict(call.inputs)
        self.guards = _by_place(call.guards)

    def failed(self, call: Called) -> Cause | None:
        """The first guard that the call fails, None if it may use this version."""
        inputs = dict(call.inputs)
        changed = {name for name in inputs if self.inputs.get(name, inputs[name]) != inputs[name]}
        if COMPILER in changed:
            return Cause(Kind.COMPILER, call.compiled)
        if changed:
            switched = MODE in changed and all(name == MODE or name.endswith(GRADIENT) for name in changed)
            return Cause(Kind.MODE, call.switched) if switched else Cause(Kind.INPUT, call.written)
        values = _by_place(call.guards)
        for key, value in self.guards.items():
            if values.get(key, value) != value:
                return Cause(*key)
        return Cause(Kind.SIZES, call.place) if self.outgrown(call) else None

    def outgrown(self, call: Called) -> set[str]:
        """The numbers that are not what this version was compiled for."""
        return {name for name, value in call.numbers if value is not None and not self._takes(name, value)}

    def _takes(self, name: str, value: int | float) -> bool:
        known = self.numbers.get(name)
        if name in self.numbers:
            return known is None or known == value
        return name not in self.symbolic or not _special(name, value)


def _by_place(guards: Iterable[Guard]) -> dict[tuple[Kind, Place], tuple[object, ...]]:
    """All that one kind of guard asks at one place, in the order met."""
    found: dict[tuple[Kind, Place], tuple[object, ...]] = {}
    for guard in guards:
        key = (guard.kind, guard.place)
        found[key] = (*found.get(key, ()), guard.value)
    return found


def _special(name: str, value: int | float | None) -> bool:
    """Sizes of 0 and 1 stay what they are even where others are symbolic."""
    return value in (0, 1) and ".size(" in name


def recompiles(calls: Sequence[Called], dynamic: bool | None) -> list[Cause]:
    """Why the calls, in order, would each compile again, as far as they do."""
    versions: list[_Version] = []
    always: frozenset[str] = frozenset(name for call in calls for name, _ in call.numbers) if dynamic else frozenset()
    symbolic = always
    causes: list[Cause] = []
    for before, call in zip((None, *calls), calls, strict=False):
        if before is not None and before.resets != call.resets:
            versions, symbolic = [], always
        failed = [version.failed(call) for version in versions]
        if None in failed:
            continue
        if versions:
            if dynamic is None:
                symbolic |= versions[-1].outgrown(call)
            cause = failed[-1]
            assert cause is not None
            causes.append(cause)
        versions.append(_Version(call, symbolic))
    return causes


def telling(causes: Iterable[Cause]) -> Mapping[Cause, int]:
    """The causes to report, and how often each struck: not the numbers that would have settled without the others."""
    counted: dict[Cause, int] = {}
    for cause in causes:
        counted[cause] = counted.get(cause, 0) + 1
    others = {cause: count for cause, count in counted.items() if cause.kind is not Kind.SIZES}
    return others or counted
