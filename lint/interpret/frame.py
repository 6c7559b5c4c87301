"""The state of one function being interpreted, and what is said about the lines it met."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from ..emission import Emission, Hit, Site
from ..facts import Change, Fact, Late
from ..findings import Confidence, Effect, When
from ..guards import Kind, Place
from ..ir import Span
from ..symbols import FunctionSymbol, Module
from ..values import Value
from ..vocabulary import HOOKS

if TYPE_CHECKING:
    from .analysis import Analysis


class Settings(Struct, frozen=True):
    """What the compile call and `torch._dynamo.config` say about how an entry is traced."""

    fullgraph: bool = False
    explicit_fullgraph: bool = False
    """The code itself asks for `fullgraph=True`."""
    capture_scalars: bool = False
    dynamic: bool | None = None
    flags: frozenset[str] = frozenset()
    """Other config switches, as `name=value`."""
    body_of: str = ""
    """The operator whose function this is, traced apart from the rest: `torch.cond`, say."""
    reorderable: frozenset[str] = frozenset()
    """Logging functions that Dynamo moves behind the graph, or drops."""
    mode: str = ""
    """That of the compile call."""
    lowered: bool = False
    """The graphs go through AOTAutograd, which specialises on numbers that they give back."""

    def flag(self, name: str) -> bool:
        return f"{name}=True" in self.flags


ALWAYS = When()


@dataclass(eq=False, slots=True)
class Frame:
    """One function (or module body) under interpretation."""

    analysis: Analysis
    module: Module
    function: FunctionSymbol | None
    settings: Settings
    traced: bool
    env: dict[str, Value] = field(default_factory=dict)
    scope: Frame | None = None
    """The frame that a nested function closes over."""
    caller: Frame | None = None
    calls_traced: bool = False
    """Whether calls from here are traced although this frame is not (`torch.compiler.disable(recursive=False)`)."""
    live: bool = field(default=True, init=False)
    loops: int = field(default=0, init=False)
    contexts: int = field(default=0, init=False)
    """Enclosing `with` blocks that a graph break cannot resume in."""
    attempts: int = field(default=0, init=False)
    """Enclosing `try` blocks, which it can't resume in either."""
    conditions: int = field(default=0, init=False)
    """Enclosing branches that may not be taken."""
    doubts: int = field(default=0, init=False)
    """Those among them that a Python value decides which the linter does not know."""
    tested: str = field(default="", init=False)
    """What the last undecided test was about: `tensor`, `size` or `host`."""
    skipped: str = field(default="", init=False)
    """In what a graph break before this point makes Dynamo give up the whole frame; empty where none does."""
    eager: bool = False
    """Inside `set_stance("force_eager")`: compiled functions run uncompiled."""
    gradients: tuple[str, Place] | None = field(default=None, init=False)
    """The context that switches gradients on or off, if any."""
    written: Place | None = field(default=None, init=False)
    """The header of the loop whose values are written out in it, where one is being followed pass by pass."""
    when: When = ALWAYS
    returns: list[Value] = field(default_factory=list)
    yields: list[Value] = field(default_factory=list)
    emissions: list[Emission] = field(default_factory=list)
    twins: frozenset[tuple[str, str]] = frozenset()
    """(rule, source) said already in a branch that excludes this one."""
    globals: set[str] = field(default_factory=set)
    overwritten: set[str] = field(default_factory=set, init=False)
    """Paths of attributes that were given values here which do not rest on what they were."""
    is_comprehension: bool = False
    storing: bool = False
    """Inside a constructor: attribute stores define the object."""
    lazy: bool = False
    """What is made here is made outside of compiled code, for its attributes only."""

    @property
    def qualname(self) -> str:
        return self.function.qualname if self.function else "<module>"

    @property
    def is_outermost(self) -> bool:
        """The entry's own function, whose values leave the compiled code."""
        return self.caller is not None and self.caller.function is None and self.traced

    @property
    def depth(self) -> int:
        return 0 if self.caller is None else self.caller.depth + 1

    def source(self, span: Span) -> str:
        return self.module.source_of(span)

    def lookup(self, name: str) -> Value | None:
        """A local or enclosing variable; None where the name is not one."""
        frame: Frame | None = self
        while frame is not None:
            if name in frame.env and name not in frame.globals:
                return frame.env[name]
            frame = frame.scope
        return None

    def guard(self, kind: Kind, span: Span, value: object) -> None:
        """Note what the call that is being followed is guarded on."""
        if self.following:
            self.analysis.guard_at(kind, self.place(span), value)

    def place(self, span: Span) -> Place:
        return Place(self.module.path, self.qualname, span)

    @property
    def following(self) -> bool:
        """Whether one call is being followed with all that is known of its arguments."""
        return self.traced and self.analysis.following is not None

    def observe(self, fact: Fact) -> None:
        """Hand a fact met in traced code to the rules."""
        if self.traced and self.live and self.analysis.following is None:
            for hit in self.analysis.judge(fact, self):
                self._emit(hit)

    def late(self, span: Span, symbol: str) -> None:
        """`symbol` was called or assigned outside of compiled code: does code that has been compiled miss it?"""
        analysis = self.analysis
        if self.traced or analysis.peeking or not analysis.program.ran:
            return
        if (asked := analysis.program.answers.get(symbol)) is not None:
            self.declare(Late(asked.span, Change.ANSWER, symbol), asked)
        elif symbol.rpartition(".")[2] in HOOKS:
            self.declare(Late(span, Change.HOOK, symbol))
        elif symbol == "abc.ABC.register":
            self.declare(Late(span, Change.REGISTRATION, symbol))

    def declare(self, fact: Fact, place: Place | None = None) -> None:
        """Hand over a fact that matters wherever it stands, traced or not; `place` if that is not in this function."""
        for hit in self.analysis.judge(fact, self):
            self._emit(hit, place)

    def _emit(self, hit: Hit, place: Place | None = None) -> None:
        effect = self.analysis.effect_of(hit.code)
        if effect is Effect.GRAPH_BREAK and self.traced and not self.settings.fullgraph:
            hit, effect = self._placed(hit, effect)
        if (hit.code, self.source(hit.span)) in self.twins and not hit.note:
            hit = replace(hit, note="another branch does the same; only one of them runs")
        self.emissions.append(
            Emission(
                hit,
                effect,
                place.path if place else self.module.path,
                place.function if place else self.qualname,
                self.when,
                self.settings.explicit_fullgraph,
                repeated=self.loops > 0,
                doubtful=self.doubts > 0,
                conditional=self.conditions > 0,
            )
        )

    def _placed(self, hit: Hit, effect: Effect) -> tuple[Hit, Effect]:
        """What a break means here: in a loop or an unresumable block the frame is lost, and what follows untraced."""
        if self.skipped and not hit.note:
            return replace(hit, note=f"an earlier break in {self.skipped} makes Dynamo skip this frame"), effect
        if self.unresumable:
            effect = Effect.SKIPPED_FRAME
            self._lose(hit)
            hit = replace(hit, wrapped_by="GB7000" if self.loops else "GB0066" if self.contexts else "")
        return hit, effect

    @property
    def unresumable(self) -> bool:
        return self.loops > 0 or self.contexts > 0 or self.attempts > 0

    def _lose(self, hit: Hit) -> None:
        if self.conditions == 0 and hit.confidence is not Confidence.POSSIBLE:
            block = "a loop" if self.loops else "a `with` block" if self.contexts else "a `try` block"
            self.skipped = self.skipped or block

    def absorb(self, emissions: Iterable[Emission], site: Site) -> None:
        """Take over what a callee met; a break in it is a break of this frame at the call."""
        for emission in emissions:
            self.emissions.append(
                replace(
                    emission,
                    calls=(*emission.calls, site),
                    when=both(self.when, emission.when),
                    repeated=emission.repeated or self.loops > 0,
                    doubtful=emission.doubtful or self.doubts > 0,
                    conditional=emission.conditional or self.conditions > 0,
                )
            )
            if self._broke(emission):
                self._lose(emission.hit)

    def take(self, inner: Frame) -> None:
        """Take over what a comprehension of this frame met; a break in it is a break here too."""
        for emission in inner.emissions:
            self.emissions.append(
                replace(
                    emission,
                    repeated=emission.repeated or self.loops > 0,
                    doubtful=emission.doubtful or self.doubts > 0,
                    conditional=emission.conditional or self.conditions > 0,
                )
            )
            if self._broke(emission):
                self._lose(emission.hit)

    def _broke(self, emission: Emission) -> bool:
        broke = emission.effect in (Effect.GRAPH_BREAK, Effect.SKIPPED_FRAME) and not emission.hit.note
        return broke and self.traced and self.unresumable and not self.settings.fullgraph

    def child(self) -> Frame:
        """A frame for a comprehension: reads this frame's variables, binds its own."""
        return Frame(
            analysis=self.analysis,
            module=self.module,
            function=self.function,
            settings=self.settings,
            traced=self.traced,
            scope=self,
            caller=self,
            calls_traced=self.calls_traced,
            when=self.when,
            twins=self.twins,
            eager=self.eager,
            is_comprehension=True,
            lazy=self.lazy,
        )


def both(outer: When, inner: When) -> When:
    """The conditions of a callee's line and of the call that leads to it."""
    training = inner.training if outer.training is None else outer.training
    given = tuple(dict.fromkeys(outer.given + inner.given))
    return When(training, given, outer.dtype or inner.dtype)
