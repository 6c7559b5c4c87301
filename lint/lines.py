"""The lines of a file that findings point into, as people see them."""

from __future__ import annotations

import tokenize
from io import BytesIO
from pathlib import Path

from .notebook import code_cells


def lines_of(path: str, cell: int | None) -> list[str]:
    """The lines of a file, or of one cell of a notebook; none where it can't be read."""
    try:
        data = Path(path).read_bytes()
    except OSError:
        return []  # changed under our hands, or standard input; the finding stands without its source
    if cell is not None:
        return _cell_lines(data, cell)
    try:
        encoding, _ = tokenize.detect_encoding(BytesIO(data).readline)
    except SyntaxError:
        encoding = "utf-8"  # the finding may well be about this
    return data.decode(encoding, errors="replace").replace("\r\n", "\n").replace("\r", "\n").split("\n")


def _cell_lines(notebook: bytes, cell: int) -> list[str]:
    try:
        return code_cells(notebook).get(cell, "").split("\n")
    except ValueError:
        return []  # changed under our hands
