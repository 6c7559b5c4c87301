"""Whether a fix is proven: what runs with it do is held against what runs without it did. The answer is why not."""

from __future__ import annotations

import math
import re
from collections import Counter
from dataclasses import dataclass, field
from functools import cached_property

from fullgraph.lint.findings import Effect

from ..events import Break, BreakKind, Observation, Recompile, Status
from ..kept import Kept
from ..statements import Sources, Statement
from .lab import Contents, Standard, ended
from .moved import Moves
from .report import Figures
from .sites import Site, absolute
from .trial import GRADIENTS, OTHERS

NUMBER = re.compile(r"-?\d+\.\d+(?:e[-+]?\d+)?|-?\d+e[-+]?\d+", re.IGNORECASE)
ROUNDING = 1e-3
"""Relative, of numbers that compiled code prints."""
Place = tuple[str, int]
"""A path as events show it, and the first line of a statement."""


@dataclass
class Version:
    """Contents of the files, and what compiled runs with them did, one for each mode."""

    contents: Contents
    runs: tuple[Observation, ...]
    kept: Kept
    sites: list[Site] | None = None
    """What is to be mended in it, once that was asked for."""
    _sources: Sources = field(init=False)

    def __post_init__(self) -> None:
        self._sources = Sources(self.kept.showing(self.contents).read)

    def place(self, path: str, line: int) -> Place:
        return path, self._sources.statement(path, line).line

    def statements(self, path: str, first: int, last: int) -> list[Statement]:
        return self._sources.statements(path, first, last)

    def text(self, path: str, line: int) -> bytes:
        """Of one line."""
        lines = self.contents.get(absolute(path), b"").splitlines()
        return lines[line - 1].strip() if line <= len(lines) else b""

    @cached_property
    def figures(self) -> Figures:
        steps = [run.compared.step_s for run in self.runs if run.compared and run.compared.step_s is not None]
        return Figures(
            len({item.site for run in self.runs for item in run.breaks}),
            sum(item.variation not in (OTHERS, GRADIENTS) for run in self.runs for item in run.recompiles),
            round(sum(frame.compile_s for run in self.runs for frame in run.frames), 4),
            max(steps, default=None),
            sum(run.compared.elements for run in self.runs if run.compared),
        )


@dataclass(frozen=True, slots=True)
class Verdict:
    """`reason` is why the fix is not proven; `later` says that a break stopped the program which had been hidden."""

    reason: str | None = None
    later: bool = False
    uncovered: Break | None = None
    """What is the reason, if that is a break: with a fix of its own it may be none any more."""


def of_eager(standard: Standard, seen: Observation) -> str | None:
    """Why the eager run with the fix is not the same."""
    if reason := _astray(seen):
        return f"eagerly {reason}"
    if ended(seen) != ended(standard.seen):
        return _endings(seen, standard)
    return _otherwise(standard, seen) or (None if seen.printed == standard.seen.printed else "it prints something else")


class Judge:
    """Of one fix, or several that are to change nothing more: `before` and `after`."""

    def __init__(self, site: Site | None, before: Version, after: Version) -> None:
        self._site = site
        self._places = {before.place(site.path, site.line), before.place(*site.root)} if site else set[Place]()
        self._before = before
        self._after = after
        self._moves = Moves(before.contents, after.contents)

    def of_compiled(self, standard: Standard, before: Observation, seen: Observation) -> Verdict:
        """Why the compiled run with the fix does not prove it."""
        if reason := _astray(seen):
            return Verdict(f"compiled {reason}")
        if seen.status is Status.NOTHING_COMPILED or not (seen.frames or seen.breaks or seen.failures):
            return Verdict("with it nothing is compiled any more")
        known = {self._before.place(item.path, item.line): item for item in before.breaks}
        hidden = [item for item in seen.breaks if self._is_hidden(standard, before, item)]
        for item in seen.breaks:
            if item not in hidden and (reason := self._new(item, known)):
                return Verdict(reason, uncovered=item)
        if reason := self._recompiled(before, seen):
            return Verdict(reason)
        if hidden and ended(seen) != ended(standard.seen):
            return Verdict(later=True)
        if ended(seen) != ended(standard.seen):
            return Verdict(_endings(seen, standard))
        if reason := _otherwise(standard, seen):
            return Verdict(_even_before(standard, before) or reason)
        return Verdict(self._printed(standard, before, seen))

    def of_site(self) -> str | None:
        """Whether the cause is gone, all modes taken together."""
        match self._site and self._site.effect:
            case None:
                return None
            case Effect.RECOMPILE:
                fewer = self._after.figures.recompiles < self._before.figures.recompiles
                return None if fewer else "it is compiled again as often as before"
            case Effect.FROZEN_VALUE | Effect.PLACEMENT:
                return "these runs do not show whether the cause is gone"
            case _:
                there = [item for run in self._before.runs for item in run.breaks if self._is_at_site(item)]
                failed = any(run.failures for run in self._before.runs)
                return None if there or failed else "it did not break in these runs"

    def is_gone(self) -> bool:
        """Whether it was there before, and is no more."""
        left = [item for run in self._after.runs for item in run.breaks]
        there = any((item.path, self._moved(self._moves, item)) in self._places for item in left)
        return self.of_site() is None and not there

    def _is_at_site(self, item: Break) -> bool:
        root, _, line = item.root.rpartition(":")
        places = {self._before.place(item.path, item.line), self._before.place(root, int(line))}
        return bool(places & self._places)

    def _moved(self, moves: Moves, item: Break) -> int | None:
        """Where it would have been in an older version."""
        return moves.line(absolute(item.path), self._after.place(item.path, item.line)[1])

    def _is_hidden(self, standard: Standard, before: Observation, item: Break) -> bool:
        """Whether the line is one that ran before too, but that Dynamo had never come to."""
        first = self._moved(Moves(standard.contents, self._after.contents), item)
        line = self._moved(self._moves, item)
        if line is None or (item.path, first) not in standard.executed:
            return False
        return not any(
            traced.path == item.path and any(extent.line <= line <= extent.end_line for extent in traced.extents)
            for traced in before.traced
        )

    def _new(self, item: Break, known: dict[Place, Break]) -> str | None:
        line, what = self._moved(self._moves, item), item.gb or item.gb_type
        if line is None:
            return f"line {item.line} with the fix breaks the graph: {what}"
        if (item.path, line) in self._places:
            return f"it still breaks the graph there: {what}"
        was = known.get((item.path, line))
        if was is None:
            return f"a new break, at {item.path}:{line}: {what}"
        if item.kind is BreakKind.SKIPPED_FRAME and was.kind is not item.kind:
            return f"at {item.path}:{line} the whole frame runs eagerly now"
        return None

    def _recompiled(self, before: Observation, seen: Observation) -> str | None:
        varied = before.status is Status.OK
        old, new = _recompiles(before, varied), _recompiles(seen, varied)
        parts = {(frame.path, frame.function) for frame in before.frames}
        most = max(old.values(), default=0)
        for function, count in sorted(new.items()):
            # one that ran eagerly, with compiled parts, may now be compiled as often as they were
            known = old[function] if function in parts else most
            if count > known:
                times = f"{count} time{'s' * (count > 1)}"
                return f"{function[1]} is compiled again {times}, not {known}"
        fewest, all_in_all = len(asked(before, varied)), len(asked(seen, varied))
        return f"{all_in_all} recompiles in all, not {fewest}" if all_in_all > fewest else None

    def _printed(self, standard: Standard, before: Observation, seen: Observation) -> str | None:
        wanted = standard.seen.printed
        if _alike(seen.printed, wanted) or _alike(seen.printed, before.printed):
            return None
        if (self._site is None or self._site.prints) and _is_part(seen.printed, wanted):
            return None
        return "compiled it prints something else"


