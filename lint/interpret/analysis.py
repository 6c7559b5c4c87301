"""What one check shares between all frames: the project, the rules, memoised calls, object attributes and the entries
found.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from msgspec import Struct

from ..dependence import Uses
from ..emission import Emission, Hit
from ..facts import Fact
from ..findings import Effect
from ..guards import Called, Guard, Kind, Number, Place
from ..ir import Span
from ..project import Project
from ..symbols import ClassSymbol, FunctionSymbol, Module, Store
from ..torch_api import TorchApi
from ..values import Arguments, Compiled, Instance, Value
from .frame import Frame, Settings
from .tables import Table, Tracker

if TYPE_CHECKING:
    from .construction import Construction, Plan

MAX_DEPTH = 40
"""Calls followed into each other; deeper ones answer with their annotation."""
UNCUT = sys.maxsize


class Oracle(Protocol):
    """Somebody else to ask about traced expressions of which the interpreter knows nothing."""

    def value_of(self, module: Module, span: Span) -> Value:
        """What the expression may be."""


class SeenCall(Struct, frozen=True):
    """A call of a compiled function met while following the code around it."""

    arguments: Arguments
    repeated: bool
    """In a loop whose passes are not known one by one."""


@dataclass(eq=False)
class EntryRecord:
    """A place where compilation starts, and the calls of it that were seen."""

    compiled: Compiled
    how: str
    module: Module
    span: Span
    calls: list[SeenCall] = field(default_factory=list)


@dataclass(slots=True)
class Following:
    """One call followed with all that is known of it: what Dynamo would guard on, and the numbers that are read."""

    compiled_at: Place
    guards: list[Guard] = field(default_factory=list)
    numbers: list[Number] = field(default_factory=list)


@dataclass(slots=True)
class Program:
    """What has happened so far in the program around the compiled code, as one module's own statements go."""

    ran: bool = False
    """Compiled code has been called."""
    heap: dict[tuple[Value, str], Value] = field(default_factory=dict)
    """Attributes that were assigned outside of constructors, and modules' names, as they are by now."""
    counters: set[tuple[Value, str]] = field(default_factory=set)
    """Those of them that compiled code counts up itself."""
    stored_at: dict[tuple[Value, str], Place] = field(default_factory=dict)
    """Where the program assigned them last, outside of compiled code."""
    answers: dict[str, Place] = field(default_factory=dict)
    """Where compiled code asked about the process, by what would change the answer."""
    entered: set[FunctionSymbol] = field(default_factory=set)
    """Functions that compiled code has run."""
    resets: int = 0
    """How often all that was compiled has been dropped."""

    def reset(self) -> None:
        """Drop all that was compiled: what it had fixed is asked for again."""
        self.resets += 1
        self.ran = False
        self.answers.clear()
        self.entered.clear()


class CallResult(Struct, frozen=True):
    value: Value
    emissions: tuple[Emission, ...]


