"""A Python file's bytes → its text, lines and columns."""

from __future__ import annotations

import ast
import os
from bisect import bisect_right
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from .ir import Span

if TYPE_CHECKING:
    from .notebook import Cell


@dataclass(eq=False)
class SourceFile:
    """One file as it was read."""

    path: str
    """Absolute."""
    source: bytes = field(repr=False)
    """Python code, also where the file is a notebook."""
    cells: tuple[Cell, ...] = field(default=(), kw_only=True, repr=False)
    """Where a notebook's cells begin."""

    @cached_property
    def text(self) -> str:
        """The decoded source, line ends normalised as Python's own parser does."""
        import io
        import tokenize

        encoding, _ = tokenize.detect_encoding(io.BytesIO(self.source).readline)
        return io.TextIOWrapper(io.BytesIO(self.source), encoding, newline=None).read()

    @property
    def syntax_tree(self) -> ast.Module:
        """Python's own tree, for the few who need more than the IR; large, and so kept only for the last few files."""
        return _parsed(self.source)

    @cached_property
    def lines(self) -> list[str]:
        return self.text.split("\n")

    @cached_property
    def stripped(self) -> list[str]:
        """The lines without the blanks around them."""
        return [line.strip() for line in self.lines]

    def place(self, line: int) -> tuple[int | None, int]:
        """The notebook's cell that a line lies in, and the line as counted there; a file's own line elsewhere."""
        at = bisect_right(self.cells, line, key=lambda cell: cell.first)
        if not at:
            return None, line
        cell = self.cells[at - 1]
        return cell.number, line - cell.first + 1

    def settled(self) -> SourceFile:
        """The file with its lines numbered as they stand; while it is edited that may be otherwise."""
        return self

    def settle(self, span: Span) -> Span:
        """The span in the file `settled`."""
        return span

    def text_of(self, cell: int | None) -> str:
        """One cell's text, the whole where there are no cells."""
        if cell is None:
            return self.text
        return "\n".join(line for number, line in enumerate(self.lines, start=1) if self.place(number)[0] == cell)

    def code_column(self, line: int, utf8_column: int) -> int:
        """`ast`'s byte column as a column in code points."""
        if line > len(self.lines):
            return utf8_column
        text = self.lines[line - 1]
        return utf8_column if text.isascii() else len(text.encode()[:utf8_column].decode(errors="ignore"))

    def end_of(self, node: ast.expr | ast.keyword) -> tuple[int, int]:
        """Line and column, in code points, at which a node of the file's own tree ends."""
        assert node.end_lineno is not None and node.end_col_offset is not None
        return node.end_lineno, self.code_column(node.end_lineno, node.end_col_offset)

    def source_of(self, span: Span) -> str:
        """The text of `span`, inner line breaks and indentation squeezed."""
        line, column, end_line, end_column = span
        rows = [row.encode() for row in self.lines[line - 1 : end_line]]
        if not rows:
            return ""
        rows[-1] = rows[-1][:end_column]
        rows[0] = rows[0][column:]
        return " ".join(row.decode(errors="ignore").strip() for row in rows)


@lru_cache(maxsize=4)
def _parsed(source: bytes) -> ast.Module:
    return ast.parse(source)


def display(path: str) -> str:
    """Relative to the working directory, with `/`."""
    return _relative(path, str(Path.cwd()))


@lru_cache(maxsize=4096)
def _relative(path: str, folder: str) -> str:
    return Path(os.path.relpath(path, folder)).as_posix()
