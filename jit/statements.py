"""What stands where in source files: statements, functions, instructions and names."""

from __future__ import annotations

import ast
import contextlib
import re
from collections.abc import Callable
from dataclasses import dataclass

from fullgraph.lint.findings import Span

from .events import Extent
from .places import all_extents


@dataclass(frozen=True, slots=True)
class Statement:
    """A simple statement, or the header of a compound one."""

    path: str
    line: int
    end_line: int


class Sources:
    """Answers from the text of files; where a file cannot be parsed, every line is a statement of its own."""

    def __init__(self, read: Callable[[str], str]) -> None:
        self._read = read
        self._statements: dict[str, dict[int, Statement]] = {}
        self._extents: dict[str, tuple[Extent, ...]] = {}
        self._functions: dict[str, list[tuple[int, int]]] = {}

    def statement(self, path: str, line: int) -> Statement:
        """The one that holds a line."""
        if path not in self._statements:
            self._parse(path)
        return self._statements[path].get(line) or Statement(path, line, line)

    def statements(self, path: str, first: int, last: int) -> list[Statement]:
        """Those that hold any of the lines; blank lines, comments and a bare `else` are in none."""
        if path not in self._statements:
            self._parse(path)
        held = self._statements[path]
        return list(dict.fromkeys(held[line] for line in range(first, last + 1) if line in held))

    def extents(self, path: str) -> tuple[Extent, ...]:
        """The places of all instructions of the file."""
        if path not in self._extents:
            self._parse(path)
        return self._extents[path]

    def function(self, path: str, line: int) -> tuple[int, int]:
        """First and last line of the innermost function that holds a line; none of it has them."""
        if path not in self._functions:
            self._parse(path)
        holding = [span for span in self._functions[path] if span[0] <= line <= span[1]]
        return max(holding, default=(0, 0))

    def names(self, span: Span) -> list[str]:
        """The identifiers of an expression on one line, in order."""
        with contextlib.suppress(OSError, ValueError):
            text = self._read(span.path).splitlines()[span.line - 1][span.column : span.end_column]
            return re.findall(r"[A-Za-z_]\w*", text)
        return []

    def _parse(self, path: str) -> None:
        self._statements[path], self._extents[path], self._functions[path] = {}, (), []
        with contextlib.suppress(OSError, SyntaxError, ValueError):
            source = self._read(path)
            self._extents[path] = all_extents(source)
            nodes = list(ast.walk(ast.parse(source)))
            self._functions[path] = [
                (node.lineno, node.end_lineno or 0) for node in nodes if isinstance(node, FUNCTIONS)
            ]
            spans = [Statement(path, *_span(node)) for node in nodes if isinstance(node, HOLDERS)]
            widest_first = sorted(spans, key=lambda span: span.line - span.end_line)
            self._statements[path] = {
                line: span for span in widest_first for line in range(span.line, span.end_line + 1)
            }


FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
HOLDERS = (ast.stmt, ast.ExceptHandler, ast.match_case)


def _span(node: ast.stmt | ast.ExceptHandler | ast.match_case) -> tuple[int, int]:
    """First and last line, of the header if the node has a body."""
    match node:
        case ast.match_case():
            first, last = node.pattern.lineno, node.pattern.end_lineno or node.pattern.lineno
            body: list[ast.stmt] = node.body
        case ast.Match():
            return node.lineno, max(node.lineno, node.cases[0].pattern.lineno - 1)
        case _:
            first, last = node.lineno, node.end_lineno or node.lineno
            body = getattr(node, "body", [])
            decorators: list[ast.expr] = getattr(node, "decorator_list", [])
            first = min([first, *(decorator.lineno for decorator in decorators)])
    return first, max(first, _first_line(body[0]) - 1) if body else last


def _first_line(node: ast.stmt) -> int:
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    return min([node.lineno, *(decorator.lineno for decorator in decorators)])
