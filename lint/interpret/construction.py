"""Objects that compiled code finds made: an attribute is worked out when it is first read, by those statements of the
constructor that it takes.

Constructors of large libraries do far more than the code that is compiled ever looks at.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from ..dependence import ANY, Uses, gives_value, needed, together, uses_of
from ..symbols import ClassSymbol, FunctionSymbol
from ..values import Instance
from . import objects, statements
from .analysis import UNCUT, Analysis
from .frame import Frame

MAX_NESTED = 3
"""Objects of one class made in each other's constructors that are worked out for one attribute."""


class Plan:
    """The statements of a method, run for objects of one class, that attributes take."""

    def __init__(self, at_once: tuple[Uses, ...], uses: tuple[Uses, ...]) -> None:
        self._at_once = at_once
        self._uses = uses
        self._writes = frozenset(name for use in uses for name in use.writes)
        self._needed: dict[frozenset[str], tuple[int, ...]] = {}
        self.closed: dict[str, frozenset[str]] = {}
        """For an attribute, where the method is a constructor: those that have to be worked out with it."""

    def needed(self, names: frozenset[str]) -> tuple[int, ...]:
        """The positions of the statements that decide what these attributes hold in the end, in order."""
        if names not in self._needed:
            self._needed[names] = needed(self._uses, names)
        return self._needed[names]

    def beside(self, name: str) -> Iterator[str]:
        """The attributes that the statements deciding `name` read or write as soon as they are run."""
        if name in self._writes or ANY in self._writes:
            for position in self.needed(frozenset({name})):
                use = self._at_once[position]
                yield from (other for other in use.reads | use.writes if other[0] == ".")


@dataclass(eq=False)
class Body:
    """A method on the way of constructing an object, of whose statements some have been run."""

    frame: Frame
    method: FunctionSymbol
    plan: Plan
    done: set[int] = field(default_factory=set)
    at: int = 0
    """The statement being run."""
    left: int = sys.maxsize
    """The statement that leaves the method for good; those after it are not reached."""
    inner: dict[int, list[Body]] = field(default_factory=dict)
    """The methods that a statement goes on constructing with."""


@dataclass(eq=False)
class Construction:
    """What is known of how an object is made."""

    root: Body
    known: set[str] = field(default_factory=set)
    """Attributes worked out so far."""
    wanted: frozenset[str] = frozenset()
    """The attributes being worked out."""
    at: list[Body] = field(default_factory=list)
    """The bodies being run, the innermost last."""


def begin(analysis: Analysis, instance: Instance, frame: Frame, method: FunctionSymbol) -> None:
    """`frame` will run the constructor, bit by bit."""
    analysis.constructions[instance] = Construction(Body(frame, method, _plan(analysis, method, instance.symbol)))


def defers(analysis: Analysis, frame: Frame, instance: Instance, method: FunctionSymbol) -> bool:
    """Whether a call that goes on constructing can wait until an attribute is asked for."""
    construction = analysis.constructions.get(instance)
    at_work = construction is not None and construction.at and construction.at[-1].frame is frame
    return bool(at_work) and not gives_value(method)


def go_on(analysis: Analysis, instance: Instance, frame: Frame, method: FunctionSymbol) -> None:
    """The statement being run calls `method` on the object that it constructs."""
    construction = analysis.constructions[instance]
    outer = construction.at[-1]
    body = Body(frame, method, _plan(analysis, method, instance.symbol))
    outer.inner.setdefault(outer.at, []).append(body)
    _run(construction, body)


def work_out(frame: Frame, instance: Instance, name: str) -> None:
    """Run what decides the attribute, or all attributes for `ANY`, unless that has been done or is being done."""
    analysis = frame.analysis
    construction = analysis.constructions.get(instance)
    if construction is None or construction.wanted or not construction.known.isdisjoint((name, ANY)):
        return
    method = construction.root.method
    if analysis.constructing.count(method) >= MAX_NESTED:
        return
    outer, analysis.tracker.rests = analysis.tracker.rests, 0
    construction.wanted = _closed(analysis, construction.root, instance.symbol, name)
    construction.known |= construction.wanted
    with _apart(analysis, method):
        _run(construction, construction.root, frame)
    construction.wanted = frozenset()
    analysis.attributes.add(instance, analysis.tracker.rests)
    analysis.tracker.rests |= outer


@contextmanager
def _apart(analysis: Analysis, method: FunctionSymbol) -> Iterator[None]:
    """What is being interpreted where an attribute is read has no bearing on what it holds."""
    active, cut_at = analysis.functions_active, analysis.cut_at
    analysis.functions_active, analysis.cut_at = [method], UNCUT
    analysis.constructing.append(method)
    try:
        yield
    finally:
        analysis.constructing.pop()
        analysis.functions_active, analysis.cut_at = active, cut_at


