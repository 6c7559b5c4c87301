"""The server process: imports torch once, then forks a child for every job that it is sent and tells how it ended.

The child writes its events to the job's file. What the program prints, however much, goes to a pipe whose end is kept.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import os
import resource
import select
import signal
import sys
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from .events import End, Event, encode
from .targets import Job, TargetError
from .worker import unavailable

if TYPE_CHECKING:
    from .capture import Paths

KEPT_OUTPUT = 4000
"""Bytes."""
POLL_S = 0.02
WARM = (
    "fullgraph.jit.lower.decompositions",
    "fullgraph.jit.lower.plan",
    "torch._dynamo.backends.debugging",
    "torch._dynamo.backends.inductor",
    "torch._dynamo.dce_extra_outputs",
    "torch._export.db.logging",
    "torch._higher_order_ops.passes",
    "torch._inductor.sizevars",
    "torch._subclasses.schema_check_mode",
    "torch.export._trace",
    "torch.fx.experimental.validator",
)
"""What a first compilation imports: here once, rather than in every child."""
OLDEST = (2, 13)


@dataclass(frozen=True, slots=True)
class Ready:
    """The first message of the server: it can take jobs, or why it cannot."""

    torch: str
    problem: str | None = None
    no_mlir: str | None = None
    """Why the MLIR backend is not available."""


@dataclass(frozen=True, slots=True)
class Request:
    """One job; events are appended to the file, scratch is a folder for caches."""

    job: Job
    events: Path
    scratch: Path


@dataclass(frozen=True, slots=True)
class Ended:
    """How a child ended: the status as `os.waitpid` gives it, and the last that the program printed."""

    status: int
    timed_out: bool
    output: str


def serve(descriptor: int) -> None:
    """Take jobs from that end of a `multiprocessing.Pipe` until the other end closes."""
    connection = Connection(descriptor)
    ready = _prepare()
    connection.send(ready)
    if ready.problem:
        return
    gc.collect()
    gc.freeze()
    with contextlib.suppress(EOFError):
        while True:
            request: Request = connection.recv()
            connection.send(_supervised(request, connection))


def _prepare() -> Ready:
    import torch

    version = str(torch.__version__)
    if tuple(int(part) for part in version.split(".")[:2]) < OLDEST:
        oldest = ".".join(map(str, OLDEST))
        return Ready(version, f"torch {version} is too old to be observed; pip install 'torch>={oldest}'")
    for name in ("fullgraph.jit.capture", "fullgraph.jit.backend", "fullgraph.jit.program"):
        importlib.import_module(name)
    for name in WARM:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    return Ready(version, no_mlir=unavailable())


def _supervised(request: Request, connection: Connection) -> Ended:
    read_end, write_end = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read_end)
        os.close(connection.fileno())
        _become_program(request, write_end)
    os.close(write_end)
    deadline = time.monotonic() + request.job.settings.timeout_s
    output, timed_out, watched = b"", False, {read_end, connection.fileno()}
    while True:
        readable, _, _ = select.select(watched, [], [], POLL_S)
        if connection.fileno() in readable:
            # Nothing is due from that side: it has gone, and nobody wants the answer any more.
            _kill(child)
            os.waitpid(child, 0)
            sys.exit()
        if read_end in readable:
            data = os.read(read_end, 1 << 16)
            output = (output + data)[-KEPT_OUTPUT:]
            if not data:
                watched.discard(read_end)
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            break
        if not timed_out and time.monotonic() > deadline:
            timed_out = True
            _kill(child)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)
    os.set_blocking(read_end, False)
    with contextlib.suppress(BlockingIOError):
        while data := os.read(read_end, 1 << 16):
            output = (output + data)[-KEPT_OUTPUT:]
    os.close(read_end)
    return Ended(status, timed_out, output.decode(errors="replace"))


def _kill(child: int) -> None:
    """End the child and all that it started in its process group."""
    try:
        os.killpg(child, signal.SIGKILL)
    except ProcessLookupError:  # it has not come to open a group of its own yet
        os.kill(child, signal.SIGKILL)


def _become_program(request: Request, output: int) -> NoReturn:
    """In the child: run the program with its output and limits apart, and never return."""
    job = request.job
    os.setsid()
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    for descriptor in (1, 2):
        os.dup2(output, descriptor)
    os.close(output)
    os.environ.update(
        TORCHINDUCTOR_CACHE_DIR=str(request.scratch / "inductor"), TRITON_CACHE_DIR=str(request.scratch / "triton")
    )
    if job.settings.memory_mb:
        # The hard limit stays: the compiler of the MLIR backend has limits of its own.
        _, hard = resource.getrlimit(resource.RLIMIT_DATA)
        resource.setrlimit(resource.RLIMIT_DATA, (job.settings.memory_mb << 20, hard))
    own = os.getpid()
    emit = _writer(request.events, own)
    error = _observed(job, emit)
    if os.getpid() == own:
        emit(End(error))
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(Exception):
            stream.flush()
    os._exit(0)


def _writer(file: Path, own: int) -> Callable[[Event], None]:
    def emit(event: Event) -> None:
        # Opened anew for each event: the program may close every descriptor it finds.
        if os.getpid() == own:
            with file.open("a") as stream:
                stream.write(encode(event) + "\n")

    return emit


def _observed(job: Job, emit: Callable[[Event], None]) -> str | None:
    from . import backend, capture, program

    paths = capture.Paths(Path.cwd(), job.roots)
    with backend.overridden(job.settings, emit), capture.observe(emit, paths):
        try:
            program.run(job)
        except TargetError as error:
            return str(error)
        except SystemExit as error:
            return None if error.code in (None, 0) else f"exit code {error.code}"
        except BaseException as error:
            return _described(error, paths)
    return None


def _described(error: BaseException, paths: Paths) -> str:
    """The error's first line, and the innermost line of the user's that it passed."""
    text = f"{type(error).__name__}: {error}".strip(": ").partition("\n")[0]
    own = [frame for frame in traceback.extract_tb(error.__traceback__) if paths.first_party(frame.filename)]
    return f"{text} ({paths.shown(own[-1].filename)}:{own[-1].lineno})" if own else text
