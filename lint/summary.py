"""A file's bytes → its `Summary`: the IR of its body and what can be told about it alone. Summaries are cached by
content.
"""

from __future__ import annotations

import ast
import symtable
import sys

from msgspec import Struct

from .cache import SummaryCache
from .ir import Block, lower

ENCODING_ADVICE = "save the file as UTF-8, or name its encoding in the first line: `# -*- coding: latin-1 -*-`"
RECURSION_LIMIT = 20_000
"""Deep enough for generated code; Python's own parser gives up before this."""


class EncodingError(SyntaxError):
    """The file is no text in the encoding that it is said to be in."""


class Summary(Struct, frozen=True):
    body: Block


class SyntaxProblem(Struct, frozen=True):
    """Why a file has no summary, and where."""

    message: str
    line: int
    column: int
    cell: int | None = None
    """The notebook's cell that the line is counted in."""
    advice: str = ""
    """What to do, where the rule does not know."""


def summarise(source: bytes, cache: SummaryCache | None) -> Summary | SyntaxProblem:
    """The summary of `source`, from the cache where it is known there."""
    if cache is not None:
        stored = cache.load(source)
        if stored is not None:
            return Summary(stored)
    try:
        body = lower(_parse(source), pack=True)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        return syntax_problem(error)
    if cache is not None:
        cache.store(source, body)
    return Summary(body)


def check_syntax(source: bytes) -> SyntaxProblem | None:
    """What `summarise` would complain about. Python's symbol table is made without a tree of objects: half the cost."""
    try:
        _allow_depth()
        _require_text(source)
        symtable.symtable(source, "<file>", "exec")  # type: ignore[arg-type]  # it takes bytes as well
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        summary = summarise(source, None)  # it objects to more than the parser does
        return summary if isinstance(summary, SyntaxProblem) else None
    return None


def _parse(source: bytes) -> ast.Module:
    _allow_depth()
    _require_text(source)
    return ast.parse(source)


def _require_text(source: bytes) -> None:
    """Python's parser overlooks bytes in comments that are no text, but no file with them can be imported."""
    if source.isascii():
        return
    import io
    import tokenize

    encoding, _ = tokenize.detect_encoding(io.BytesIO(source).readline)
    try:
        source.decode(encoding)
    except UnicodeDecodeError as error:
        line = source.count(b"\n", 0, error.start) + 1
        raise EncodingError(f"bytes that are no {encoding}", ("<file>", line, None, None)) from None


def _allow_depth() -> None:
    sys.setrecursionlimit(max(sys.getrecursionlimit(), RECURSION_LIMIT))


def syntax_problem(error: Exception) -> SyntaxProblem:
    """What Python's parser complains about."""
    if isinstance(error, EncodingError):
        return SyntaxProblem(error.msg, error.lineno or 1, 0, advice=ENCODING_ADVICE)
    if isinstance(error, SyntaxError):
        return SyntaxProblem(_describe(error), max(error.lineno or 1, 1), max((error.offset or 1) - 1, 0))
    return SyntaxProblem(str(error) or "the code is nested too deeply to parse", 1, 0)


def _describe(error: SyntaxError) -> str:
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    return f"{error.msg} (parsed as Python {version})"