def _run(construction: Construction, body: Body, caller: Frame | None = None) -> None:
    frame, active = body.frame, body.frame.analysis.functions_active
    frame.caller = caller or frame.caller
    active.append(body.method)
    construction.at.append(body)
    for position in body.plan.needed(construction.wanted):
        if position in body.done:
            for inner in body.inner.get(position, ()):
                _run(construction, inner, frame)
        elif position < body.left:
            body.done.add(position)
            body.at, frame.live = position, True
            statements.run(frame, (body.method.body[position],))
            if not frame.live:
                body.left = position
    construction.at.pop()
    active.pop()
    frame.caller = None  # the frame is kept for long, its caller need not be


def _plan(analysis: Analysis, method: FunctionSymbol, cls: ClassSymbol) -> Plan:
    def planned() -> Plan:
        at_once, whole = [], []
        for use in _uses(analysis, method):
            callees = tuple(_callees(analysis, use, method, cls))
            at_once.append(_with(analysis, use, filter(gives_value, callees), cls))
            whole.append(_with(analysis, use, callees, cls))
        return Plan(tuple(at_once), tuple(whole))

    return analysis.tracker.once(analysis.plans, (method, cls), planned)


def _closed(analysis: Analysis, root: Body, cls: ClassSymbol, name: str) -> frozenset[str]:
    """The attribute and all that it rests on: parts of several methods run in the right order only if run together."""
    known = root.plan.closed.get(name)
    if known is None:
        methods = _reachable(analysis, root.method, cls)
        found = {name}
        waiting = [name]
        while waiting and ANY not in found:
            last = waiting.pop()
            writers = [each for each in methods if not {last, ANY}.isdisjoint(_effects(analysis, each, cls).writes)]
            fresh = {other for each in writers for other in _plan(analysis, each, cls).beside(last)} - found
            found |= fresh
            waiting += fresh
        known = root.plan.closed[name] = frozenset({ANY}) if ANY in found else frozenset(found)
    return known


def _with(analysis: Analysis, use: Uses, callees: Iterable[FunctionSymbol], cls: ClassSymbol) -> Uses:
    """What a statement uses by itself and through these methods of the object."""
    effects = [_effects(analysis, callee, cls) for callee in callees]
    if not effects:
        return use
    return Uses(
        use.reads.union(*(effect.reads for effect in effects)), use.writes.union(*(effect.writes for effect in effects))
    )


def _effects(analysis: Analysis, method: FunctionSymbol, cls: ClassSymbol) -> Uses:
    """What a method does to its object by itself and through those that it calls on it."""

    def found() -> Uses:
        wholes = [_whole(analysis, each) for each in _reachable(analysis, method, cls)]
        none: frozenset[str] = frozenset()
        return Uses(none.union(*(whole.reads for whole in wholes)), none.union(*(whole.writes for whole in wholes)))

    return analysis.tracker.once(analysis.effects, (method, cls), found)


def _reachable(analysis: Analysis, method: FunctionSymbol, cls: ClassSymbol) -> dict[FunctionSymbol, None]:
    """The method, those that it may call on its object, those that they may call, and so on."""
    waiting = [method]
    seen = {method: None}
    while waiting:
        for callee in _called(analysis, waiting.pop(), cls):
            if callee not in seen:
                seen[callee] = None
                waiting.append(callee)
    return seen


def _called(analysis: Analysis, method: FunctionSymbol, cls: ClassSymbol) -> tuple[FunctionSymbol, ...]:
    whole = _whole(analysis, method)
    key = (method, cls)
    return analysis.tracker.once(analysis.called, key, lambda: tuple(_callees(analysis, whole, method, cls)))


def _whole(analysis: Analysis, method: FunctionSymbol) -> Uses:
    return analysis.tracker.once(analysis.wholes, method, lambda: together(_uses(analysis, method)))


def _uses(analysis: Analysis, method: FunctionSymbol) -> tuple[Uses, ...]:
    def found() -> tuple[Uses, ...]:
        analysis.tracker.rests |= method.mask
        return uses_of(method) if method.parameters else ()

    return analysis.tracker.once(analysis.uses, method, found)


def _callees(analysis: Analysis, use: Uses, method: FunctionSymbol, cls: ClassSymbol) -> Iterator[FunctionSymbol]:
    for name in use.reads:
        if name[0] == "." and (callee := objects.find_method(analysis, cls, name[1:])) is not None:
            yield callee
    classes = objects.resolution(analysis, cls)[0]
    after = classes[classes.index(method.owner) + 1 :] if method.owner in classes else classes[1:]
    for name in use.inherited:
        callee = next((base.methods[name] for base in after if name in base.methods), None)
        if callee is not None:
            yield callee
