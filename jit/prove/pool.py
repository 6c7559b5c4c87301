"""Runs tasks on a given interpreter, some at a time; one whose process dies is an answer like any other."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import tempfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict
from multiprocessing.pool import ThreadPool
from pathlib import Path
from queue import SimpleQueue
from typing import NamedTuple, TypeVar

from .tasks import Seen, Task

FOLDER = Path(__file__).parents[1]
BOOT = """
import sys, types
folder, prelude, limit_s = sys.argv[1:]
for name, path in (("fullgraph", []), ("fullgraph.jit", [folder])):
    module = sys.modules[name] = types.ModuleType(name)
    module.__path__ = path
from fullgraph.jit.prove.server import serve
serve(prelude, float(limit_s))
"""
"""Ours and nothing else of us: that interpreter need not have us installed, nor what we depend on."""


TIME_LIMIT_S = 60.0
"""Of one task."""


class NoTorch(RuntimeError):
    """That interpreter cannot be used; the text says why."""


class Version(NamedTuple):
    torch: str
    python: str


class Server:
    """One process with torch, in a folder of its own."""

    def __init__(self, python: Path, prelude: str, limit_s: float, scratch: Path) -> None:
        folder = tempfile.mkdtemp(dir=scratch)
        self._log = Path(folder) / "stderr"
        try:
            with self._log.open("w") as log:
                self._process = subprocess.Popen(
                    [python, "-P", "-c", BOOT, str(FOLDER), prelude, str(limit_s)],
                    cwd=folder,
                    env={**os.environ, "CUDA_VISIBLE_DEVICES": ""},  # the examples need none, and forks can use none
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=log,
                    text=True,
                    start_new_session=True,
                )
        except OSError as error:
            raise NoTorch(f"{python} cannot be run: {error.strerror}") from None
        line = self._read()
        if not line:
            said = self._log.read_text(errors="replace").strip().rpartition("\n")[2]
            raise NoTorch(f"{python} cannot run torch: {said}")
        self.version = Version(**json.loads(line))

    def _read(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline()

    def ask(self, task: Task) -> Seen | None:
        """None when the process has died."""
        assert self._process.stdin is not None
        data = {name: value for name, value in asdict(task).items() if name != "prelude"}
        with contextlib.suppress(BrokenPipeError):
            print(json.dumps(data), file=self._process.stdin, flush=True)
            if line := self._read():
                return Seen.decoded(line)
        return None

    def close(self) -> None:
        self._process.kill()
        self._process.communicate()


Item = TypeVar("Item")
Answer = TypeVar("Answer")


class Pool:
    """Up to `jobs` servers whose processes have run the same prelude, started when there is work for them."""

    def __init__(self, python: Path, jobs: int, prelude: str = "", limit_s: float = TIME_LIMIT_S) -> None:
        self._python = python.absolute()
        self._jobs = jobs
        self._prelude = prelude
        self._limit_s = limit_s
        self._idle: SimpleQueue[Server | None] = SimpleQueue()
        self._stack = contextlib.ExitStack()

    def __enter__(self) -> Pool:
        self._scratch = Path(self._stack.enter_context(tempfile.TemporaryDirectory(prefix="fullgraph-")))
        self._stack.callback(self._close)
        for _ in range(self._jobs):
            self._idle.put(None)
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    @contextlib.contextmanager
    def after(self, prelude: str) -> Iterator[Pool]:
        """One like this, of processes that have run this prelude."""
        if prelude == self._prelude:
            yield self
            return
        with Pool(self._python, self._jobs, prelude, self._limit_s) as pool:
            yield pool

    def version(self) -> Version:
        server = self._idle.get() or self._start()
        self._idle.put(server)
        return server.version

    def _start(self) -> Server:
        return Server(self._python, self._prelude, self._limit_s, self._scratch)

    def ask(self, task: Task) -> Seen:
        """A bad end is believed when it comes a second time: a busy machine has them too."""
        seen = self._ask(task)
        return self._ask(task) if seen.end else seen

    def _ask(self, task: Task) -> Seen:
        """Waits for a server that is idle."""
        server = self._idle.get()
        try:
            server = server or self._start()
            seen = server.ask(task)
            if seen is None:
                server.close()
                server = None
        finally:
            self._idle.put(server)
        return seen or Seen(end="crashed")

    def map(self, work: Callable[[Item], Answer], items: Iterable[Item]) -> Iterator[Answer]:
        """As many at a time as there are servers, in the order in which they end."""
        with ThreadPool(self._jobs) as threads:
            yield from threads.imap_unordered(work, items)

    def _close(self) -> None:
        while not self._idle.empty():
            if server := self._idle.get():
                server.close()
