"""Forks a child for every job that arrives on a connection, several at a time, and sends back how each one ended."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path

from .targets import Job

KEPT_OUTPUT = 1 << 17
"""Bytes of each stream; however much the program prints, only the end is kept."""
POLL_S = 0.02


@dataclass(frozen=True, slots=True)
class Request:
    """One job, by its number; events are appended to the file, scratch is a folder for caches."""

    number: int
    job: Job
    events: Path
    scratch: Path


@dataclass(frozen=True, slots=True)
class Ended:
    """How a child ended: the status as `os.waitpid` gives it, and the last that the program printed."""

    number: int
    status: int
    timed_out: bool
    output: str
    errors: str


@dataclass
class Child:
    """A running job."""

    number: int
    pid: int
    deadline: float
    streams: dict[int, bytes]
    """What was read last from each pipe: the program's stdout and stderr."""
    open: set[int] = field(default_factory=set)
    timed_out: bool = False

    def read(self, pipe: int) -> bool:
        """Take what is there; whether there may be more."""
        try:
            data = os.read(pipe, 1 << 16)
        except BlockingIOError:
            return False
        self.streams[pipe] = (self.streams[pipe] + data)[-KEPT_OUTPUT:]
        if not data:
            self.open.discard(pipe)
        return bool(data)

    def kill(self) -> None:
        """End the child and all that it started in its process group."""
        try:
            os.killpg(self.pid, signal.SIGKILL)
        except ProcessLookupError:  # it has not come to open a group of its own yet
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)


def supervise(connection: Connection, become: Callable[[Request, int, int], None]) -> None:
    """Work until the other side hangs up, and leave nothing running then. `become` takes the pipes to write to."""
    children: dict[int, Child] = {}
    try:
        while True:
            _wait(connection, children)
            while connection.poll():
                request: Request = connection.recv()
                child = _forked(request, connection, children, become)
                children[child.pid] = child
            for child in list(children.values()):
                if ended := _ended(child):
                    del children[child.pid]
                    connection.send(ended)
    except (EOFError, OSError):
        pass  # nobody wants the answers any more
    finally:
        for child in children.values():
            child.kill()
            os.waitpid(child.pid, 0)


def _wait(connection: Connection, children: dict[int, Child]) -> None:
    """Until there is something to read, or it is time to look whether a child has ended."""
    pipes = {pipe: child for child in children.values() for pipe in child.open}
    readable, _, _ = select.select([connection.fileno(), *pipes], [], [], POLL_S if children else None)
    for pipe in readable:
        if pipe in pipes:
            pipes[pipe].read(pipe)


def _forked(
    request: Request, connection: Connection, others: dict[int, Child], become: Callable[[Request, int, int], None]
) -> Child:
    (output, output_end), (errors, errors_end) = os.pipe(), os.pipe()
    pid = os.fork()
    if pid == 0:
        inherited = [
            connection.fileno(),
            output,
            errors,
            *(pipe for other in others.values() for pipe in other.streams),
        ]
        for descriptor in inherited:
            os.close(descriptor)
        become(request, output_end, errors_end)
        os._exit(0)
    for descriptor in (output_end, errors_end):
        os.close(descriptor)
    for descriptor in (output, errors):
        os.set_blocking(descriptor, False)
    deadline = time.monotonic() + request.job.settings.timeout_s
    return Child(request.number, pid, deadline, {output: b"", errors: b""}, {output, errors})


def _ended(child: Child) -> Ended | None:
    done, status = os.waitpid(child.pid, os.WNOHANG)
    if not done:
        if not child.timed_out and time.monotonic() > child.deadline:
            child.timed_out = True
            child.kill()
        return None
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child.pid, signal.SIGKILL)
    for pipe in child.streams:
        while child.read(pipe):
            pass
        os.close(pipe)
    output, errors = (kept.decode(errors="replace") for kept in child.streams.values())
    return Ended(child.number, status, child.timed_out, output, errors)
