"""Where a file calls `torch.compile` or decorates with it, and the edit that gives such a place an argument."""

from __future__ import annotations

import ast
import re
from functools import lru_cache

from .findings import Edit
from .symbols import Module

COMPILE = re.compile(rb"\.\s*compile\b")


@lru_cache(maxsize=16)
def compile_sites(module: Module, torch: str) -> tuple[ast.expr, ...]:
    """Every use of `torch.compile` in the file: the call, or the name alone that decorates."""
    if COMPILE.search(module.source) is None:  # as in most files
        return ()
    nodes = list(ast.walk(module.syntax_tree))
    calls = [node for node in nodes if isinstance(node, ast.Call) and is_compile(node.func, torch)]
    called = {call.func for call in calls}
    expressions = (node for node in nodes if isinstance(node, ast.expr))
    return (*calls, *(node for node in expressions if is_compile(node, torch) and node not in called))


def is_compile(node: ast.expr, torch: str) -> bool:
    """Whether the expression is `torch.compile`, by the file's name for torch."""
    match node:
        case ast.Attribute(value=ast.Name(id=name), attr="compile"):
            return name == torch
    return False


def with_argument(module: Module, site: ast.expr, path: str, keyword: str, value: str) -> Edit | None:
    """The keyword, added; None where it is given already, or may be."""
    line, end = module.end_of(site)
    match site:
        case ast.Call(args=args, keywords=keywords):
            if any(given.arg in (keyword, None) for given in keywords):
                return None
            ends = [*map(module.end_of, args), *map(module.end_of, keywords)]
            comma = ", " if ends and not _has_comma(module, max(ends), (line, end - 1)) else ""
            return Edit(path, (line, end - 1), (line, end - 1), f"{comma}{keyword}={value}")
    return Edit(path, (line, end), (line, end), f"({keyword}={value})")


def _has_comma(module: Module, start: tuple[int, int], end: tuple[int, int]) -> bool:
    """Whether there is one between the last argument and the parenthesis, where else only comments may be."""
    rows = module.lines[start[0] - 1 : end[0]]
    rows[-1] = rows[-1][: end[1]]
    rows[0] = rows[0][start[1] :]
    return any("," in row.partition("#")[0] for row in rows)
