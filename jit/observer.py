"""Inside a program under `fullgraph run`: observes Dynamo, and writes the events of each process to a file of its own.

What to do is in an environment variable, so that the processes which the program starts do it too.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import platform
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from .events import Event, Process, Remark
from .wire import encode

VARIABLE = "FULLGRAPH_RUN"


@dataclass(frozen=True, slots=True)
class Orders:
    """What to observe, and the folder for the events. Paths are absolute."""

    folder: str
    working: str
    roots: tuple[str, ...]
    first_party: tuple[str, ...] = ()
    backend: str | None = None
    max_calls: int | None = None

    def encoded(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def decoded(cls, text: str) -> Orders:
        fields: dict[str, Any] = json.loads(text)
        return cls(**fields | {name: tuple(fields[name]) for name in ("roots", "first_party")})


class Writer:
    """Appends events to a file of this process, and to another one after a fork."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._pid = 0
        self._file = Path()
        self.closed = False

    def __call__(self, event: Event) -> None:
        if self.closed:
            return
        lines = [event]
        if (pid := os.getpid()) != self._pid:
            self._pid = pid
            self._file = self._folder / f"{time.time_ns()}-{platform.node()}-{pid}.jsonl"
            lines.insert(0, _process())
        # Opened anew each time: the program may close every descriptor it finds.
        with contextlib.suppress(OSError), self._file.open("a") as stream:
            stream.write("".join(encode(line) + "\n" for line in lines))


def _process() -> Process:
    rank = os.environ.get("RANK", "")
    command = " ".join(sys.orig_argv[1:])
    return Process(os.getpid(), command, int(rank) if rank.isdecimal() else None)


def begin() -> None:
    """Observe until the process ends. Torch is imported, and whatever is wrong, the program runs as it would alone."""
    if (text := os.environ.get(VARIABLE)) is None:
        return
    orders = Orders.decoded(text)
    write = Writer(Path(orders.folder))
    try:
        _observe(orders, write)
    except Exception as error:
        write(Remark(f"a process is not observed: {type(error).__name__}: {error}"))


def _observe(orders: Orders, write: Writer) -> None:
    import torch

    from . import capture
    from .measured import remark

    if unmeasured := remark(str(torch.__version__)):
        write(Remark(unmeasured))
    paths = capture.Paths.naming(Path(orders.working), tuple(map(Path, orders.roots)), orders.first_party)
    watching = contextlib.ExitStack()
    if orders.backend is not None:
        _force(orders.backend, write, watching)
    observing = watching.enter_context(contextlib.ExitStack())
    observing.enter_context(capture.observe(write, paths))
    if (limit := orders.max_calls) is not None:
        from .counting import counted

        def stop() -> None:
            write(Remark(f"not watched after {limit} calls of compiled functions, as --max-calls says"))
            write.closed = True
            observing.close()

        observing.enter_context(counted(limit, stop))
    atexit.register(watching.close)


def _force(backend: str, write: Writer, watching: contextlib.ExitStack) -> None:
    """From the first use of `torch.compile` on: before, what backends import may be on its way in."""
    import torch

    original = torch._dynamo.optimize

    def optimize(*args: Any, **options: Any) -> Any:
        if torch._dynamo.optimize is optimize:
            from .backend import overridden
            from .targets import Settings

            torch._dynamo.optimize = original
            watching.enter_context(overridden(Settings(backend=backend), write))
        return torch._dynamo.optimize(*args, **options)

    torch._dynamo.optimize = optimize
