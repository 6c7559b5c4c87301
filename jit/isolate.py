"""Runs jobs in processes of their own and reads back what was seen, however they end: an observation for each job."""

from __future__ import annotations

import contextlib
import importlib.util
import itertools
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from multiprocessing import Pipe
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import NamedTuple

from .child import Ready
from .events import End, Observation, Status
from .observed import NOTHING, cause_of_death, compiled, observation, read
from .supervise import Ended, Request
from .targets import Job, Object

PATIENCE_S = 2.0
INTERRUPTED = "interrupted"
"""The detail of a job that Ctrl-C ended."""
SHOWN_OUTPUT = 20
"""Lines of a program's stderr that are kept."""
SERVER = "import sys; from fullgraph.jit.child import serve; serve(int(sys.argv[1]), native='native' in sys.argv)"


class ServerError(RuntimeError):
    """Nothing can be observed on this machine; the text says why."""


class Running(NamedTuple):
    """A job that a server has been given."""

    job: Job
    server: Connection
    ready: Ready
    events: Path


class Kind(NamedTuple):
    """What a server is started with, and what it prepares: the variables, and whether for native code."""

    environment: tuple[tuple[str, str], ...]
    native: bool


class Pool:
    """Runs jobs, some at a time, in processes forked from one that has imported torch: one for each kind."""

    def __init__(self, parallel: int) -> None:
        self._parallel = parallel
        self._stack = contextlib.ExitStack()
        self._servers: dict[Kind, tuple[Connection, Ready]] = {}
        self._numbers = itertools.count()

    def __enter__(self) -> Pool:
        self.scratch = Path(self._stack.enter_context(_scratch()))
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def observe(self, jobs: Sequence[Job]) -> Iterator[Observation]:
        """In the jobs' order. After Ctrl-C those at hand are reported as far as they came, and no other is run."""
        waiting = [(next(self._numbers), job) for job in jobs]
        numbers = [number for number, _ in waiting]
        running: dict[int, Running] = {}
        done: dict[int, Observation] = {}
        try:
            for number in numbers:
                while number not in done:
                    while waiting and len(running) < self._parallel:
                        started, job = waiting.pop(0)
                        running[started] = self._start(started, job)
                    self._collect(running, done)
                yield done.pop(number)
        except KeyboardInterrupt:
            for number, item in running.items():
                done[number] = _observation(item, Status.FAILED, INTERRUPTED)
            for number in sorted(done):
                yield done[number]

    def _start(self, number: int, job: Job) -> Running:
        kind = Kind(job.environment, native=_native(job))
        if kind not in self._servers:
            name = f"server-{len(self._servers)}.log"
            self._servers[kind] = self._stack.enter_context(_server(self.scratch / name, kind))
        connection, ready = self._servers[kind]
        events = self.scratch / f"{number}.jsonl"
        events.touch()
        try:
            connection.send(Request(number, job, events, self.scratch))
        except OSError:
            raise _dead(job) from None
        return Running(job, connection, ready, events)

    def _collect(self, running: dict[int, Running], done: dict[int, Observation]) -> None:
        """Wait until at least one job has ended."""
        for connection in wait({item.server for item in running.values()}):
            assert isinstance(connection, Connection)
            try:
                ended: Ended = connection.recv()
            except (EOFError, OSError):
                raise _dead(next(item.job for item in running.values() if item.server is connection)) from None
            done[ended.number] = _judged(running.pop(ended.number), ended)


def _dead(job: Job) -> ServerError:
    return ServerError(f"the process that runs the targets has died, at {job.target.text}")


def _scratch() -> tempfile.TemporaryDirectory[str]:
    try:
        return tempfile.TemporaryDirectory(prefix="fullgraph-")
    except OSError as error:
        hint = "free some space, or let TMPDIR name a folder that has some"
        raise ServerError(f"no temporary file can be written ({error.strerror}); {hint}") from None


@contextlib.contextmanager
def _server(log_file: Path, kind: Kind) -> Iterator[tuple[Connection, Ready]]:
    if importlib.util.find_spec("torch") is None:
        raise ServerError("torch is not installed; pip install 'fullgraph[jit]'")
    ours, theirs = Pipe()
    with log_file.open("w+") as log, ours:
        # In a session of its own, so that Ctrl-C in the terminal ends only this side; the closing pipe ends the other.
        server = subprocess.Popen(
            [sys.executable, "-P", "-c", SERVER, str(theirs.fileno()), *(["native"] if kind.native else [])],
            pass_fds=(theirs.fileno(),),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            env={**os.environ, **dict(kind.environment)},
            start_new_session=True,
        )
        theirs.close()
        try:
            yield ours, _greeting(ours, log_file)
        finally:
            ours.close()
            try:
                server.wait(PATIENCE_S)
            except subprocess.TimeoutExpired:  # it is importing torch, and has started nothing yet
                server.kill()


def _greeting(connection: Connection, log: Path) -> Ready:
    try:
        ready: Ready = connection.recv()
    except EOFError:
        last = log.read_text(errors="replace").strip().rpartition("\n")[2]
        raise ServerError(f"torch cannot be imported: {last}") from None
    if ready.problem:
        raise ServerError(ready.problem)
    return ready


def _judged(item: Running, ended: Ended) -> Observation:
    events = read(item.events)
    end = next((event for event in events if isinstance(event, End)), None)
    if ended.timed_out:
        return _observation(item, Status.TIMEOUT, f"killed after {item.job.settings.timeout_s:g} s", ended.errors)
    if end is None:
        detail = _last_words(
            cause_of_death(os.waitstatus_to_exitcode(ended.status)), ended.errors.strip() or ended.output
        )
        return _observation(item, Status.CRASHED, detail, ended.errors)
    if end.error is not None:
        failed = replace(_observation(item, Status.FAILED, end.error, ended.errors), printed=ended.output)
        return replace(failed, raised=end.raised) if isinstance(item.job.target.program, Object) else failed
    if not compiled(events):
        return replace(_observation(item, Status.NOTHING_COMPILED, NOTHING), printed=ended.output)
    return replace(_observation(item, Status.OK, None), printed=ended.output)


def _last_words(cause: str, output: str) -> str:
    last = output.strip().rpartition("\n")[2]
    return f"{cause}; its last output: {last}" if last else cause


def _native(job: Job) -> bool:
    """Whether it is to run as native code."""
    return job.settings.backend in (None, "mlir") and not job.settings.fake


def _observation(item: Running, status: Status, detail: str | None, errors: str = "") -> Observation:
    """`errors` is what the program said on stderr, for one that did not end well."""
    return replace(
        observation(item.job.target.text, read(item.events)),
        status=status,
        detail=detail,
        torch=item.ready.torch,
        no_mlir=item.ready.no_mlir if _native(item.job) else None,
        output=tuple(errors.strip().splitlines()[-SHOWN_OUTPUT:]),
    )