def _astray(seen: Observation) -> str | None:
    if seen.status is Status.TIMEOUT:
        return f"it does not come to an end: {seen.detail}"
    return f"it does not come to its end: {seen.detail}" if seen.compared is None else None


def _endings(seen: Observation, standard: Standard) -> str:
    ours, theirs = ended(seen), ended(standard.seen)
    instead = f", not with {theirs[1]}" if theirs[1] else ""
    return f"it ends with {ours[1] or 'no error'}{instead}"


def _otherwise(standard: Standard, seen: Observation) -> str | None:
    """The first difference from the standard, and how many more there are."""
    differences = seen.compared.differences if seen.compared else ()
    found = [item.text for item in differences if item.variable not in standard.unsteady]
    if not found:
        return None
    more = f", and {len(found) - 1} more" if len(found) > 1 else ""
    return found[0] + more


def _even_before(standard: Standard, before: Observation) -> str | None:
    """What compiling alone has changed: then nothing can be told of the fix."""
    found = _otherwise(standard, before) if ended(before) == ended(standard.seen) else None
    return found and f"without the fix too, compiled code does otherwise than eager code: {found}"


def asked(seen: Observation, varied: bool) -> list[Recompile]:
    """Not for the gradients that only these runs ask for; `varied` counts the other inputs that nobody asked for."""
    return [item for item in seen.recompiles if item.variation != GRADIENTS and (varied or item.variation != OTHERS)]


def _recompiles(seen: Observation, varied: bool) -> Counter[tuple[str, str]]:
    """How often each function was compiled again: the one of its parts for which that happened most often."""
    parts = Counter((item.frame.partition("/")[0], item.path, item.function) for item in asked(seen, varied))
    most = Counter[tuple[str, str]]()
    for (_, path, name), count in parts.items():
        most[path, name] = max(most[path, name], count)
    return most


def _alike(one: str, other: str) -> bool:
    """But for the rounding of numbers."""
    if NUMBER.sub("0", one) != NUMBER.sub("0", other):
        return False
    pairs = zip(NUMBER.findall(one), NUMBER.findall(other), strict=True)
    return all(math.isclose(float(a), float(b), rel_tol=ROUNDING, abs_tol=ROUNDING) for a, b in pairs)


def _is_part(printed: str, whole: str) -> bool:
    """Whether lines are left out and nothing else."""
    rest = iter(whole.splitlines())
    return all(any(_alike(line, other) for other in rest) for line in printed.splitlines())


def largest(runs: tuple[Observation, ...]) -> tuple[float | None, float | None]:
    """The largest difference of numbers in these runs, and of gradients."""
    compared = [run.compared for run in runs if run.compared]
    values = [item.largest for item in compared if item.largest is not None]
    gradients = [item.largest_gradient for item in compared if item.largest_gradient is not None]
    return max(values, default=None), max(gradients, default=None)


def inputs(runs: tuple[Observation, ...]) -> int:
    return sum(run.compared.inputs for run in runs if run.compared)
