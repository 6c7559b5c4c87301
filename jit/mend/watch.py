"""Functions that a fix compiles no longer as a whole: their calls are kept and compared as those of compiled ones."""

from __future__ import annotations

import ast
import builtins
import contextlib
import os
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from importlib.machinery import SourceFileLoader
from typing import Any

MARK = "__fullgraph_watched__"
"""Decorates them, and is known everywhere."""
Named = tuple[tuple[str, str], ...]
Definition = ast.FunctionDef | ast.AsyncFunctionDef


def released(old: Mapping[str, bytes], new: Mapping[str, bytes]) -> Named:
    """Path and qualified name of what a decorator compiles in `old`, and none in `new`."""
    changed = [path for path in sorted(new) if new[path] != old.get(path, new[path])]
    return tuple((path, name) for path in changed for name in _released(_compiled(old[path]), _compiled(new[path])))


def _released(old: Mapping[str, bool], new: Mapping[str, bool]) -> Iterator[str]:
    return (name for name, compiled in old.items() if compiled and new.get(name) is False)


def _compiled(source: bytes) -> dict[str, bool]:
    """Functions by their qualified names, and whether a decorator compiles them."""
    try:
        tree = ast.parse(source)
    except SyntaxError:
        return {}
    return {name: any(map(_compiles, node.decorator_list)) for name, node in _definitions(tree, "")}


def _compiles(decorator: ast.expr) -> bool:
    match decorator:
        case ast.Call(func=function):
            return _compiles(function)
        case ast.Attribute(attr="compile") | ast.Name(id="compile"):
            return True
    return False


def _definitions(node: ast.AST, prefix: str) -> Iterator[tuple[str, Definition]]:
    for child in ast.iter_child_nodes(node):
        match child:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                yield prefix + name, child
                yield from _definitions(child, f"{prefix}{name}.<locals>.")
            case ast.ClassDef(name=name):
                yield from _definitions(child, f"{prefix}{name}.")
            case _:
                yield from _definitions(child, prefix)


@contextlib.contextmanager
def watching(watched: Named, decorator: Callable[[Any], Any]) -> Iterator[None]:
    """Until the context closes, what is imported has the decorator on these functions. No line is another for that."""
    names = defaultdict[str, set[str]](set)
    for path, name in watched:
        names[path].add(name)
    loader: Any = SourceFileLoader
    original = loader.source_to_code

    def source_to_code(self: Any, data: Any, path: str, **options: Any) -> Any:
        wanted = names.get(os.path.abspath(path))  # noqa: PTH100  (links stay as they are written)
        return original(self, _marked(ast.parse(data), wanted) if wanted else data, path, **options)

    setattr(builtins, MARK, decorator)
    loader.source_to_code = source_to_code
    try:
        yield
    finally:
        loader.source_to_code = original
        delattr(builtins, MARK)


def _marked(tree: ast.Module, names: Iterable[str]) -> ast.Module:
    for name, node in _definitions(tree, ""):
        if name in names:
            place = node.decorator_list[0] if node.decorator_list else node
            node.decorator_list.insert(0, ast.copy_location(ast.Name(MARK, ast.Load()), place))
    return tree
