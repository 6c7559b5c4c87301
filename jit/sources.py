"""Where frozen values come from: which source a finding's expression reads. Never imports torch."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

from fullgraph.lint.findings import Finding, Span

from .places import code_points

VALUES = ("1", "0", "2", "true", "false", "")
"""What an environment variable is set to, after the strings of the function that reads it."""


class Kind(str, Enum):
    """What a source is."""

    ENVIRONMENT = "environment variable"
    STATE = "state of the process"
    DRAW = "random number"
    ATTRIBUTE = "attribute"
    HOOKS = "hooks of modules"
    CLASSES = "registered classes"
    GUARDS = "guards"
    """Left out by the program, so that anything may be frozen."""


@dataclass(frozen=True, slots=True)
class Source:
    """`name` is the variable's, the function's that answers, or dotted as in the code of `path`."""

    kind: Kind
    name: str
    path: str = ""
    values: tuple[str, ...] = ()
    """What an environment variable may be set to."""
    argument: str = ""
    """What the function is asked about."""
    outside: bool = False
    """Whether the finding is about the program around compiled code, which is not traced."""


@dataclass(frozen=True, slots=True)
class Watch:
    """A run whose calls of compiled functions are recorded with the state of these sources. One that is not `eager` is
    followed by probes: each source is changed, and the function called again.
    """

    sources: tuple[Source, ...]
    eager: bool


def source_of(finding: Finding, code: str) -> Source | None:
    """What the finding says is read only once; None where that is not known. `code` is of its whole file."""
    try:
        tree = ast.parse(code)
    except (SyntaxError, ValueError):
        return None
    node = next((node for node in ast.walk(tree) if _is_at(node, finding.span, code.split("\n"))), None)
    match finding.rule, node:
        case "environment-frozen", ast.Call(args=[ast.Constant(str(name)), *_]) | ast.Compare(ast.Constant(str(name))):
            return Source(Kind.ENVIRONMENT, name, values=tuple(dict.fromkeys((*_strings(tree, finding.span), *VALUES))))
        case "process-state-frozen", ast.Call(func, args):
            argument = args[0].value if args and isinstance(args[0], ast.Constant) else ""
            return Source(Kind.STATE, _dotted(func).rpartition(".")[2], argument=str(argument))
        case "private-random-frozen", ast.Call():
            return Source(Kind.DRAW, ast.unparse(node))
        case "hook-after-compile", _:
            return Source(Kind.HOOKS, "", outside=True)
        case "class-registered-late", _:
            return Source(Kind.CLASSES, "", outside=True)
        case "guards-dropped", _:
            return Source(Kind.GUARDS, "", outside=True)
        case "patched-after-compile", ast.Attribute() | ast.Name() as read if _dotted(read):
            return Source(Kind.ATTRIBUTE, _dotted(read), finding.span.path, outside=True)
        case "environment-frozen" | "process-state-frozen" | "private-random-frozen", _:
            return None
        case _, ast.Call(func=ast.Attribute() | ast.Name() as read) | (ast.Attribute() | ast.Name() as read):
            return Source(Kind.ATTRIBUTE, _dotted(read), finding.span.path) if _dotted(read) else None
        case _:
            return None


def _is_at(node: ast.AST, span: Span, lines: list[str]) -> bool:
    if not isinstance(node, ast.expr) or (node.lineno, node.end_lineno) != (span.line, span.end_line):
        return False
    start = code_points(lines[span.line - 1], node.col_offset)
    return (start, code_points(lines[span.end_line - 1], node.end_col_offset)) == (span.column, span.end_column)


def _dotted(node: ast.expr) -> str:
    match node:
        case ast.Name(id=name):
            return name
        case ast.Attribute(value=value, attr=name) if owner := _dotted(value):
            return f"{owner}.{name}"
        case _:
            return ""


def _strings(tree: ast.Module, span: Span) -> Iterator[str]:
    """The strings of the functions around a place."""
    functions = (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))
    for function in functions:
        if function.lineno <= span.line <= (function.end_lineno or 0):
            constants = (node.value for node in ast.walk(function) if isinstance(node, ast.Constant))
            yield from (value for value in constants if isinstance(value, str))
