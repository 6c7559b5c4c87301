"""Proves frozen values: targets whose findings name some run twice more, compiled and eagerly, each in a process of its
own, and the two are compared call by call. Reports enter and leave, with verdicts for those findings.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from fullgraph.lint.findings import Effect, Verdict

from .events import Observation, Result, Status
from .isolate import Pool
from .sources import Source, Watch, source_of
from .targets import Job
from .verify import Judged, TargetReport, frames_of, read_source


def proven(pool: Pool, jobs: Sequence[Job], reports: Sequence[TargetReport]) -> list[TargetReport]:
    """Only targets that ended well are run again."""
    done = list(reports)
    watched = [
        (index, sources)
        for index, report in enumerate(reports)
        if report.observation.status is Status.OK and not jobs[index].settings.fake
        if any(sources := [_source(item) for item in report.judged])
    ]
    again = [
        replace(jobs[index], watch=Watch(tuple(filter(None, sources)), eager))
        for index, sources in watched
        for eager in (False, True)
    ]
    seen = list(pool.observe(again)) if again else []
    for (index, sources), compiled, eager in zip(watched, seen[::2], seen[1::2], strict=False):
        numbers = iter(range(len(sources)))
        judged = (
            item if source is None else _judged(item, source, next(numbers), compiled, eager)
            for item, source in zip(reports[index].judged, sources, strict=True)
        )
        done[index] = replace(reports[index], judged=tuple(judged))
    return done


def _source(item: Judged) -> Source | None:
    """What to change, if the finding is of a frozen value and was traced."""
    if item.finding.effect is not Effect.FROZEN_VALUE or not item.basis.traced:
        return None
    try:
        return source_of(item.finding, read_source(item.finding.span.path))
    except (OSError, ValueError):
        return None


def _judged(item: Judged, source: Source, number: int, compiled: Observation, eager: Observation) -> Judged:
    frames = frames_of(compiled, item.finding, read_source)
    entries = {result.entry for result in compiled.results if frames & set(result.frames)}
    for entry in sorted(entries):
        calls = list(_calls(entry, compiled.results, eager.results))
        if verdict := _seen(source, number, frames, calls):
            return _with(item, *verdict)
    for probe in compiled.probed:
        if probe.source == number and probe.entry in entries and probe.stale is not None:
            return _with(item, Verdict.CONFIRMED if probe.stale else Verdict.REFUTED, probe.evidence)
    reasons = [probe.evidence for probe in compiled.probed if probe.source == number and probe.entry in entries]
    return _with(item, Verdict.NOT_REACHED, next(iter(reasons), "no call of a compiled function came to it again"))


def _with(item: Judged, verdict: Verdict, evidence: str) -> Judged:
    return Judged(item.finding, verdict, evidence, item.basis)


def _calls(entry: str, compiled: Iterable[Result], eager: Iterable[Result]) -> Iterator[tuple[Result, Result]]:
    """The entry's calls as long as both runs make the same ones."""
    for one, other in zip(compiled, eager, strict=False):
        if one.entry != other.entry:
            return
        if one.entry == entry:
            yield one, other


def _seen(
    source: Source, number: int, frames: set[str], calls: list[tuple[Result, Result]]
) -> tuple[Verdict, str] | None:
    """What the program's own calls show, if it changed the source between two of them, and nothing else watched."""
    agreed: Result | None = None
    for count, (compiled, eager) in enumerate(calls, 1):
        alike = compiled.arguments.same(eager.arguments)
        if agreed is None:
            agreed = compiled if alike and compiled.value.same(eager.value) else None
            continue
        changed = {
            place for place, pair in enumerate(zip(agreed.states, compiled.states, strict=True)) if len(set(pair)) > 1
        }
        if number not in changed:
            continue
        if frames & set(compiled.frames):
            return Verdict.REFUTED, f"compiled again when the {source.kind.value} had changed, at call {count}"
        if changed == {number} and alike and not compiled.value.same(eager.value):
            return Verdict.CONFIRMED, f"call {count} gave the old result although the {source.kind.value} had changed"
    return None
