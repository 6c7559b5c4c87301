"""A Python text → where its functions and classes stand, by qualified name."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterator
from dataclasses import dataclass

from fullgraph.lint.findings import Span


@dataclass(frozen=True, slots=True)
class Definition:
    """A function or class: the lines from its first decorator to its end, and its header."""

    first: int
    line: int
    """That of `def` or `class`."""
    last: int
    column: int


Outline = dict[str, Definition]


def outline(source: str) -> Outline:
    """Empty for a text that does not parse; of several definitions with one name the last counts."""
    try:
        with warnings.catch_warnings(action="ignore"):  # about escapes in the user's strings
            tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return {}
    return dict(_definitions(tree, ""))


def _definitions(node: ast.AST, prefix: str) -> Iterator[tuple[str, Definition]]:
    for child in ast.iter_child_nodes(node):
        match child:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                first = min([child.lineno, *(decorator.lineno for decorator in child.decorator_list)])
                definition = Definition(first, child.lineno, child.end_lineno or child.lineno, child.col_offset)
                yield prefix + child.name, definition
                inner = "" if isinstance(child, ast.ClassDef) else "<locals>."
                yield from _definitions(child, f"{prefix}{child.name}.{inner}")
            case ast.stmt() | ast.ExceptHandler() | ast.match_case():
                yield from _definitions(child, prefix)


def header(path: str, definition: Definition) -> Span:
    """The line that begins with `def` or `class`, as a place to lead to; a column of code before it is indentation."""
    return Span(path, definition.line, definition.column, definition.line, definition.column)
