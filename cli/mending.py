"""`verify --fix`: writes what holds or prints the patch, and says what became of the fixes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from .fix import save

if TYPE_CHECKING:
    from fullgraph.jit.session import Fixed

INSTALLED = frozenset({"site-packages", "dist-packages"})


def finish(fixed: Fixed, diff: bool, printed: bool) -> None:
    """The files change only here. With `diff` they do not; `printed` says that the patch is in the report already."""
    from fullgraph.jit.mend.report import Outcome

    changed = [item for item in fixed.changed if diff or not INSTALLED & set(Path(item[0]).parts)]
    for path in {item[0] for item in fixed.changed} - {item[0] for item in changed}:
        _tell(f"{path} is installed, and is not changed; --diff prints what would be")
    if not (diff and printed):
        save(changed, diff)
    rows = [row for report in fixed.reports if report.mended for row in report.mended.rows]
    sites = {(row.path, row.line, row.code) for row in rows}
    mended = {(row.path, row.line, row.code) for row in rows if row.outcome is Outcome.VERIFIED}
    verb = "would fix" if diff else "fixed"
    _tell(f"{verb} {len(mended)} of {len(sites)} site{'' if len(sites) == 1 else 's'}")


def _tell(text: str) -> None:
    click.echo(f"fullgraph: {text}", err=True)
