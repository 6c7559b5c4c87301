"""The option `--report`, and what writes the page that it asks for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from fullgraph.jit.events import Observation
    from fullgraph.jit.kept import Kept
    from fullgraph.jit.verify import TargetReport

ON_PAGE = ("aten", "partition", "linalg", "loops")
"""Stages of the MLIR backend's lowering whose IR the page has, besides the one that is asked for."""
option = click.option(
    "--report",
    "page",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE.html",
    help="Write a page there too, one file that needs no network: sources with verdicts and guards, frames, "
    "recompiles, compile time and graphs.",
)


def stages(shown: str | None, page: Path | None) -> tuple[str, ...]:
    """Whose IR to ask for: the page has more than what is shown otherwise."""
    return tuple(dict.fromkeys([*([shown] if shown else []), *(ON_PAGE if page else ())]))


def without_ir(reports: Sequence[TargetReport], but: str | None) -> list[TargetReport]:
    """The reports as they are without a page, with the IR of one stage or none."""
    return [replace(report, observation=_with_stage(report.observation, but)) for report in reports]


def _with_stage(seen: Observation, name: str | None) -> Observation:
    return replace(seen, stages=tuple(item for item in seen.stages if item.name == name))


def writer(page: Path | None) -> Callable[[Sequence[TargetReport], Kept], None]:
    """Made before anything runs, so that what is missing is told then."""
    if page is None:
        return lambda reports, kept: None
    if not page.absolute().parent.is_dir():
        raise click.UsageError(f"--report {page}: there is no folder {page.parent}")
    try:
        from fullgraph.jit.html.page import render
    except ModuleNotFoundError as error:
        raise click.UsageError(f"--report needs {error.name}: pip install 'fullgraph[jit]'") from None

    def write(reports: Sequence[TargetReport], kept: Kept) -> None:
        try:
            page.write_text(render(reports, kept.read), encoding="utf-8")
        except OSError as error:
            raise click.UsageError(f"--report {page}: cannot be written: {error.strerror}") from None

    return write
