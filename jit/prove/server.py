"""In the interpreter that has the torch in question: forks a child for every task that arrives as a line of JSON on
stdin, and answers each with a line. Needs nothing but that torch and the standard library.
"""

from __future__ import annotations

import ast
import contextlib
import gc
import json
import linecache
import os
import re
import select
import signal
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, TextIO

import torch
import torch._dynamo
import torch._dynamo.guards

from ..capture import Paths, observe
from ..default_backend import default_backend
from ..events import Break, BreakKind, Event, Recompile
from .tasks import BreakAt, Mode, Seen, Task

FILE = "example.py"
ADDRESS = re.compile(r" at 0x[0-9a-f]+")
WARM_UP = """
import torch

@torch.compile
def leaves(x):
    print(end="")
    return torch.nn.functional.relu(x) + x.shape[0]

class Layer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = torch.nn.Linear(3, 3)

    def forward(self, x):
        with torch.no_grad():
            return [self.inner(y) for y in (x, x)][-1].sum() if x.sum() > 0 else x

compiled = torch.compile(Layer())
"""
"""Loads what first compilations load, so that the forks need not."""


def serve(prelude: str, limit_s: float = 60.0) -> None:
    """Say which torch this is, and work until stdin ends; no task may take longer than the limit."""
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w")
    with Path(os.devnull).open("w") as nowhere:
        os.dup2(nowhere.fileno(), sys.stdout.fileno())
    torch.set_num_threads(1)  # threads would not survive a fork
    # Timing the guards takes half the time of compiling something small.
    vars(torch._dynamo.guards)["profile_guard_manager"] = lambda *_: 0.0
    runs = ("leaves(torch.ones(2, 3))", "leaves(torch.ones(4, 3))", "compiled(torch.ones(2, 3))")
    perform(Task(WARM_UP, runs), {})
    torch._dynamo.reset()
    namespace = prepared(prelude)
    version = str(torch.__version__).partition("+")[0]
    print(json.dumps({"torch": version, "python": "{}.{}".format(*sys.version_info)}), file=answers, flush=True)
    for line in sys.stdin:
        data = json.loads(line)
        task = Task(data["code"], tuple(data["run"]), Mode(data["mode"]))
        print(forked(task, namespace, answers, limit_s).encoded(), file=answers, flush=True)


def prepared(prelude: str) -> dict[str, Any]:
    """The names that the prelude defines; what this version of torch cannot do of it is left out."""
    module = sys.modules["prelude"] = ModuleType("prelude")
    for statement in ast.parse(prelude).body:
        with contextlib.suppress(Exception):
            exec(compile(ast.Module([statement], []), "<prelude>", "exec", dont_inherit=True), vars(module))
    return vars(module)


def forked(task: Task, namespace: dict[str, Any], answers: TextIO, limit_s: float) -> Seen:
    """What a fork of this process saw: what a task does to torch or to the interpreter ends there."""
    receiving, sending = os.pipe()
    pid = os.fork()
    if pid == 0:
        with contextlib.suppress(BaseException):
            os.setsid()
            gc.disable()
            answers.close()
            with Path(os.devnull).open("r+") as nowhere:
                for stream in (0, 2):
                    os.dup2(nowhere.fileno(), stream)
            seen = perform(task, namespace)
            with os.fdopen(sending, "w") as pipe:
                pipe.write(seen.encoded())
        os._exit(0)
    os.close(sending)
    with os.fdopen(receiving) as pipe:
        ready = select.select([pipe], [], [], limit_s)[0]
        text = pipe.read() if ready else ""
    if not ready:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(pid, signal.SIGKILL)
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    if text:
        return Seen.decoded(text)
    return Seen(end="hung" if not ready else f"crashed {cause(status)}")


def cause(status: int) -> str:
    if status >= 0:
        return f"exit {status}"
    try:
        return signal.Signals(-status).name
    except ValueError:
        return f"signal {-status}"


def perform(task: Task, namespace: dict[str, Any]) -> Seen:
    """Run it in this process, as a module in a file of the working directory."""
    breaks: dict[int, Break] = {}
    recompiles: Counter[tuple[int, str]] = Counter()
    results: list[str] = []
    error: Exception | None = None

    def record(event: Event) -> None:
        match event:
            case Break(path=path, number=number) if path == FILE:
                breaks[number] = event
            case Recompile(path=path, line=line, function=function) if path == FILE:
                recompiles[line, function] += 1

    folder = Path.cwd()
    path = folder / FILE
    path.write_text(task.code, encoding="utf-8")
    linecache.checkcache(str(path))
    module = sys.modules["example"] = ModuleType("example")
    vars(module).update({name: value for name, value in namespace.items() if not name.startswith("__")})
    module.__file__ = str(path)
    torch.manual_seed(0)
    try:
        with observe(record, Paths(folder, (folder,))), compiling(task.mode):
            exec(compile(task.code, str(path), "exec", dont_inherit=True), vars(module))
            for statement in task.run:
                results.append(as_text(evaluate(statement, vars(module))))
    except Exception as raised:
        error = raised
    found = {BreakAt(b.line, b.gb or b.gb_type, b.kind is BreakKind.SKIPPED_FRAME) for b in breaks.values()}
    return Seen(
        breaks=tuple(sorted(found, key=lambda item: (item.line, item.gb, item.skipped))),
        recompiles=max(recompiles.values(), default=0),
        results=tuple(results),
        error=type(error).__name__ if error is not None else "",
        detail=str(error).strip().partition("\n")[0][:200] if error is not None else "",
    )


@contextlib.contextmanager
def compiling(mode: Mode) -> Iterator[None]:
    """Calls that name no backend run their graphs as they are; the mode outranks what they say."""
    optimize = torch._dynamo.optimize

    def whole(*args: Any, **options: Any) -> Any:
        return optimize(**dict(zip(("backend", "nopython"), args, strict=False)) | options | {"nopython": True})

    with default_backend(forward), torch._dynamo.config.patch(disable=mode is Mode.EAGER):
        if mode is Mode.FULLGRAPH:
            torch._dynamo.optimize = whole
        try:
            yield
        finally:
            torch._dynamo.optimize = optimize


def forward(graph: torch.fx.GraphModule, example_inputs: Any, **options: object) -> Any:
    """Not torch's own `eager`, for which Dynamo makes exceptions that no real backend gets."""
    return graph.forward


def evaluate(statement: str, namespace: dict[str, Any]) -> Any:
    """A statement's value if it is an expression."""
    try:
        code = compile(statement, "<run>", "eval", dont_inherit=True)
    except SyntaxError:
        code = compile(statement, "<run>", "exec", dont_inherit=True)
    return eval(code, namespace)


def as_text(value: object) -> str:
    """For comparing: objects without a text of their own look alike."""
    with contextlib.suppress(Exception):
        return ADDRESS.sub("", str(value))[:2000]
    return type(value).__name__
