"""One verification from end to end: targets are run and observed, their files checked, and both joined into reports."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import TypeAlias

from msgspec import structs

from fullgraph.lint import engine
from fullgraph.lint.config import EntryPoint
from fullgraph.lint.findings import CheckReport, Finding, Verdict
from fullgraph.lint.libraries import is_installed
from fullgraph.lint.request import CheckRequest
from fullgraph.lint.target import resolve

from .environment import early
from .events import CallSite, Frame, Observation, Status, Traced
from .isolate import INTERRUPTED, Pool
from .kept import Kept
from .mend.lab import Contents
from .mend.search import mend
from .mend.sites import absolute
from .mend.trial import Trial
from .merge import merged
from .plan import Plan
from .proof import proven
from .record import record
from .targets import Job, Object, Script, Target
from .verify import TargetReport, files, judge

Watch: TypeAlias = Callable[[Iterator[Observation], int], Iterable[Observation]]
"""Hands on the observations as they come, of which there will be so many."""
SHARED = "--input goes to every target; in [tool.fullgraph.targets] each can have inputs of its own"


def reports(
    plans: Sequence[Plan],
    request: CheckRequest,
    parallel: int,
    watch: Watch,
    compare: bool = False,
    folder: Path | None = None,
) -> list[TargetReport]:
    """A report for each target that was run; with `compare` all run eagerly too. What the linter got wrong goes into
    the folder. Raises ServerError if none can run.
    """
    jobs = [_job(plan, request) for plan in plans]
    kept = Kept.of(job.target for job in jobs)
    with Pool(parallel) as pool:
        done = _reports(pool, jobs, request, kept, watch, compare)
        if folder:
            record(pool, jobs, done, folder, kept.read)
        return done


@dataclass(frozen=True, slots=True)
class Fixed:
    """What verifying and trying fixes came to."""

    reports: Sequence[TargetReport]
    """Of the files as they are, with a row for each site."""
    left: Sequence[TargetReport]
    """Of the files with the accepted fixes."""
    changed: tuple[tuple[str, bytes, bytes], ...] = ()
    """Path as it is shown, contents before, contents with the accepted fixes. Nothing is written here."""


def fixed(plans: Sequence[Plan], request: CheckRequest, parallel: int, watch: Watch, compare: bool = False) -> Fixed:
    """As `reports`, then with fixes tried, one after the other. Raises KeyboardInterrupt if that is cut short."""
    jobs = [_job(plan, request) for plan in plans]
    kept = Kept.of(job.target for job in jobs)

    def judged(job: Job, seen: Observation, contents: Contents) -> TargetReport:
        return next(with_findings([job.target], [seen], request, kept.showing(contents)))

    with Pool(parallel) as pool:
        done = _reports(pool, jobs, request, kept, watch, compare)
        if len(done) < len(jobs) or any(report.observation.detail == INTERRUPTED for report in done):
            return Fixed(done, done)
        mending = mend(pool, jobs, done, kept, judged)
        if not mending.changed:
            return Fixed(mending.reports, mending.reports)
        contents = {absolute(path): after for path, _, after in mending.changed}
        shown = Trial(tuple(contents.items()), eager=False, others=False)
        again = [replace(job, trial=shown) for job in jobs]
        left = _reports(pool, again, request, kept.showing(contents), watch, compare)
        return Fixed(mending.reports, left, mending.changed)


def _reports(
    pool: Pool, jobs: Sequence[Job], request: CheckRequest, kept: Kept, watch: Watch, compare: bool
) -> list[TargetReport]:
    seen = list(watch(_advised(jobs, pool.observe(jobs)), len(jobs)))
    judged = list(with_findings([job.target for job in jobs], seen, request, kept))
    again = [
        (index, _other_mode(job))
        for index, (job, report) in enumerate(zip(jobs, judged, strict=False))
        if len(judged) == len(jobs) and _holds_in_the_other_mode(job, report)
    ]
    if not again:
        return proven(pool, jobs, judged, compare)
    others = list(watch(pool.observe([job for _, job in again]), len(again)))
    for (index, job), other in zip(again, others, strict=False):
        seen[index] = merged(seen[index], other, f"run in {_mode(job)} mode too, in which some findings hold")
    return proven(pool, jobs, list(with_findings([job.target for job in jobs], seen, request, kept)), compare)


def _advised(jobs: Sequence[Job], seen: Iterable[Observation]) -> Iterator[Observation]:
    """What failed with inputs that all others got too may have been given the wrong ones."""
    shared = len(jobs) > 1 and len({job.settings.inputs for job in jobs}) == 1 and jobs[0].settings.inputs
    for item in seen:
        astray = shared and item.status is Status.FAILED and re.search(r"Error\b|--input", item.detail or "")
        yield replace(item, remarks=(*item.remarks, SHARED)) if astray else item


def _job(plan: Plan, request: CheckRequest) -> Job:
    target = plan.target
    return Job(
        target,
        plan.settings,
        roots=roots(target, request),
        first_party=request.config.first_party,
        environment=early(target.path) if isinstance(target.program, Script) else (),
    )


def roots(target: Target, request: CheckRequest) -> tuple[Path, ...]:
    """Folders that hold first-party code."""
    return (request.config.root, Path.cwd(), target.path.parent)


def _holds_in_the_other_mode(job: Job, report: TargetReport) -> bool:
    """Whether the target was run in one mode, nobody asking for it, and some finding on its way holds in the other."""
    ended_well = report.observation.status is Status.OK
    if not ended_well or job.settings.training is not None or not isinstance(job.target.program, Object):
        return False
    traced = {item.function for item in report.observation.traced}
    return any(
        item.finding.when.training
        and item.verdict is not Verdict.CONFIRMED
        and traced & {item.finding.function, *item.finding.via}
        for item in report.judged
    )


def _other_mode(job: Job) -> Job:
    return replace(job, settings=replace(job.settings, training=not job.settings.training))


def _mode(job: Job) -> str:
    return "training" if job.settings.training else "evaluation"


def with_findings(
    targets: Sequence[Target], seen: Sequence[Observation], request: CheckRequest, kept: Kept
) -> Iterator[TargetReport]:
    """Join with what `fullgraph check` says about all files that were touched, for the torch that ran them."""
    if not seen:
        return
    touched = [files(item) | _own(target.path) for target, item in zip(targets, seen, strict=False)]
    names = frozenset[str]().union(*touched)
    version = ".".join(seen[0].torch.split(".")[:2])
    request = replace(
        request,
        files=tuple(sorted(Path(name).absolute() for name in names)),
        torch=resolve(version, request.config.root).torch,
        contents=kept.contents,
    )
    called = [item for target, seen_of in zip(targets, seen, strict=False) for item in _called(target, seen_of, kept)]
    report = _checked(request, called)
    known = {_shown(entry.path) for entry in report.entries if entry.how != "assumed"}
    if unknown := [item for seen_of in seen for item in _begun(seen_of, kept) if item.path not in known]:
        report = _checked(request, [*called, *unknown])
    placed = [_placed(finding) for finding in report.findings]
    for item, own in zip(seen, touched, strict=True):
        gone = (f"{name} is gone, and with it what would have been found there" for name in own if not kept.has(name))
        seen_of = replace(item, remarks=(*item.remarks, *sorted(gone)))
        yield judge(seen_of, (finding for finding in placed if finding.span.path in own), kept.read)


def _checked(request: CheckRequest, begun: Iterable[Traced]) -> CheckReport:
    """With these functions as entries, besides those that the code or the settings name."""
    config = request.config
    entries = (EntryPoint(Path(item.path).absolute(), item.function) for item in begun)
    return engine.check(replace(request, config=replace(config, entry=(*config.entry, *dict.fromkeys(entries)))))


def _placed(finding: Finding) -> Finding:
    """With its paths as events have them: those that lead out of the working directory are absolute."""
    path, _, line = finding.root.rpartition(":")
    root = f"{_shown(path)}:{line}" if path else finding.root
    return structs.replace(finding, span=structs.replace(finding.span, path=_shown(finding.span.path)), root=root)


def _shown(path: str) -> str:
    return Path(os.path.abspath(path)).as_posix() if path.startswith("../") else path  # noqa: PTH100


def _called(target: Target, seen: Observation, kept: Kept) -> Iterator[Traced]:
    """What was called of a target that is an object: the outermost first-party function that was traced."""
    if isinstance(target.program, Object):
        yield from islice(_named(seen, kept), 1)


def _begun(seen: Observation, kept: Kept) -> list[Traced]:
    """What the program compiled: the outermost function of each frame, unless it was called by one that was traced."""
    named = list(_named(seen, kept))
    first = {item.frame: item for item in reversed(named)}
    traced = set(map(_function, named))
    called = {_function(item) for item in named if item is not first[item.frame]}
    called |= {_function(item) for item in seen.frames if traced & set(map(_function, item.stack))}
    return [item for item in first.values() if _function(item) not in called]


def _function(item: Traced | Frame | CallSite) -> tuple[str, str]:
    return item.path, item.function


def _named(seen: Observation, kept: Kept) -> Iterator[Traced]:
    """The functions that have a name of their own, and a source."""
    for item in seen.traced:
        if all(part.isidentifier() for part in item.function.split(".")) and kept.has(item.path):
            yield item


def _own(path: Path) -> frozenset[str]:
    """The target's own file as events show it, relative inside the working directory; nothing if it is installed."""
    if is_installed(path):
        return frozenset()
    working = Path.cwd()
    return frozenset({path.relative_to(working).as_posix() if path.is_relative_to(working) else path.as_posix()})