@dataclass(eq=False, slots=True)
class Analysis:
    project: Project
    api: TorchApi
    judge: Callable[[Fact, Frame], Iterable[Hit]]
    effect_of: Callable[[str], Effect]
    classes: frozenset[str] = frozenset()
    """External classes that rules speak of, `datetime.date` say."""
    environment: frozenset[str] = frozenset()
    """Environment variables that the project sets."""
    oracle: Oracle | None = None
    tracker: Tracker = field(default_factory=Tracker)
    memo: Table[Any, CallResult] = field(default_factory=Table)
    attributes: Table[Instance, dict[str, Value]] = field(default_factory=Table)
    constructions: dict[Instance, Construction] = field(default_factory=dict)
    """Objects whose attributes are worked out when they are read."""
    constructing: list[FunctionSymbol] = field(default_factory=list)
    """The constructors of those for which that is being done."""
    plans: Table[tuple[FunctionSymbol, ClassSymbol], Plan] = field(default_factory=Table)
    uses: Table[FunctionSymbol, tuple[Uses, ...]] = field(default_factory=Table)
    """What each statement of a method uses."""
    wholes: Table[FunctionSymbol, Uses] = field(default_factory=Table)
    called: Table[tuple[FunctionSymbol, ClassSymbol], tuple[FunctionSymbol, ...]] = field(default_factory=Table)
    """The methods that a method calls on its object, by that object's class."""
    effects: Table[tuple[FunctionSymbol, ClassSymbol], Uses] = field(default_factory=Table)
    globals: Table[tuple[str, str], Value] = field(default_factory=Table)
    functions_active: list[FunctionSymbol] = field(default_factory=list)
    decorated: Table[tuple[FunctionSymbol, object], Value] = field(default_factory=Table)
    """Functions as their decorators leave them, by the scope they are defined in."""
    give_back: Table[FunctionSymbol, bool] = field(default_factory=Table)
    """Whether a decorator gives back the function it gets."""
    class_values: Table[tuple[ClassSymbol, str], Value] = field(default_factory=Table)
    """What class bodies assign to names."""
    later_stores: Table[tuple[ClassSymbol, str], tuple[Store, ...]] = field(default_factory=Table)
    """Assignments to an attribute outside of constructors."""
    stored_later: Table[tuple[Instance, str], Value] = field(default_factory=Table)
    """What an attribute may hold that is assigned outside of constructors too."""
    dataclasses: Table[ClassSymbol, bool] = field(default_factory=Table)
    mro: Table[ClassSymbol, tuple[tuple[ClassSymbol, ...], tuple[str, ...]]] = field(default_factory=Table)
    entries: dict[object, EntryRecord] = field(default_factory=dict)
    compiled_in_place: dict[Value, Compiled] = field(default_factory=dict)
    """What `module.compile()` was called on."""
    tensor_parameters: Table[FunctionSymbol, frozenset[str]] = field(default_factory=Table)
    notes: Table[str, frozenset[str]] = field(default_factory=Table)
    """What checks worked out about the whole project, by a name of theirs."""
    touched: int = 0
    """How often compiled code was made or called so far."""
    cut_at: int = UNCUT
    """Of the calls that were not followed because they would have gone in a circle: where the outermost of the
    functions that they would have met again stands among the active ones.
    """
    partial: Table[object, CallResult] = field(default_factory=Table)
    """Memoised calls that were cut short by what was active around them."""
    following: Following | None = None
    """The call being followed; None while no single one is."""
    program: Program = field(default_factory=Program)
    explored: Table[Any, tuple[Emission, ...]] = field(default_factory=Table)
    """What entries brought up, where that rests on files that are being edited."""
    followed: dict[object, list[tuple[EntryRecord, Called]]] = field(default_factory=dict)
    """The calls followed one by one, in order, by the code that they compile: objects of one class share it."""
    peeking: int = 0
    """How many looks without consequences are being taken."""
    driven: set[FunctionSymbol] = field(default_factory=set)
    """Functions interpreted as callers of compiled code."""

    def enter(self, compiled: Compiled, how: str, module: Module, span: Span) -> EntryRecord:
        """Register an entry; the first place it was met names it. What a library compiles is its own affair."""
        self.touched += 1
        if not self.project.is_first_party(module.path):
            return EntryRecord(compiled, how, module, span)
        return self.entries.setdefault(compiled, EntryRecord(compiled, how, module, span))

    def guard_at(self, kind: Kind, place: Place, value: object) -> None:
        """Note what the call that is being followed is guarded on."""
        if self.following is not None:
            self.following.guards.append(Guard(kind, place, value))

    @property
    def tables(self) -> tuple[Table[Any, Any], ...]:
        return (
            *(self.memo, self.partial, self.attributes, self.plans, self.uses, self.wholes, self.called, self.effects),
            *(self.globals, self.decorated, self.give_back, self.class_values, self.later_stores, self.stored_later),
            *(self.dataclasses, self.mro, self.tensor_parameters, self.notes, self.explored),
        )

    def drop(self, mask: int) -> None:
        """Forget all that rests on code that has been edited."""
        for table in self.tables:
            table.drop(mask)
        for instance in [instance for instance in self.constructions if instance not in self.attributes]:
            del self.constructions[instance]

    def module_frame(self, module: Module) -> Frame:
        """A frame for evaluating module-level expressions."""
        return Frame(self, module, None, Settings(), traced=False)
