"""Tasks for several processes: each takes the next folder's files when it has done one's, and gives back results."""

from __future__ import annotations

import gc
import itertools
import multiprocessing
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from multiprocessing.connection import Connection, wait
from multiprocessing.context import ForkContext, SpawnContext
from multiprocessing.process import BaseProcess
from typing import NamedTuple

from .cache import SummaryCache
from .config import Config
from .project import Project
from .results import Done, Result, Task
from .room import with_room
from .ruleset import ruleset
from .type_source import TypeSource
from .units import Units

WORTH_IT = 60
"""Tasks from which on a second process pays for its start."""
TOO_MANY = 600
"""Tasks from which on one process alone would come to remember too much."""
FORKS = sys.platform == "linux"
"""Whether a process begins with all that the one that starts it knows."""


class Told(NamedTuple):
    """What a process says when it has done some tasks."""

    done: Done
    remarks: list[str]
    full: bool = False
    """So much is remembered that another process had better go on."""


class Setup(NamedTuple):
    """What a process needs to make a project of its own."""

    config: Config
    torch: str
    cache: SummaryCache | None
    environment: frozenset[str]
    contents: Mapping[str, bytes]
    types: TypeSource | None

    def units(self) -> Units:
        config = self.config
        project = Project(config.root, self.cache, config.first_party, self.contents)
        return Units(project, config, ruleset(self.torch, config.rules), self.environment, types=self.types)


def processes_for(tasks: int, asked: int | None) -> int:
    """How many processes to use: what was asked for, else one a core; none where this one can do it as well."""
    available = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    count = min(asked or available, tasks // WORTH_IT)
    return count if count > 1 or tasks >= TOO_MANY else 0


def run(tasks: Sequence[Task], setup: Setup, processes: int, here: Units) -> Iterator[Told]:
    """Do the tasks in that many processes, which begin with what is known `here` where they can.

    What a process remembers is never freed bit by bit: one that is full ends, and another takes its place. Raises
    RuntimeError if one of them dies.
    """
    context: SpawnContext | ForkContext
    context = multiprocessing.get_context("fork") if FORKS else multiprocessing.get_context("spawn")
    batches = iter([tuple(batch) for _, batch in itertools.groupby(tasks, key=lambda task: os.path.dirname(task.path))])
    team: dict[Connection, BaseProcess] = {}

    def begin(batch: tuple[Task, ...]) -> None:
        ours, theirs = context.Pipe()
        process = context.Process(target=_serve, args=(theirs, setup, here if FORKS else None), daemon=True)
        process.start()
        theirs.close()
        team[ours] = process
        ours.send(batch)

    try:
        for batch in itertools.islice(batches, processes):
            begin(batch)
        while team:
            for ready in wait(list(team)):
                assert isinstance(ready, Connection)
                told = _received(ready, team[ready])
                yield told
                batch = next(batches, ())
                if batch and not told.full:
                    ready.send(batch)
                    continue
                _end(ready, team.pop(ready))
                if batch:
                    begin(batch)
    finally:
        for connection, process in team.items():
            _end(connection, process)


def _end(connection: Connection, process: BaseProcess) -> None:
    connection.close()
    process.terminate()
    process.join()


def _received(connection: Connection, process: BaseProcess) -> Told:
    try:
        told: Told | Exception = connection.recv()
    except EOFError:
        process.join()
        raise RuntimeError(f"a worker process ended with exit code {process.exitcode}") from None
    if isinstance(told, Exception):
        raise told
    return told


def _serve(connection: Connection, setup: Setup, known: Units | None) -> None:
    gc.disable()
    units = known or setup.units()
    units.learned()
    while True:
        try:
            batch: tuple[Task, ...] = connection.recv()
        except EOFError:
            return
        try:
            connection.send(with_room(partial(done_by, units, batch)))
        except Exception as error:
            connection.send(error)


def done_by(units: Units, tasks: Sequence[Task]) -> Told:
    """Do the tasks here; a file that can't be read any more has no result."""
    results: list[tuple[Task, Result]] = []
    for task in tasks:
        try:
            results.append((task, units.assumed(task)))
        except OSError:
            continue
    return Told(Done(tuple(results), *units.learned()), units.remarks, units.full)
