"""Generated files: what is found in one is told where its generator has the same line, as that is where to mend it."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path

from .ir import Span
from .project import Project
from .symbols import FunctionSymbol, Module

HEADER = 2000
"""Bytes at the beginning of a file in which it says that it is generated."""
FROM = re.compile(rb"^\s*(?:#|\"\"\")?.*\bgenerated\b.*?\bfrom\s+[`'\"]?(?P<path>[\w./\\-]+\.py)\b", re.I | re.M)


def generator_named(source: bytes) -> str:
    """The file that a file says it is generated from, as written; empty where it says no such thing."""
    match = FROM.search(source[:HEADER]) if b"enerated" in source[:HEADER] else None
    return "" if match is None else match["path"].decode().replace("\\", "/")


def generator_of(path: str, named: str, root: Path) -> str | None:
    """That file, looked for from the generated file's folder up to the root."""
    folder = Path(path).parent
    for above in (folder, *folder.parents):
        for place in (above / named, above / Path(named).name):
            if place.is_file():
                return os.path.normpath(place)
        if above == root:
            return None
    return None


class Twins:
    """Finds lines of generated files in their generators; `generator` gives a file's, None where it has none."""

    def __init__(self, project: Project, generator: Callable[[str], str | None]) -> None:
        self._project = project
        self._generator = generator
        self._known: dict[tuple[str, str, Span], tuple[str, Span] | None] = {}

    def original(self, path: str, function: str, span: Span) -> tuple[str, Span] | None:
        """The same statement in the function of the same name in the generator."""
        key = (path, function, span)
        if key not in self._known:
            self._known[key] = self._find(path, function, span)
        return self._known[key]

    def _find(self, path: str, function: str, span: Span) -> tuple[str, Span] | None:
        source = self._generator(path)
        if source is None or source == path:
            return None
        copy, written = _function(self._project, path, function), _function(self._project, source, function)
        if copy is None or written is None:
            return None
        height = span[2] - span[0] + 1
        copies = list(_places(copy, _text(copy.module, span[0], height)))
        originals = list(_places(written, _text(copy.module, span[0], height)))
        if span[0] not in copies or len(copies) != len(originals):
            return None
        line = originals[copies.index(span[0])]
        first = _indent(written.module, line) - _indent(copy.module, span[0])
        last = _indent(written.module, line + height - 1) - _indent(copy.module, span[2])
        return source, (line, span[1] + first, line + height - 1, span[3] + last)


def _function(project: Project, path: str, qualname: str) -> FunctionSymbol | None:
    try:
        module = project.load(path)
    except OSError:
        return None
    return None if module is None else module.symbol(qualname)


def _text(module: Module, line: int, height: int) -> list[str]:
    return module.stripped[line - 1 : line - 1 + height]


def _places(symbol: FunctionSymbol, text: list[str]) -> Iterator[int]:
    """The lines of a function at which this text begins."""
    first, last = symbol.extent
    rows = symbol.module.stripped
    return (
        line
        for line in range(first, last + 1)
        if rows[line - 1] == text[0] and rows[line - 1 : line - 1 + len(text)] == text
    )


def _indent(module: Module, line: int) -> int:
    row = module.lines[line - 1]
    return len(row) - len(row.lstrip())
