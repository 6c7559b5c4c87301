"""One verification from end to end: targets are run and observed, their files checked, and both joined into reports."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import TypeAlias

from msgspec import structs

from fullgraph.lint import engine
from fullgraph.lint.config import EntryPoint
from fullgraph.lint.findings import Finding, Verdict
from fullgraph.lint.request import CheckRequest
from fullgraph.lint.target import resolve

from .environment import early
from .events import Observation, Status
from .isolate import Pool
from .merge import merged
from .plan import Plan
from .proof import proven
from .record import record
from .targets import Job, Object, Script, Target
from .verify import TargetReport, files, judge, read_source

Watch: TypeAlias = Callable[[Iterator[Observation], int], Iterable[Observation]]
"""Hands on the observations as they come, of which there will be so many."""
LIBRARIES = frozenset({"site-packages", "dist-packages"})


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
    with Pool(parallel) as pool:
        done = _reports(pool, jobs, request, watch, compare)
        if folder:
            record(pool, jobs, done, folder)
        return done


def _reports(pool: Pool, jobs: Sequence[Job], request: CheckRequest, watch: Watch, compare: bool) -> list[TargetReport]:
    seen = list(watch(pool.observe(jobs), len(jobs)))
    judged = list(with_findings([job.target for job in jobs], seen, request))
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
    return proven(pool, jobs, list(with_findings([job.target for job in jobs], seen, request)), compare)


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
    targets: Sequence[Target], seen: Sequence[Observation], request: CheckRequest
) -> Iterator[TargetReport]:
    """Join with what `fullgraph check` says about all files that were touched, for the torch that ran them."""
    if not seen:
        return
    touched = [files(item) | _own(target.path) for target, item in zip(targets, seen, strict=False)]
    names = frozenset[str]().union(*touched)
    entries = [entry for target, item in zip(targets, seen, strict=False) for entry in _entry(target, item)]
    version = ".".join(seen[0].torch.split(".")[:2])
    findings = engine.check(
        replace(
            request,
            files=tuple(sorted(Path(name).absolute() for name in names)),
            config=replace(request.config, entry=(*request.config.entry, *entries)),
            torch=resolve(version, request.config.root).torch,
        )
    ).findings
    placed = [_placed(finding) for finding in findings]
    for item, own in zip(seen, touched, strict=True):
        yield judge(item, (finding for finding in placed if finding.span.path in own), read_source)


def _placed(finding: Finding) -> Finding:
    """With its paths as events have them: those that lead out of the working directory are absolute."""
    path, _, line = finding.root.rpartition(":")
    root = f"{_shown(path)}:{line}" if path else finding.root
    return structs.replace(finding, span=structs.replace(finding.span, path=_shown(finding.span.path)), root=root)


def _shown(path: str) -> str:
    return Path(os.path.abspath(path)).as_posix() if path.startswith("../") else path  # noqa: PTH100


def _entry(target: Target, seen: Observation) -> tuple[EntryPoint, ...]:
    """What was called: the outermost first-party function that was traced."""
    if not isinstance(target.program, Object):
        return ()
    named = (item for item in seen.traced if all(part.isidentifier() for part in item.function.split(".")))
    return tuple(EntryPoint(Path(item.path).absolute(), item.function) for item in islice(named, 1))


def _own(path: Path) -> frozenset[str]:
    """The target's own file as events show it, relative inside the working directory; nothing if it is installed."""
    if LIBRARIES & set(path.parts):
        return frozenset()
    working = Path.cwd()
    return frozenset({path.relative_to(working).as_posix() if path.is_relative_to(working) else path.as_posix()})
