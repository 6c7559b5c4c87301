"""Where code stands in its file: from the positions of instructions, which count UTF-8 bytes, to code points."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from types import CodeType
from typing import TypeAlias

from .events import Extent

Positions: TypeAlias = tuple[int | None, int | None, int | None, int | None]
"""First line, last line, column and end column, as `dis.Positions` orders them."""


def code_points(text: str, column: int | None) -> int:
    """The column in that line, or its end if the column is None or lies behind that."""
    text = text.rstrip("\n")
    return len(text.encode()[:column].decode(errors="replace"))


def extents(positions: Iterable[Positions], line_of: Callable[[int], str]) -> tuple[Extent, ...]:
    """The places of instructions that have one, in order, each once; `line_of` gives the text of a line."""
    return tuple(sorted(set(_extents(positions, line_of))))


def _extents(positions: Iterable[Positions], line_of: Callable[[int], str]) -> Iterator[Extent]:
    for line, end_line, column, end_column in positions:
        if line is not None and end_line is not None and column is not None and end_column is not None:
            end = code_points(line_of(end_line), end_column)
            yield Extent(line, code_points(line_of(line), column), end_line, end)


def all_extents(source: str) -> tuple[Extent, ...]:
    """The places of all instructions that a file compiles to. Raises SyntaxError or ValueError if it does not."""
    lines = source.split("\n")

    def positions(code: CodeType) -> Iterator[Positions]:
        yield from code.co_positions()
        for constant in code.co_consts:
            if isinstance(constant, CodeType):
                yield from positions(constant)

    code = compile(source, "<source>", "exec", dont_inherit=True)
    # The code of a module begins with an instruction at line 0.
    return extents((item for item in positions(code) if item[0]), lambda line: lines[line - 1])
