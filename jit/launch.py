"""Starts a program under observation, as it is, and waits for its end; the events that all its processes leave in a
folder become one observation.
"""

from __future__ import annotations

import importlib.metadata
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from types import FrameType
from typing import Any

from . import startup
from .events import Observation, Process, Status
from .merge import of_processes
from .observed import NOTHING, cause_of_death, observation, read
from .observer import VARIABLE, Orders
from .targets import Module, Program, Script, Target, TargetError

FORWARDED = (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP, signal.SIGTERM, signal.SIGUSR1, signal.SIGUSR2)
FROM_TERMINAL = (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP)
"""A terminal sends these to all processes in its foreground."""


def torch_version() -> str:
    """Of the torch that the program will import. Raises TargetError if there is none."""
    try:
        return importlib.metadata.version("torch")
    except importlib.metadata.PackageNotFoundError:
        raise TargetError("torch is not installed; pip install 'fullgraph[jit]'") from None


def launch(program: Program, orders: Orders) -> int:
    """The program's exit code, negative for a signal that ended it."""
    match program:
        case Script(shown=shown, arguments=arguments):
            command = [sys.executable, shown, *arguments]
        case Module(name=name, arguments=arguments):
            command = [sys.executable, "-m", name, *arguments]
        case other:
            raise AssertionError(other)
    search = [str(Path(startup.__file__).parent), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = os.environ | {VARIABLE: orders.encoded(), "PYTHONPATH": os.pathsep.join(search)}
    return _ended(command, environment)


def _ended(command: Sequence[str], environment: dict[str, str]) -> int:
    """Signals that come meanwhile are the program's."""
    child: subprocess.Popen[bytes] | None = None
    early: list[int] = []

    def forward(number: int, _: FrameType | None) -> None:
        if child is None:
            early.append(number)
        elif number not in FROM_TERMINAL or not _in_foreground():
            child.send_signal(number)

    ours: dict[int, Any] = {
        number: signal.signal(number, forward) for number in FORWARDED if signal.getsignal(number) != signal.SIG_IGN
    }
    try:
        child = subprocess.Popen(command, env=environment)
        for number in early:
            child.send_signal(number)
        return child.wait()
    finally:
        for number, handler in ours.items():
            signal.signal(number, handler)


def _in_foreground() -> bool:
    try:
        terminal = os.open(os.ctermid(), os.O_RDONLY | os.O_NOCTTY)
    except OSError:
        return False
    try:
        return os.tcgetpgrp(terminal) == os.getpgrp()
    finally:
        os.close(terminal)


def collected(target: Target, folder: Path, exit_code: int, torch: str) -> Observation:
    """What is in the folder, of a program that ended so."""
    seen = of_processes(target.text, sorted(_processes(target.text, folder), key=_order))
    status, detail = Status.OK, None
    if exit_code:
        status = Status.CRASHED if exit_code < 0 else Status.FAILED
        detail = cause_of_death(exit_code) if exit_code < 0 else f"exit code {exit_code}"
    elif not (seen.frames or seen.breaks or seen.failures or seen.traced):
        status, detail = Status.NOTHING_COMPILED, NOTHING
    return replace(seen, status=status, detail=detail, torch=torch)


def _processes(target: str, folder: Path) -> Iterator[tuple[Process, Observation]]:
    for file in sorted(folder.glob("*.jsonl")):
        match read(file):
            case [Process() as process, *events]:
                yield process, observation(target, events)


def _order(item: tuple[Process, Observation]) -> tuple[bool, int]:
    """By rank; those without one as they began."""
    rank = item[0].rank
    return rank is None, rank or 0
