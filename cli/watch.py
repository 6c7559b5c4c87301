"""`--watch`: runs a command again whenever a file that it may read changes."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path

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
    with suppress(KeyboardInterrupt):
        code = _once(run)
        _tell("watching for changes, Ctrl-C ends it")
        for changes in watch(*places, watch_filter=_Sources()):
            if sys.stdout.isatty():
                click.clear()
            names = sorted({Path(path).name for _, path in changes})
            _tell(f"{datetime.now():%H:%M:%S} {', '.join(names[:3])}{' …' if len(names) > 3 else ''} changed")
            code = _once(run)
    return code


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
