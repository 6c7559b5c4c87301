"""The torch version to judge by: what the user or the project asks for, brought into the range that was measured."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import click

from fullgraph.rules.support import versions

PIN = re.compile(r"""^[\s"']*torch\s*(?:\[[^\]]*\])?\s*={2,3}\s*v?(\d+)\.(\d+)""", re.MULTILINE | re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Target:
    """A measured version as `major.minor`, and a remark when it is not the version asked for."""

    torch: str
    remark: str | None = None


def resolve(wanted: str | None, root: Path) -> Target:
    """`wanted` is the option or setting; without it the project's pin counts, and without a pin the newest measured."""
    if wanted is not None:
        return _nearest(_parse(wanted), f"torch {wanted}")
    for file, version in _pins(root):
        return _nearest(version, f"torch {version[0]}.{version[1]} (pinned in {file.name})")
    return Target(versions()[-1])


def _parse(text: str) -> tuple[int, int]:
    if found := re.match(r"(\d+)\.(\d+)(?![^.+\s-])", text):
        return int(found[1]), int(found[2])
    raise click.UsageError(f"target torch {text!r} is not a version such as {versions()[-1]}")


def _nearest(version: tuple[int, int], asked: str) -> Target:
    measured = [_parse(text) for text in versions()]
    nearest = min(measured, key=lambda known: (abs(_number(known) - _number(version)), known[1]))
    torch = f"{nearest[0]}.{nearest[1]}"
    if nearest == version:
        return Target(torch)
    return Target(torch, f"{asked} was not measured; judged by torch {torch}, the nearest that was")


def _number(version: tuple[int, int]) -> int:
    """A major version is further away than any minor one."""
    return version[0] * 100 + version[1]


def _pins(root: Path) -> Iterator[tuple[Path, tuple[int, int]]]:
    """Exact pins of torch in the project's lock files, then in its constraints, requirements and pyproject.toml."""
    for name in ("uv.lock", "poetry.lock"):
        if (root / name).is_file() and (version := _locked(root / name)):
            yield root / name, version
    for file in (*sorted(root.glob("constraints*.txt")), *sorted(root.glob("requirements*.txt"))):
        if found := PIN.search(_text(file)):
            yield file, (int(found[1]), int(found[2]))
    if (root / "pyproject.toml").is_file():
        for requirement in _declared(root / "pyproject.toml"):
            if found := PIN.match(requirement):
                yield root / "pyproject.toml", (int(found[1]), int(found[2]))


def _locked(file: Path) -> tuple[int, int] | None:
    # A lock file can be many megabytes, so it is searched as text: the version follows the name in both formats.
    found = re.search(r'^name = "torch"\nversion = "(\d+)\.(\d+)', _text(file), re.MULTILINE)
    return (int(found[1]), int(found[2])) if found else None


def _declared(file: Path) -> Iterator[str]:
    try:
        document = tomllib.loads(_text(file))
    except tomllib.TOMLDecodeError:
        return  # the project's file: its own tools report what is wrong with it
    project = document.get("project", {})
    yield from project.get("dependencies", [])
    for extra in project.get("optional-dependencies", {}).values():
        yield from extra
    for group in document.get("dependency-groups", {}).values():
        yield from (item for item in group if isinstance(item, str))


def _text(file: Path) -> str:
    return file.read_text(encoding="utf-8", errors="replace")
