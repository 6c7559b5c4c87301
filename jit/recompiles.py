"""Which recompiles are those that a finding foresees, and what it means that there are none.

A finding is *confirmed* if a function was compiled again at least twice, or met the limit, for its reason; a note, that
it happens once, by one recompile. It is *refuted* only if what it is about was varied and compiled versions were used
nevertheless. Findings about the calls of a compiled function lie outside it, where nothing is traced: they are known by
the call stacks.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence

from fullgraph.lint.findings import Finding, Severity, Verdict

from .events import CallSite, Observation, Recompile
from .statements import Sources

NOT_TRACED = "not traced"
REPEATED = 2
"""Recompiles of one function from which on they are more than the one that automatic dynamic shapes cost."""
CACHE_ENTRY = re.compile(r"^\d+/\d+: ")
"""Which compiled version a guard belongs to."""
SCALAR = "scalars: "
"""What a variation of a scalar is called before the scalar's name."""
NEWEST, OLDEST = 0, -1
"""Places in a recompile's guards: what a variation changed shows against the version compiled before all of them."""
SIZES = re.compile(r"size mismatch|size\(\)|== -?[\d.]+$|[<>]|%")
KIND = re.compile(r"GLOBAL_STATE|(?<!size) mismatch|type_id|\bis (?:not )?None|len\(|Duplicate")
EXPECTED = {"static-shapes-vary": SIZES, "sizes-take-turns": SIZES, "inputs-vary": KIND}
"""What the failed guards of rules about calls look like."""


def failed_guard(item: Recompile, version: int) -> str:
    """What that compiled version had expected, and what came if that is known."""
    if not item.failed_guards:
        return ""
    text = CACHE_ENTRY.sub("", item.failed_guards[version])
    actual = item.mismatches[version].actual if item.mismatches else None
    return f"; failed guard: {text}" + (f", but it is {actual}" if actual and "actual" not in text else "")


class Recompiles:
    """Those of one observation, ordered for looking up."""

    def __init__(self, observation: Observation, sources: Sources) -> None:
        self._observation = observation
        self._sources = sources
        self._groups: dict[tuple[str, str], list[Recompile]] = defaultdict(list)
        """By frame and by what was varied."""
        for item in observation.recompiles:
            self._groups[item.frame.partition("/")[0], item.variation].append(item)

    def repeated(self) -> tuple[tuple[Recompile, ...], ...]:
        """Of each function that was compiled again at least twice or met the limit."""
        found: dict[str, list[Recompile]] = defaultdict(list)
        for (frame, _), items in self._groups.items():
            if _enough(items, REPEATED):
                found[frame] += items
        return tuple(map(tuple, found.values()))

    def judged(self, finding: Finding, traced: set[str]) -> tuple[Verdict, str, Sequence[Recompile]]:
        """The verdict, what it rests on, and the recompiles that decided. `traced` are the finding's frames."""
        frames = traced or self._called_from(finding)
        concerned = [
            items
            for (frame, _), items in sorted(self._groups.items())
            if frame in frames and self._concerns(finding, items, inside=bool(traced))
        ]
        needed = 1 if finding.severity is Severity.NOTE else REPEATED
        for items in concerned:
            if _enough(items, needed):
                limit = ", then the limit" if any(item.limit_hit for item in items) else ""
                times = f"{len(items)} time{'' if len(items) == 1 else 's'}"
                return Verdict.CONFIRMED, f"compiled again {times}{limit}{failed_guard(items[-1], NEWEST)}", items
        if not frames:
            return Verdict.NOT_REACHED, NOT_TRACED, ()
        if not frames & self._observation.reused:
            return Verdict.NOT_REACHED, "not called often enough to show it", ()
        for items in concerned:
            return (
                Verdict.REFUTED,
                f"compiled again once only, then called again{failed_guard(items[-1], NEWEST)}",
                items,
            )
        if names := self._varied(finding, frames, inside=bool(traced)):
            return Verdict.REFUTED, f"{', '.join(names)} varied without compiling again", ()
        return Verdict.NOT_REACHED, "not seen to vary", ()

    def _concerns(self, finding: Finding, items: Sequence[Recompile], inside: bool) -> bool:
        here = self._sources.statement(finding.span.path, finding.span.line)
        if any(self._sources.statement(site.path, site.line) == here for item in items for site in item.stack):
            return True
        names = self._sources.names(finding.span)
        if inside:
            sites = [site for item in items for site in item.guard_sites]
            held = not sites or any(self._same_function(finding, site) for site in sites)
            return held or _reads(names[-1:], items)
        if finding.rule in EXPECTED:
            return any(EXPECTED[finding.rule].search(text) for text in _guards(items))
        return _reads(names[1:], items)

    def _called_from(self, finding: Finding) -> set[str]:
        """Frames that the function around the finding calls, or that are of the function that it decorates."""
        path, line = finding.span.path, finding.span.line
        here, around = self._sources.statement(path, line), self._sources.function(path, line)
        return {
            frame.id.partition("/")[0]
            for frame in self._observation.frames
            if self._sources.statement(frame.path, frame.line) == here
            or any(site.path == path and self._sources.function(path, site.line) == around for site in frame.stack)
        }

    def _varied(self, finding: Finding, frames: set[str], inside: bool) -> list[str]:
        """Sizes and numbers that the finding is about and that differed between calls without a recompile."""
        own = set(self._sources.names(finding.span)) - {"self"}
        symbolic = {name for frame, name in self._observation.varied if frame in frames}
        return sorted(
            name for name in symbolic | self._unguarded() if not inside or own & set(re.findall(r"[A-Za-z_]\w*", name))
        )

    def _unguarded(self) -> set[str]:
        """Scalars that were varied on purpose, and nothing was compiled again."""
        changed = {call.variation for call in self._observation.calls if not call.error}
        again = {item.variation for item in self._observation.recompiles}
        return {name.removeprefix(SCALAR) for name in changed - again if name.startswith(SCALAR)}

    def _same_function(self, finding: Finding, site: CallSite) -> bool:
        """Whether one traced function holds both."""
        if site.path != finding.span.path:
            return False
        functions = [
            {extent.line for extent in traced.extents}
            for traced in self._observation.traced
            if traced.path == site.path
        ]
        return any({site.line, finding.span.line} <= lines for lines in functions)


def _enough(items: Sequence[Recompile], needed: int) -> bool:
    return len(items) >= needed or any(item.limit_hit for item in items)


def _guards(items: Iterable[Recompile]) -> list[str]:
    return [CACHE_ENTRY.sub("", text) for item in items for text in item.failed_guards]


def _reads(names: Sequence[str], items: Iterable[Recompile]) -> bool:
    """Whether a guard that failed reads one of the names, wherever the value was used."""
    return any(re.search(rf"\b{re.escape(name)}\b", text) for name in names for text in _guards(items))
