"""A Jupyter notebook's bytes → one Python module of its code cells in order, and where each cell begins in it.

What only IPython understands is blanked so that lines stay where they are; a cell that is no Python even then is left
out and told.
"""

from __future__ import annotations

import ast
import re

import msgspec
from msgspec import Struct

from .summary import SyntaxProblem, syntax_problem

SUFFIX = ".ipynb"
PYTHON_MAGICS = ("%%capture", "%%prun", "%%time", "%%timeit")
"""Cell magics whose cell is Python all the same."""
MAGIC = re.compile(r"^(?P<start>\s*(?:[\w.,\s]+=\s*)?)(?:(?:!|%%?\w|\?).*|[\w.]+\?{1,2}\s*)$")


class Cell(Struct, frozen=True):
    number: int
    """Counted over all cells, from 1."""
    first: int
    """Its first line in the module."""


class Notebook(Struct, frozen=True):
    source: bytes
    cells: tuple[Cell, ...] = ()
    problem: SyntaxProblem | None = None
    """Why the notebook, or the first cell left out, could not be read."""


def read(data: bytes) -> Notebook:
    """The module that running a notebook's cells from top to bottom amounts to; empty for another language's."""
    try:
        texts = code_cells(data)
    except ValueError as error:
        return Notebook(b"", problem=SyntaxProblem(f"not a notebook: {error}", 1, 0))
    lines: list[str] = []
    cells: list[Cell] = []
    problem: SyntaxProblem | None = None
    for number, text in texts.items():
        cells.append(Cell(number, len(lines) + 1))
        code, wrong = _python(text)
        if wrong is not None and problem is None:
            problem = SyntaxProblem(wrong.message, wrong.line, wrong.column, number)
        lines += code.split("\n")
    return Notebook("\n".join(lines).encode(errors="replace"), tuple(cells), problem)


def code_cells(data: bytes) -> dict[int, str]:
    """The text of each code cell by its number; none for a notebook in another language.

    Raises ValueError where the bytes are no notebook.
    """
    try:
        document = msgspec.json.decode(data, type=_Document)
    except msgspec.DecodeError as error:
        raise ValueError(str(error)) from None
    about = document.metadata
    if (about.language_info.name or about.kernelspec.language or "python").lower() not in ("python", "ipython"):
        return {}
    numbered = enumerate(document.cells, start=1)
    return {number: "".join(cell.source) for number, cell in numbered if cell.cell_type == "code"}


class _Language(Struct):
    name: str = ""


class _Kernel(Struct):
    language: str = ""


class _About(Struct):
    language_info: _Language = msgspec.field(default_factory=_Language)
    kernelspec: _Kernel = msgspec.field(default_factory=_Kernel)


class _WrittenCell(Struct):
    cell_type: str
    source: str | list[str] = ""


class _Document(Struct):
    cells: list[_WrittenCell]
    metadata: _About = msgspec.field(default_factory=_About)


def _python(text: str) -> tuple[str, SyntaxProblem | None]:
    """A cell as plain Python, as many lines as before; blank, with the reason, where it can't be made so."""
    blank = "\n" * text.count("\n")
    if text.startswith("%%") and not text.startswith(PYTHON_MAGICS):
        return blank, None
    if _error(text) is None:
        return text, None
    plain = "\n".join(_plain(line) for line in text.split("\n"))
    problem = _error(plain)
    return (plain, None) if problem is None else (blank, problem)


def _plain(line: str) -> str:
    match = MAGIC.match(line)
    if match is None:
        return line
    start = match["start"]
    return f"{start}None" if "=" in start else f"{start}pass"


def _error(text: str) -> SyntaxProblem | None:
    try:
        ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        return syntax_problem(error)
    return None
