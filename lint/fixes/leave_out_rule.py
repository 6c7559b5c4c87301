"""The `jvp` of an autograd function with a `backward` → left out: forward-mode differentiation of it is lost."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import libcst as cst

from ..findings import Edit, Fix
from ..slice import Slice
from ..symbols import Module

RULES = ("jvp", "vjp")


def fix(found: Slice, path: str) -> Fix | None:
    match found.underlined:
        case cst.Call(func=cst.Attribute(value=cst.Name(value=name), attr=cst.Name("apply"))):
            edits = tuple(_deletions(found.module, name, path))
            return Fix("leave out the forward-mode rule", "unsafe", edits) if edits else None
    return None


def _deletions(module: Module, name: str, path: str) -> Iterator[Edit]:
    for node in module.syntax_tree.body:
        if isinstance(node, ast.ClassDef) and node.name == name:
            methods = {part.name: part for part in node.body if isinstance(part, ast.FunctionDef)}
            if not {"forward", "backward"} <= set(methods):
                return
            for rule in RULES:
                if rule in methods:
                    yield from _deletion(module, methods[rule], path)


def _deletion(module: Module, method: ast.FunctionDef, path: str) -> Iterator[Edit]:
    """The lines of the method and the blank ones above; none where comments or other statements would go too."""
    first = min([method.lineno, *(decorator.lineno for decorator in method.decorator_list)])
    last = method.end_lineno or method.lineno
    if any("#" in line for line in module.lines[first - 1 : last]) or ";" in module.lines[last - 1]:
        return
    while first > 1 and not module.lines[first - 2].strip():
        first -= 1
    yield Edit(path, (first, 0), (last + 1, 0), "")
