"""The server process: imports torch once, then becomes the supervisor that forks a child for every job.

The child runs the program under observation and writes its events to the job's file.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import os
import resource
import sys
import traceback
from collections.abc import Callable
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection
from pathlib import Path
from typing import TYPE_CHECKING

from .events import CallSite, End, Event, Remark
from .measured import remark
from .supervise import Request, supervise
from .targets import Job, Program, Script, TargetError, package_of
from .untouched_gpu import asking_gently, seeing_none
from .wire import encode
from .worker import unavailable

if TYPE_CHECKING:
    from .capture import Paths

WARM = (
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
NATIVE = ("fullgraph.jit.lower.decompositions", "fullgraph.jit.lower.plan")
"""What it imports to make native code."""

FORKED = "processes that it forked compile too, which is not observed here; `fullgraph run` observes all of a program"


@dataclass(frozen=True, slots=True)
class Ready:
    """The first message of the server: it can take jobs, or why it cannot."""

    torch: str
    problem: str | None = None
    no_mlir: str | None = None
    """Why the MLIR backend is not available."""


def serve(descriptor: int, *, native: bool) -> None:
    """Prepare, say so, and work until the other side hangs up."""
    connection = Connection(descriptor)
    gc.disable()  # next to nothing is garbage while modules are imported, and looking for it takes a fifth of the time
    with asking_gently():
        connection.send(_prepare(native))
    gc.freeze()
    gc.enable()
    supervise(connection, _become_program)


def _prepare(native: bool) -> Ready:
    import torch

    version = str(torch.__version__)
    try:
        for name in ("capture", "backend", "program", "counting", "frozen", "mend.witness"):
            importlib.import_module(f"fullgraph.jit.{name}")
    except (ImportError, AttributeError) as error:
        return Ready(version, f"{error}; {remark(version) or 'is the installation of torch whole?'}")
    for name in (*WARM, *(NATIVE if native else ())):
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    _warm_up()
    return Ready(version, no_mlir=unavailable())


def _warm_up() -> None:
    """Fill the tables that Dynamo makes at its first compilation, module and graph break, and forget the rest."""
    import torch

    def broken(x: torch.Tensor) -> torch.Tensor:
        x = layer(x)
        return x + 1 if x.sum() > 0 else x

    # It flushes 32 MB through the caches for every function that is compiled, to log how fast the guards are.
    torch._dynamo.guards.profile_guard_manager = lambda *_: 0.0  # type: ignore[attr-defined]
    with seeing_none(), torch.random.fork_rng(devices=[]):
        layer = torch.nn.Linear(2, 2)
        torch.compile(broken, backend="eager")(torch.ones(2))
        torch._dynamo.reset()
    torch._dynamo.utils.counters.clear()
    torch._dynamo.utils.clear_compilation_metrics()


def _become_program(request: Request, output: int, errors: int) -> None:
    """In the child: run the program with its output and limits apart, and never return."""
    job = request.job
    os.setsid()
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    for descriptor, pipe in ((1, output), (2, errors)):
        os.dup2(pipe, descriptor)
        os.close(pipe)
    os.environ.update(
        TORCHINDUCTOR_CACHE_DIR=str(request.scratch / "inductor"), TRITON_CACHE_DIR=str(request.scratch / "triton")
    )
    if job.settings.memory_mb:
        # The hard limit stays: the compiler of the MLIR backend has limits of its own.
        _, hard = resource.getrlimit(resource.RLIMIT_DATA)
        resource.setrlimit(resource.RLIMIT_DATA, (job.settings.memory_mb << 20, hard))
    own = os.getpid()
    emit = _writer(request.events, own)
    end = _observed(job, request.scratch, emit)
    if os.getpid() == own:
        emit(end)
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(Exception):
            stream.flush()
    os._exit(0)


def _writer(file: Path, own: int) -> Callable[[Event], None]:
    told = set[int]()

    def emit(event: Event) -> None:
        if (pid := os.getpid()) != own:
            if pid in told:
                return
            told.add(pid)
            event = Remark(FORKED)
        # Opened anew for each event: the program may close every descriptor it finds.
        with file.open("a") as stream:
            stream.write(encode(event) + "\n")

    return emit


def _observed(job: Job, scratch: Path, emit: Callable[[Event], None]) -> End:
    import torch

    from . import backend, capture, counting, frozen, program
    from .mend.witness import witnessed
    from .run_test import TestFailed

    if unmeasured := remark(str(torch.__version__)):
        emit(Remark(unmeasured))
    paths = capture.Paths.naming(Path.cwd(), job.roots, job.first_party)
    settings = replace(job.settings, backend="eager") if job.settings.fake else job.settings
    with (
        witnessed(job.trial, scratch, paths, emit) as told,
        frozen.watched(job.watch, told) as watching,
        backend.overridden(settings, told),
        capture.observe(watching, paths),
        counting.limited(settings.max_calls) as calls,
    ):
        try:
            program.run(job, told)
        except (TargetError, TestFailed) as error:
            return End(str(error))
        except BaseException as error:
            if calls.stopped:
                emit(Remark(f"stopped after {calls.limit} calls of compiled functions, as --max-calls says"))
                return End(None)
            return _ending(error, paths, job.target.program)
    return End(None)


def _ending(error: BaseException, paths: Paths, program: Program) -> End:
    """What the error means for the program; what Python would print about it is printed."""
    from torch._dynamo.exc import TorchDynamoException

    if isinstance(error, SystemExit):
        if error.code in (None, 0):
            return End(None)
        return End(f"exit code {error.code}" if isinstance(error.code, int) else f"exit code 1: {error.code}")
    with contextlib.suppress(Exception):  # the program may have closed its stderr, or put something else there
        traceback.print_exception(error)
    own = [frame for frame in traceback.extract_tb(error.__traceback__) if paths.first_party(frame.filename)]
    raised = CallSite(paths.shown(own[-1].filename), own[-1].lineno or 0, own[-1].name) if own else None
    text = _described(error, raised) + _help(error, program)
    return End(text, None if isinstance(error, TorchDynamoException) else raised)


def _help(error: BaseException, program: Program) -> str:
    match error, program:
        case ImportError(), Script(path=path) if "no known parent package" in str(error):
            root, name = package_of(path)
            return f"; run it as what it is, a module: -m {name}" + ("" if root == Path.cwd() else f" in {root}")
    return ""


def _described(error: BaseException, raised: CallSite | None) -> str:
    """The error's first line, and the innermost line of the user's that it passed."""
    from .capture.breaks import told

    text = f"{type(error).__name__}: {told(error)}".strip(": ")
    return f"{text} ({raised.path}:{raised.line})" if raised else text
