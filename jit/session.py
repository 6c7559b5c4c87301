"""One verification from end to end: targets are run and observed, their files checked, and both joined into reports."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path

from fullgraph.lint import engine
from fullgraph.lint.config import EntryPoint
from fullgraph.lint.request import CheckRequest
from fullgraph.lint.target import resolve

from .events import Observation
from .inputs import parse
from .isolate import observations
from .targets import Job, Settings, Target, TargetError
from .verify import TargetReport, files, judge, read_source


def reports(targets: Sequence[Target], settings: Settings, request: CheckRequest) -> list[TargetReport]:
    """A report for each target that was run. Raises InputError, TargetError and ServerError before any of them is."""
    for text in settings.inputs:
        parse(text)
    for target in targets:
        if target.qualname is None and settings.inputs:
            raise TargetError(f"--input is for PATH::QUALNAME; {target.text} is a script, which makes its own inputs")
    roots = (request.config.root, Path.cwd())
    jobs = [Job(target, settings, (*roots, target.path.parent)) for target in targets]
    return list(_judged(targets, list(observations(jobs)), request))


def _judged(targets: Sequence[Target], seen: list[Observation], request: CheckRequest) -> Iterator[TargetReport]:
    """Join with what `fullgraph check` says about all files that were touched, for the torch that ran them."""
    touched = [files(item) | {_shown(target.path)} for target, item in zip(targets, seen, strict=False)]
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
    for item, own in zip(seen, touched, strict=True):
        yield judge(item, (finding for finding in findings if finding.span.path in own), read_source)


def _entry(target: Target, seen: Observation) -> tuple[EntryPoint, ...]:
    """What was called: the outermost first-party function that was traced."""
    if target.qualname is None:
        return ()
    named = (item for item in seen.traced if all(part.isidentifier() for part in item.function.split(".")))
    return tuple(EntryPoint(Path(item.path).absolute(), item.function) for item in islice(named, 1))


def _shown(path: Path) -> str:
    """As events show it: relative inside the working directory, else absolute."""
    working = Path.cwd()
    return path.relative_to(working).as_posix() if path.is_relative_to(working) else path.as_posix()
