"""`fullgraph cache`: what is kept between runs, and how to be rid of it."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import click

from fullgraph.lint.cache import cache_folder, files_in

KINDS = {
    "summaries": "files as the linter reads them",
    "projects": "findings of earlier checks",
    "rules": "rule files of projects, checked",
    "pages": "rule pages for editors",
    "objects": "native code of the MLIR backend",
    "types": "what mypy knows of the files that it was asked about",
    "prove": "what `rules prove` has measured so far",
}


@dataclass(frozen=True, slots=True)
class Kept:
    """One kind of thing in the cache."""

    kind: str
    what: str
    files: int
    size: int
    """Bytes."""


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
def cache() -> None:
    """Say what is kept between runs, or delete it. All of it is made again when it is needed."""


@cache.command()
@click.option("--output-format", type=click.Choice(("text", "json")), default="text", show_default=True)
def info(output_format: str) -> int:
    """Say where the cache is and what is in it."""
    folder = cache_folder()
    kept = tuple(_kept(folder))
    if output_format == "json":
        document = {"schema": "fullgraph.cache/1", "folder": str(folder), "kept": [asdict(each) for each in kept]}
        click.echo(json.dumps(document, indent=2))
        return 0
    click.echo(folder)
    for each in kept:
        click.echo(f"  {each.kind:<10} {_amount(each.files, each.size):<22} {each.what}".rstrip())
    total = _amount(sum(each.files for each in kept), sum(each.size for each in kept))
    click.echo(f"  {'in all':<10} {total}")
    return 0


@cache.command()
@click.argument("kinds", nargs=-1, metavar="[KIND]…")
def clear(kinds: tuple[str, ...]) -> int:
    """Delete what is kept: all of it, or the kinds named, such as `objects`."""
    kept = {each.kind: each for each in _kept(cache_folder())}
    for kind in kinds:
        if kind not in {*KINDS, *kept}:
            raise click.UsageError(f"the cache has no kind {kind!r}; the kinds are {', '.join(KINDS)}")
    files = size = 0
    for kind, each in kept.items():
        if not kinds or kind in kinds:
            _delete(cache_folder() / kind)
            files, size = files + each.files, size + each.size
    click.echo(f"deleted {_amount(files, size)}")
    return 0


def _delete(place: Path) -> None:
    try:
        if place.is_dir():
            shutil.rmtree(place)
        else:
            place.unlink()
    except OSError as error:
        raise click.FileError(str(error.filename or place), error.strerror) from None


def _kept(folder: Path) -> Iterator[Kept]:
    if not folder.is_dir():
        return
    for place in sorted(folder.iterdir()):
        sizes = [state.st_size for _, state in files_in(place)] if place.is_dir() else [place.stat().st_size]
        yield Kept(place.name, KINDS.get(place.name, ""), len(sizes), sum(sizes))


def _amount(files: int, size: int) -> str:
    amount, *units = float(size), "B", "kB", "MB", "GB"
    while amount >= 1000 and len(units) > 1:
        amount, units = amount / 1000, units[1:]
    return f"{files} file{'' if files == 1 else 's'}, {amount:.3g} {units[0]}"
