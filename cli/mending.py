"""`verify --fix`: writes what holds or prints the patch, and says what became of the fixes."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from fullgraph.lint.libraries import is_installed

from .fix import save

if TYPE_CHECKING:
    from fullgraph.jit.session import Fixed


def finish(fixed: Fixed, diff: bool, printed: bool) -> None:
    """The files change only here. With `diff` they do not; `printed` says that the patch is in the report already."""
    from fullgraph.jit.mend.report import Outcome

    changed = [item for item in fixed.changed if diff or not is_installed(Path(item[0]))]
    for path in {item[0] for item in fixed.changed} - {item[0] for item in changed}:
        _tell(f"{path} is installed, and is not changed; --diff prints what would be")
    if not diff:
        _refuse_changed(changed)
    if not (diff and printed):
        save(changed, diff)
    rows = [row for report in fixed.reports if report.mended for row in report.mended.rows]
    sites = {(row.path, row.line, row.code) for row in rows}
    mended = {(row.path, row.line, row.code) for row in rows if row.outcome is Outcome.VERIFIED}
    verb = "would fix" if diff else "fixed"
    _tell(f"{verb} {len(mended)} of {len(sites)} site{'' if len(sites) == 1 else 's'}")


def _refuse_changed(changed: Iterable[tuple[str, bytes, bytes]]) -> None:
    """Before any file is written: they belong together. Raises click.FileError."""
    for path, before, _ in changed:
        try:
            same = Path(path).read_bytes() == before
        except OSError as error:
            raise click.FileError(path, error.strerror or str(error)) from None
        if not same:
            raise click.FileError(path, "it has changed meanwhile, so nothing is written")


def _tell(text: str) -> None:
    click.echo(f"fullgraph: {text}", err=True)
