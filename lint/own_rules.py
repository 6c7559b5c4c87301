"""The rule files of a project: read as the built-in ones are, and remembered, so that most checks parse no YAML."""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Sequence
from pathlib import Path

import click

from fullgraph import rules
from fullgraph.rules.catalogue import pack, unpack
from fullgraph.rules.model import Rule

from .cache import cache_folder

CHECKS = Path(__file__).with_name("checks")


def read(files: Sequence[Path]) -> tuple[Rule, ...]:
    """In order of their codes; a mistake in any of them is a click.UsageError that says where."""
    if not files:
        return ()
    whole = hashlib.blake2b(rules.__version__.encode(), digest_size=16)
    for file in files:
        whole.update(os.fsencode(file) + b"\0" + _bytes(file) + b"\0")
    folder = cache_folder() / "rules"
    remembered = folder / f"{whole.hexdigest()}.json"
    if remembered.is_file():
        return tuple(unpack(remembered.read_text(encoding="utf-8")).values())
    from fullgraph.rules.source import read_files

    found = read_files(files, rules.load().values(), {path.stem for path in CHECKS.glob("[!_]*.py")})
    with contextlib.suppress(OSError):  # a full or read-only disk only costs time
        folder.mkdir(parents=True, exist_ok=True)
        fresh = remembered.with_suffix(f".{os.getpid()}")
        fresh.write_text(pack(found), encoding="utf-8")
        fresh.replace(remembered)
    return tuple(found)


def _bytes(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError as error:
        raise click.UsageError(f"{file}: cannot read it: {error.strerror}") from None
