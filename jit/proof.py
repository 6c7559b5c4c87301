"""Proves frozen values: targets whose findings name some run again, compiled and eagerly, each in a process of its own,
and the two are compared call by call. Reports enter and leave, with verdicts for those findings, and with calls that
gave an old result although no finding had said so.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from fullgraph.lint.findings import Effect, Verdict

from .events import Observation, Result, Status
from .isolate import Pool
from .sources import Kind, Source, Watch, source_of
from .targets import Job
from .verify import Judged, Stale, TargetReport, frames_of, read_source

UNSTEADY = "two eager runs differ from each other"


def proven(pool: Pool, jobs: Sequence[Job], reports: Sequence[TargetReport], every: bool) -> list[TargetReport]:
    """Only targets that ended well are run again: those with findings of frozen values, or `every` one."""
    done = list(reports)
    watched = {
        index: sources
        for index, report in enumerate(reports)
        if report.observation.status is Status.OK and not jobs[index].settings.fake
        if any(sources := [_source(item) for item in report.judged]) or every
    }
    watches = [(jobs[index], tuple(filter(None, sources))) for index, sources in watched.items()]
    seen = _observed(pool, [_again(job, sources, eager) for job, sources in watches for eager in (False, True)])
    runs = [Runs(compiled, eager) for compiled, eager in zip(seen[::2], seen[1::2], strict=False)]
    doubtful = [place for place, run in enumerate(runs) if run.differ]
    once_more = _observed(pool, [_again(*watches[place], eager=True) for place in doubtful])
    for place, other in zip(doubtful, once_more, strict=False):
        runs[place] = replace(runs[place], steady=_alike(runs[place].eager, other))
    for index, run in zip(watched, runs, strict=False):
        done[index] = _report(reports[index], watched[index], run)
    return done


def _again(job: Job, sources: tuple[Source, ...], eager: bool) -> Job:
    """With graphs that compute what eager code does, to the last digit."""
    return replace(job, settings=replace(job.settings, backend="eager"), watch=Watch(sources, eager))


def _observed(pool: Pool, jobs: Sequence[Job]) -> list[Observation]:
    return list(pool.observe(jobs)) if jobs else []


def _source(item: Judged) -> Source | None:
    """What to change, if the finding is of a frozen value and could show."""
    if item.finding.effect is not Effect.FROZEN_VALUE:
        return None
    try:
        source = source_of(item.finding, read_source(item.finding.span.path))
    except (OSError, ValueError):
        return None
    return source if source and (source.outside or item.basis.traced) else None


@dataclass(frozen=True, slots=True)
class Runs:
    """One program, compiled and eagerly; `steady` says that it does the same each time."""

    compiled: Observation
    eager: Observation
    steady: bool = True

    @property
    def differ(self) -> bool:
        return not _alike(self.compiled, self.eager)

    def calls(self, entry: str) -> Iterator[tuple[Result, Result]]:
        """The entry's calls as long as both runs make the same ones."""
        for one, other in zip(self.compiled.results, self.eager.results, strict=False):
            if one.entry != other.entry:
                return
            if one.entry == entry:
                yield one, other

    @property
    def entries(self) -> list[str]:
        return sorted({result.entry for result in self.compiled.results})

    def stale(self, entry: str) -> Stale | None:
        """The first call that used compiled code and gave what eager code does not, after one that had agreed."""
        frames: set[str] = set()
        agreed = False
        for count, (compiled, eager) in enumerate(self.calls(entry), 1):
            frames.update(compiled.frames)
            alike, same = compiled.arguments.same(eager.arguments), compiled.value.same(eager.value)
            if agreed and alike and not same and not compiled.frames:
                first = next((item for item in self.compiled.frames if item.id.partition("/")[0] in frames), None)
                return Stale(entry, first.path if first else "", first.line if first else 0, count)
            agreed = agreed or (alike and same)
        return None


def _alike(one: Observation, other: Observation) -> bool:
    """Whether two runs printed and computed the same."""
    return (
        one.printed == other.printed
        and len(one.results) == len(other.results)
        and all(a.entry == b.entry and a.value.same(b.value) for a, b in zip(one.results, other.results, strict=True))
    )


def _report(report: TargetReport, sources: Sequence[Source | None], runs: Runs) -> TargetReport:
    numbers = iter(range(len(sources)))
    judged: list[Judged] = []
    foreseen: set[str] = set()
    for item, source in zip(report.judged, sources, strict=True):
        if source is None:
            judged.append(item)
            continue
        verdict, evidence, entry = _verdict(item, source, next(numbers), runs)
        judged.append(Judged(item.finding, verdict, evidence, item.basis))
        if verdict is Verdict.CONFIRMED:
            foreseen.add(entry)
    others = (entry for entry in runs.entries if runs.steady and entry not in foreseen)
    stale = tuple(filter(None, map(runs.stale, others)))
    return replace(report, judged=tuple(judged), stale=stale)


def _verdict(item: Judged, source: Source, number: int, runs: Runs) -> tuple[Verdict, str, str]:
    """With the entry that showed it."""
    frames = None if source.outside else frames_of(runs.compiled, item.finding, read_source)
    entries = [
        entry
        for entry in runs.entries
        if frames is None or any(frames & set(call.frames) for call in runs.compiled.results if call.entry == entry)
    ]
    reasons = []
    for entry in entries:
        match _seen(source, number, frames, entry, runs):
            case Verdict.CONFIRMED, _ if not runs.steady:
                reasons.append(UNSTEADY)
            case verdict, evidence:
                return verdict, evidence, entry
    for probe in runs.compiled.probed:
        if probe.source == number and probe.entry in entries:
            if probe.stale is not None:
                return Verdict.CONFIRMED if probe.stale else Verdict.REFUTED, probe.evidence, probe.entry
            reasons.append(probe.evidence)
    return Verdict.NOT_REACHED, next(iter(reasons), "no call of a compiled function came to it again"), ""


def _seen(source: Source, number: int, frames: set[str] | None, entry: str, runs: Runs) -> tuple[Verdict, str] | None:
    """What the program's own calls show, if it changed the source between two of them, and nothing else watched."""
    if source.kind is Kind.GUARDS:
        stale = runs.stale(entry)
        return (Verdict.CONFIRMED, f"call {stale.call} gave an old result and no guard failed") if stale else None
    what = source.kind.value
    agreed: Result | None = None
    for count, (compiled, eager) in enumerate(runs.calls(entry), 1):
        alike = compiled.arguments.same(eager.arguments)
        if agreed is None:
            agreed = compiled if alike and compiled.value.same(eager.value) else None
            continue
        changed = {
            place for place, pair in enumerate(zip(agreed.states, compiled.states, strict=True)) if len(set(pair)) > 1
        }
        if number not in changed:
            continue
        if compiled.frames if frames is None else frames & set(compiled.frames):
            return Verdict.REFUTED, f"compiled again when the {what} had changed, at call {count}"
        if changed == {number} and alike and not compiled.value.same(eager.value):
            return Verdict.CONFIRMED, f"call {count} gave the old result although the {what} had changed"
        if source.kind is Kind.HOOKS and compiled.hooks != eager.hooks:
            return Verdict.CONFIRMED, f"eagerly a hook ran that compiled code leaves out, seen at call {count}"
        if source.kind is Kind.HOOKS and runs.compiled.printed != runs.eager.printed:
            return Verdict.CONFIRMED, f"call {count} used old code although the {what} had changed, and output differs"
    return None
