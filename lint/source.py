"""A Python file's bytes → its text, lines and columns."""

from __future__ import annotations

import ast
import os
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from .ir import Span


@dataclass(eq=False)
class SourceFile:
    """One file as it was read."""

    path: str
    """Absolute."""
    source: bytes = field(repr=False)

    @cached_property
    def text(self) -> str:
        """The decoded source, line ends normalised as Python's own parser does."""
        import io
        import tokenize

        encoding, _ = tokenize.detect_encoding(io.BytesIO(self.source).readline)
        return io.TextIOWrapper(io.BytesIO(self.source), encoding, newline=None).read()

    @cached_property
    def syntax_tree(self) -> ast.Module:
        """Python's own tree, for the few who need more than the IR."""
        return ast.parse(self.source)

    @cached_property
    def lines(self) -> list[str]:
        return self.text.split("\n")

    def code_column(self, line: int, utf8_column: int) -> int:
        """`ast`'s byte column as a column in code points."""
        if line > len(self.lines):
            return utf8_column
        text = self.lines[line - 1]
        return utf8_column if text.isascii() else len(text.encode()[:utf8_column].decode(errors="ignore"))

    def source_of(self, span: Span) -> str:
        """The text of `span`, inner line breaks and indentation squeezed."""
        line, column, end_line, end_column = span
        rows = [row.encode() for row in self.lines[line - 1 : end_line]]
        if not rows:
            return ""
        rows[-1] = rows[-1][:end_column]
        rows[0] = rows[0][column:]
        return " ".join(row.decode(errors="ignore").strip() for row in rows)


def display(path: str) -> str:
    """Relative to the working directory, with `/`."""
    return Path(os.path.relpath(path)).as_posix()
