"""Joins what the linter claimed with what Dynamo did: findings and events become verdicts and unpredicted breaks.

What each verdict rests on:

- A break, a skipped frame or a user error is *confirmed* by a break or a compile error in the same statement, or in the
  one that the finding names as its root, if the GB id or the expression agrees. It is *refuted* if the line was traced
  and nothing of the kind happened.
- What holds in one mode of modules only, training or evaluation, is never *refuted* by the other one.
- A recompile is judged by `recompiles`.
- A frozen value and a misplaced `torch.compile` leave no event in one run: they are *not reached*, whatever was traced.
  For frozen values `proof` runs the target again.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from fullgraph.lint.findings import Effect, Finding, Severity, Verdict
from fullgraph.rules import load

from .events import Break, Extent, Failure, Observation, Recompile, Status
from .mend.report import Mended
from .recompiles import NOT_TRACED, Recompiles
from .statements import Sources, Statement
from .targets import FailOn

BREAKS = (Effect.GRAPH_BREAK, Effect.SKIPPED_FRAME, Effect.USER_ERROR)


@dataclass(frozen=True, slots=True)
class Basis:
    """The events that a verdict rests on: numbers of breaks, ids of frames, and whether the expression was traced."""

    traced: bool
    breaks: tuple[int, ...] = ()
    frames: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Judged:
    """A finding with its verdict and what the verdict rests on, in a few words."""

    finding: Finding
    verdict: Verdict
    evidence: str
    basis: Basis


@dataclass(frozen=True, slots=True)
class Stale:
    """A call of the compiled function that lies there gave an old result: something is frozen in it."""

    entry: str
    path: str
    line: int
    call: int


@dataclass(frozen=True, slots=True)
class TargetReport:
    """One target: what was seen, what had been claimed, and what had not."""

    observation: Observation
    judged: tuple[Judged, ...]
    unpredicted: tuple[Break, ...]
    recompiling: tuple[tuple[Recompile, ...], ...]
    """The recompiles of each function that was compiled again at least twice or met the limit."""
    stale: tuple[Stale, ...] = ()
    """Of each function, where no finding had said so."""
    mended: Mended | None = None
    """What trying fixes came to, if that was asked for."""

    def fails(self, on: FailOn) -> bool:
        """Whether something of that kind happened that is more than a note."""
        confirmed = any(
            item.verdict is Verdict.CONFIRMED and item.finding.severity is not Severity.NOTE for item in self.judged
        )
        happened = {
            FailOn.CONFIRMED: confirmed,
            FailOn.UNPREDICTED: self.unpredicted or self.stale,
            FailOn.RECOMPILE: self.recompiling,
        }
        return any(happened.values()) if on is FailOn.ANY else bool(happened[on])


def exit_code(reports: Iterable[TargetReport], fail_on: FailOn = FailOn.ANY) -> int:
    """2 if some target could not be observed to its end, 1 if what was asked for happened somewhere."""
    reports = tuple(reports)
    if any(report.observation.status is not Status.OK for report in reports):
        return 2
    return int(any(report.fails(fail_on) for report in reports))


def files(observation: Observation) -> frozenset[str]:
    """First-party files that Dynamo traced."""
    return frozenset(item.path for item in observation.traced)


def frames_of(observation: Observation, finding: Finding, read: Callable[[str], str]) -> set[str]:
    """The frames, without recompile numbers, that traced what the finding points at."""
    return Join(observation, Sources(read)).frames_of(finding)


def rules_for(item: Break) -> tuple[str, ...]:
    """The rules that say that such a break can be foreseen."""
    return tuple(sorted(rule.code for rule in load().values() if {item.gb, item.root_gb} & set(rule.gb)))


def judge(observation: Observation, findings: Iterable[Finding], read: Callable[[str], str]) -> TargetReport:
    """`read` gives the source of a path, for its statements."""
    join = Join(observation, Sources(read))
    judged = tuple(join.judged(finding) for finding in sorted(findings, key=lambda finding: finding.sort_key))
    predicted = {
        statement
        for item in judged
        if item.verdict is Verdict.CONFIRMED and item.finding.effect in BREAKS
        for statement in join.statements_of(item.finding)
    }
    unpredicted = [item for item in observation.breaks if not predicted & join.statements_of_break(item)]
    if (raised := observation.raised) and any(map(join.raises, unpredicted)):
        unpredicted = [item for item in unpredicted if not join.raises(item)]
        remark = f"{raised.path}:{raised.line} raises with these inputs, compiled or not: nobody had to foresee a break"
        observation = replace(observation, remarks=(*observation.remarks, remark))
    return TargetReport(observation, judged, tuple(unpredicted), join.recompiles.repeated())


class Join:
    """The events of one observation, ordered for looking up."""

    def __init__(self, observation: Observation, sources: Sources) -> None:
        self._observation = observation
        self._sources = sources
        self._breaks: dict[Statement, list[Break]] = defaultdict(list)
        for item in observation.breaks:
            for statement in self.statements_of_break(item):
                self._breaks[statement].append(item)
        self._failures: dict[Statement, Failure] = {}
        for failure in observation.failures:
            self._failures[sources.statement(failure.path, failure.line)] = failure
        self.recompiles = Recompiles(observation, sources)

    def statements_of(self, finding: Finding) -> set[Statement]:
        """The finding's own statement, and the one of its root."""
        places = {(finding.span.path, finding.span.line)}
        path, _, line = finding.root.rpartition(":")
        if path and line.isdecimal():
            places.add((path, int(line)))
        return {self._sources.statement(*place) for place in places}

    def statements_of_break(self, item: Break) -> set[Statement]:
        path, _, line = item.root.rpartition(":")
        return {self._sources.statement(item.path, item.line), self._sources.statement(path, int(line))}

    def raises(self, item: Break) -> bool:
        """Whether it lies where the call then raised: Dynamo had met the error, and left the line to Python."""
        raised = self._observation.raised
        return raised is not None and self._sources.statement(*raised[:2]) in self.statements_of_break(item)

    def judged(self, finding: Finding) -> Judged:
        match finding.effect:
            case Effect.RECOMPILE:
                return self._recompile(finding)
            case Effect.FROZEN_VALUE:
                text = "shows only when the value changes between two calls"
                return self._verdict(finding, Verdict.NOT_REACHED, text if self.frames_of(finding) else NOT_TRACED)
            case Effect.PLACEMENT:
                text = "about how torch.compile is used, which no event shows"
                return self._verdict(finding, Verdict.NOT_REACHED, text)
            case _:
                return self._break(finding)

    def _verdict(
        self,
        finding: Finding,
        verdict: Verdict,
        evidence: str,
        best: Break | None = None,
        recompiles: Sequence[Recompile] = (),
    ) -> Judged:
        """`best` and `recompiles` are what decided."""
        traced = self.frames_of(finding)
        frames = [item.frame for item in recompiles] or sorted(traced)
        return Judged(finding, verdict, evidence, Basis(bool(traced), (best.number,) if best else (), tuple(frames)))

    def _break(self, finding: Finding) -> Judged:
        statements = self.statements_of(finding)
        for statement in statements:
            if failure := self._failures.get(statement):
                return self._verdict(finding, Verdict.CONFIRMED, f"compiling raised {failure.kind}")
        here = [item for statement in statements for item in self._breaks.get(statement, ())]
        best = max(here, key=lambda item: _agreement(item, finding), default=None)
        if best and self.raises(best) and not _foreseen(best, finding):
            return self._verdict(finding, Verdict.NOT_REACHED, "the call raises there with these inputs")
        if best and (_agreement(best, finding) or not finding.gb):
            times = f", {best.count} times" if best.count > 1 else ""
            text = f"{best.gb or best.gb_type}: {best.kind.value.replace('-', ' ')}{times}"
            return self._verdict(finding, Verdict.CONFIRMED, text, best)
        if not (frames := self.frames_of(finding)):
            return self._verdict(finding, Verdict.NOT_REACHED, NOT_TRACED)
        if (training := finding.when.training) is not None and training not in self._modes(frames):
            text = f"holds in {'training' if training else 'evaluation'} mode, in which it was not run"
            return self._verdict(finding, Verdict.NOT_REACHED, text)
        if best:
            text = f"broke for another reason, {best.gb or best.gb_type}"
            return self._verdict(finding, Verdict.REFUTED, text, best)
        return self._verdict(finding, Verdict.REFUTED, "traced without a break")

    def _recompile(self, finding: Finding) -> Judged:
        verdict, evidence, recompiles = self.recompiles.judged(finding, self.frames_of(finding))
        return self._verdict(finding, verdict, evidence, recompiles=recompiles)

    def _modes(self, frames: set[str]) -> set[bool | None]:
        return {traced.training for traced in self._observation.traced if traced.frame in frames}

    def frames_of(self, finding: Finding) -> set[str]:
        """Frames for which the expression was traced, or its statement if it compiles to no instruction of its own."""
        path, span = finding.span.path, _extent(finding)
        own = any(_inside(extent, span) for extent in self._sources.extents(path))
        statement = self._sources.statement(path, span.line)

        def covers(extent: Extent) -> bool:
            return _inside(extent, span) if own else self._sources.statement(path, extent.line) == statement

        here = (traced for traced in self._observation.traced if traced.path == path)
        return {traced.frame for traced in here if any(map(covers, traced.extents))}


def _extent(finding: Finding) -> Extent:
    span = finding.span
    return Extent(span.line, span.column, span.end_line, span.end_column)


def _inside(inner: Extent, outer: Extent) -> bool:
    return outer[:2] <= inner[:2] and inner[2:] <= outer[2:]


def _foreseen(item: Break, finding: Finding) -> bool:
    """Whether the break has an id that the finding names."""
    return bool({item.gb, item.root_gb} & set(finding.gb))


def _agreement(item: Break, finding: Finding) -> int:
    """How well a break in the finding's statement fits it: 0 not at all, more is better."""
    known = _foreseen(item, finding)
    if item.column is None or item.end_column is None or item.path != finding.span.path:
        return 2 if known else 1
    span, broken = _extent(finding), Extent(item.line, item.column, item.line, item.end_column)
    return 2 * known + _inside(broken, span)


def read_source(path: str) -> str:
    return Path(path).read_text(encoding="utf-8")
