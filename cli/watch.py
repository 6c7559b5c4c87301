"""`--watch`: runs a command again whenever a file that it may read changes."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path
from types import FrameType

import click
from watchfiles import BaseFilter, Change, watch

from fullgraph.lint.discover import lexically_absolute

SUFFIXES = (".py", ".ipynb", ".toml", ".yaml", ".yml")
SKIPPED = frozenset({"__pycache__", "node_modules", "site-packages", "venv", "build"})


class _Sources(BaseFilter):
    """Code and settings, outside of folders that are never checked."""

    def __call__(self, change: Change, path: str) -> bool:
        folders = Path(path).parts[1:-1]
        return path.endswith(SUFFIXES) and not any(part in SKIPPED or part.startswith(".") for part in folders)


def watching(run: Callable[[], int], paths: Sequence[Path]) -> int:
    """Run, and again after each change in or below the paths, until interrupted; gives the last exit code."""
    here = Path.cwd()
    outside = {path for path in map(lexically_absolute, paths) if not path.is_relative_to(here)}
    places = outside if paths and len(outside) == len(paths) else {here, *outside}
    code = 0
    with _interruptible() as stop, suppress(KeyboardInterrupt):
        code = _once(run)
        _tell("watching for changes, Ctrl-C ends it")
        for changes in watch(*places, watch_filter=_Sources(), stop_event=stop):
            if sys.stdout.isatty():
                click.clear()
            names = sorted({Path(path).name for _, path in changes})
            _tell(f"{datetime.now():%H:%M:%S} {', '.join(names[:3])}{' …' if len(names) > 3 else ''} changed")
            code = _once(run)
    return code


@contextmanager
def _interruptible() -> Iterator[threading.Event]:
    """An event that an interrupt sets. Python drops a KeyboardInterrupt that is raised inside a finaliser, say."""
    stop = threading.Event()

    def interrupt(number: int, frame: FrameType | None) -> None:
        stop.set()
        signal.default_int_handler(number, frame)

    before = signal.signal(signal.SIGINT, interrupt)
    try:
        yield stop
    finally:
        signal.signal(signal.SIGINT, before)


def _once(run: Callable[[], int]) -> int:
    """A mistake, in a config file that is just being written say, ends a run and not the watching."""
    try:
        return run()
    except click.ClickException as error:
        _tell(error.format_message())
        return 2
    finally:
        sys.stdout.flush()


def _tell(text: str) -> None:
    click.echo(f"fullgraph: {text}", err=True)
