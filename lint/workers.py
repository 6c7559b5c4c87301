"""Tasks for several processes: each takes the next folder's files when it has done one's, and gives back results."""

from __future__ import annotations

import gc
import itertools
import multiprocessing
import os
from collections.abc import Iterator, Mapping, Sequence
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import NamedTuple, TypeAlias

from .cache import SummaryCache
from .config import Config
from .project import Project
from .results import Done, Result, Task
from .ruleset import ruleset
from .type_source import TypeSource
from .units import Units

Told: TypeAlias = tuple[Done, list[str]]
"""What has been done, and remarks on it."""
WORTH_IT = 60
"""Tasks from which on a second process pays for its start."""


class Setup(NamedTuple):
    """What a process needs to make a project of its own."""

    config: Config
    torch: str
    cache: SummaryCache | None
    environment: frozenset[str]
    contents: Mapping[str, bytes]
    types: TypeSource | None


def processes_for(tasks: int, asked: int | None) -> int:
    """How many processes to use: what was asked for, else one a core where there is enough to do."""
    available = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min(asked or available, tasks // WORTH_IT))


def run(tasks: Sequence[Task], setup: Setup, processes: int) -> Iterator[Told]:
    """Do the tasks in that many processes. Raises RuntimeError if one of them dies."""
    batches = iter([tuple(batch) for _, batch in itertools.groupby(tasks, key=lambda task: os.path.dirname(task.path))])
    team: dict[Connection, BaseProcess] = {}
    try:
        for _ in range(processes):
            ours, theirs = multiprocessing.Pipe()
            process: BaseProcess = multiprocessing.Process(target=_serve, args=(theirs, setup), daemon=True)
            process.start()
            theirs.close()
            team[ours] = process
        waiting = {connection for connection in team if _send(connection, batches)}
        while waiting:
            for ready in wait(list(waiting)):
                assert isinstance(ready, Connection)
                yield _received(ready, team[ready])
                if not _send(ready, batches):
                    waiting.discard(ready)
    finally:
        for connection, process in team.items():
            connection.close()
            process.terminate()
            process.join()


def _send(connection: Connection, batches: Iterator[tuple[Task, ...]]) -> bool:
    batch = next(batches, None)
    if batch is not None:
        connection.send(batch)
    return batch is not None


def _received(connection: Connection, process: BaseProcess) -> Told:
    try:
        told: Told | Exception = connection.recv()
    except EOFError:
        process.join()
        raise RuntimeError(f"a worker process ended with exit code {process.exitcode}") from None
    if isinstance(told, Exception):
        raise told
    return told


def _serve(connection: Connection, setup: Setup) -> None:
    gc.disable()
    project = Project(Path(setup.config.root), setup.cache, setup.config.first_party, setup.contents)
    rules = ruleset(setup.torch, setup.config.rules)
    units = Units(project, setup.config, rules, setup.environment, types=setup.types)
    while True:
        try:
            batch: tuple[Task, ...] = connection.recv()
        except EOFError:
            return
        try:
            connection.send(done_by(units, project, batch))
        except Exception as error:
            connection.send(error)


def done_by(units: Units, project: Project, tasks: Sequence[Task]) -> Told:
    """Do the tasks here; a file that can't be read any more has no result."""
    results: list[tuple[Task, Result]] = []
    for task in tasks:
        try:
            results.append((task, units.assumed(task)))
        except OSError:
            continue
    return Done(tuple(results), dict(project.asked), project.parsed()), units.remarks
