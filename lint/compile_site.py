"""Where a file calls `torch.compile` or decorates with it, and the edit that gives such a place an argument."""

from __future__ import annotations

import ast

from .findings import Edit
from .symbols import Module


def compile_sites(module: Module, torch: str) -> list[ast.expr]:
    """Every use of `torch.compile` in the file: the call, or the name alone that decorates."""
    nodes = list(ast.walk(module.syntax_tree))
    calls = [node for node in nodes if isinstance(node, ast.Call) and ast.unparse(node.func) == f"{torch}.compile"]
    called = {id(call.func) for call in calls}
    bare = [node for node in nodes if isinstance(node, ast.Attribute) and ast.unparse(node) == f"{torch}.compile"]
    return [*calls, *(node for node in bare if id(node) not in called)]


def with_argument(site: ast.expr, path: str, keyword: str, value: str) -> Edit | None:
    """The keyword, added; None where it is given already, or may be."""
    if site.end_lineno is None or site.end_col_offset is None:
        return None
    called = isinstance(site, ast.Call)
    if isinstance(site, ast.Call) and any(given.arg in (keyword, None) for given in site.keywords):
        return None
    given = isinstance(site, ast.Call) and bool(site.args or site.keywords)
    place = (site.end_lineno, site.end_col_offset - called)
    text = f"{keyword}={value}" if called else f"({keyword}={value})"
    return Edit(path, place, place, f", {text}" if given else text)
