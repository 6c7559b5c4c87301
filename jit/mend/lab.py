"""Runs one target with changed files: eagerly and compiled, each time in a new process and a new working directory."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from ..events import Observation, Status
from ..isolate import INTERRUPTED, Pool
from ..targets import Job, Object, PytestTest
from .trial import Trial
from .watch import released

PYTEST = ("--assert=plain", "-q")
"""Rewriting assertions would read the file past what is shown; and how long the test took is not to be printed."""
Contents = Mapping[str, bytes]
"""Absolute path → what the program finds there."""
LEAST_PATIENCE_S = 20.0
PATIENCE = 10
"""How much longer than at first a run may take before it counts as hanging."""


@dataclass(frozen=True, slots=True)
class Standard:
    """What the unchanged program does eagerly in one mode: all that a fix may not change."""

    contents: Contents
    training: bool | None
    record: Path
    seen: Observation
    executed: frozenset[tuple[str, int]]
    unsteady: tuple[str, ...]
    """Variables that differ between two such runs, or are others when compiled."""


class Unfit(Exception):
    """The target cannot tell whether a fix is right; the text says why."""


class Lab:
    """Of one target."""

    def __init__(self, pool: Pool, job: Job) -> None:
        self._pool = pool
        self._job = job
        self._numbers = itertools.count()
        self._patience = job.settings.timeout_s

    def standard(self, contents: Contents, training: bool | None) -> Standard:
        """Runs it twice. Raises Unfit where that gives no standard."""
        record = self._pool.scratch / f"{id(self)}-{next(self._numbers)}.record"
        begun = time.monotonic()
        first = self._run(Trial(tuple(contents.items()), eager=True, record=record), training)
        again = self._run(Trial(tuple(contents.items()), eager=True, against=record, lines=True), training)
        self._patience = min(self._patience, max(LEAST_PATIENCE_S, PATIENCE * (time.monotonic() - begun)))
        for seen in (first, again):
            if seen.compared is None:
                raise Unfit(f"eagerly it does not come to its end: {seen.detail}")
        assert again.compared is not None
        own = [item.text for item in again.compared.differences if item.variable is None]
        if own or ended(first) != ended(again) or first.printed != again.printed:
            what = own[0] if own else "what it prints" if first.printed != again.printed else "how it ends"
            raise Unfit(f"two eager runs with the same seed differ from each other: {what}")
        executed = frozenset((item.path, line) for item in again.executed for line in item.lines)
        return Standard(contents, training, record, first, executed, _variables(again))

    def adapted(self, standard: Standard, compiled: Observation) -> Standard:
        """Without variables that are others in the unchanged program too once it is compiled."""
        if compiled.status is not Status.OK:
            return standard
        return replace(standard, unsteady=tuple({*standard.unsteady, *_variables(compiled)}))

    def eager(self, contents: Contents, standard: Standard) -> Observation:
        return self._against(contents, standard, eager=True)

    def compiled(self, contents: Contents, standard: Standard) -> Observation:
        return self._against(contents, standard, eager=False)

    def _against(self, contents: Contents, standard: Standard, eager: bool) -> Observation:
        trial = Trial(
            tuple(contents.items()),
            eager,
            against=standard.record,
            unsteady=standard.unsteady,
            watched=released(standard.contents, contents),
        )
        return self._run(trial, standard.training)

    def _run(self, trial: Trial, training: bool | None) -> Observation:
        target, settings = self._job.target, replace(self._job.settings, timeout_s=self._patience, stages=())
        if isinstance(target.program, PytestTest):
            program = replace(target.program, arguments=(*target.program.arguments, *PYTEST))
            target = replace(target, program=program)
        if isinstance(target.program, Object):
            settings = replace(settings, training=training)
        job = replace(self._job, target=target, settings=settings, trial=trial, watch=None)
        (seen,) = self._pool.observe([job])
        if seen.detail == INTERRUPTED:
            raise KeyboardInterrupt
        return seen


def _variables(seen: Observation) -> tuple[str, ...]:
    differences = seen.compared.differences if seen.compared else ()
    return tuple(dict.fromkeys(item.variable for item in differences if item.variable))


def ended(seen: Observation) -> tuple[bool, str]:
    """Whether the program came to its end, and what it raised, without the line."""
    good = seen.status in (Status.OK, Status.NOTHING_COMPILED)
    return good, "" if good else (seen.detail or "").rpartition(" (")[0] or (seen.detail or "")


def modes(job: Job, seen: Observation) -> Iterator[bool | None]:
    """The modes to try fixes in: both of a module, unless one is asked for."""
    chosen, calls_module = job.settings.training, any(item.training is not None for item in seen.traced)
    if isinstance(job.target.program, Object) and chosen is None and calls_module:
        yield from (False, True)
    else:
        yield chosen
