"""Runs jobs in processes of their own and reads back what was seen, however they end: an observation for each job."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from pathlib import Path

from .child import Ended, Ready, Request
from .events import (
    Break,
    End,
    Event,
    Failure,
    Frame,
    Graph,
    Lowered,
    Observation,
    Recompile,
    Reuse,
    Stage,
    Status,
    Traced,
    decode,
    distinct_breaks,
    latest,
)
from .targets import Job

PATIENCE_S = 2.0


class ServerError(RuntimeError):
    """Nothing can be observed on this machine; the text says why."""


def observations(jobs: Iterable[Job]) -> Iterator[Observation]:
    """Run each job in turn. After Ctrl-C the job at hand is reported as far as it came, and no other is run."""
    with _scratch() as scratch, _server(Path(scratch)) as (connection, ready):
        for number, job in enumerate(jobs):
            events = Path(scratch) / f"{number}.jsonl"
            events.touch()
            try:
                connection.send(Request(job, events, Path(scratch)))
                ended = connection.recv()
            except KeyboardInterrupt:
                yield _observation(job, ready, _read(events), Status.FAILED, "interrupted")
                return
            except (EOFError, OSError):
                raise ServerError(f"the process that runs the targets has died, at {job.target.text}") from None
            yield _judged(job, ready, _read(events), ended)


def _scratch() -> tempfile.TemporaryDirectory[str]:
    try:
        return tempfile.TemporaryDirectory(prefix="fullgraph-")
    except OSError as error:
        hint = "free some space, or let TMPDIR name a folder that has some"
        raise ServerError(f"no temporary file can be written ({error.strerror}); {hint}") from None


@contextlib.contextmanager
def _server(scratch: Path) -> Iterator[tuple[Connection, Ready]]:
    if importlib.util.find_spec("torch") is None:
        raise ServerError("torch is not installed; pip install 'fullgraph[jit]'")
    ours, theirs = Pipe()
    with (scratch / "server.log").open("w+") as log, ours:
        # In a session of its own, so that Ctrl-C in the terminal ends only this side; the closing pipe ends the other.
        server = subprocess.Popen(
            [sys.executable, "-P", "-c", f"from fullgraph.jit.child import serve; serve({theirs.fileno()})"],
            pass_fds=(theirs.fileno(),),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
        theirs.close()
        try:
            yield ours, _greeting(ours, log.name)
        finally:
            ours.close()
            try:
                server.wait(PATIENCE_S)
            except subprocess.TimeoutExpired:  # it is importing torch, and has started nothing yet
                server.kill()


def _greeting(connection: Connection, log: str) -> Ready:
    try:
        ready: Ready = connection.recv()
    except EOFError:
        last = Path(log).read_text(errors="replace").strip().rpartition("\n")[2]
        raise ServerError(f"torch cannot be imported: {last}") from None
    if ready.problem:
        raise ServerError(ready.problem)
    return ready


def _read(file: Path) -> list[Event]:
    """The events written so far; a child that was killed may have left half a line."""
    return [decode(line) for line in file.read_text().splitlines(keepends=True) if line.endswith("\n")]


def _judged(job: Job, ready: Ready, events: list[Event], ended: Ended) -> Observation:
    end = next((event for event in events if isinstance(event, End)), None)
    if ended.timed_out:
        return _observation(job, ready, events, Status.TIMEOUT, f"killed after {job.settings.timeout_s:g} s")
    if end is None:
        detail = _last_words(_cause_of_death(ended.status), ended.output)
        return _observation(job, ready, events, Status.CRASHED, detail)
    if end.error is not None:
        return _observation(job, ready, events, Status.FAILED, end.error)
    if not any(isinstance(event, Frame | Break | Failure | Traced) for event in events):
        return _observation(job, ready, events, Status.NOTHING_COMPILED, "no call of a compiled function was seen")
    return _observation(job, ready, events, Status.OK, None)


def _cause_of_death(status: int) -> str:
    if (code := os.waitstatus_to_exitcode(status)) >= 0:
        return f"the process ended itself with exit code {code}"
    try:
        return f"killed by {signal.Signals(-code).name}"
    except ValueError:
        return f"killed by signal {-code}"


def _last_words(cause: str, output: str) -> str:
    last = output.strip().rpartition("\n")[2]
    return f"{cause}; its last output: {last}" if last else cause


def _observation(job: Job, ready: Ready, events: list[Event], status: Status, detail: str | None) -> Observation:
    return Observation(
        target=job.target.text,
        status=status,
        detail=detail,
        torch=ready.torch,
        breaks=distinct_breaks(event for event in events if isinstance(event, Break)),
        recompiles=tuple(event for event in events if isinstance(event, Recompile)),
        frames=tuple(event for event in events if isinstance(event, Frame)),
        graphs=tuple(event for event in events if isinstance(event, Graph)),
        failures=tuple(event for event in events if isinstance(event, Failure)),
        traced=tuple(dict.fromkeys(event for event in events if isinstance(event, Traced))),
        reused=frozenset(event.frame for event in events if isinstance(event, Reuse)),
        lowered=latest(event for event in events if isinstance(event, Lowered)),
        stages=tuple(event for event in events if isinstance(event, Stage)),
        no_mlir=ready.no_mlir if job.settings.backend in (None, "mlir") else None,
    )
