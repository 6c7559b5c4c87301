"""What a fix compiles no longer as a whole: calls are kept and compared as those of compiled functions and modules."""

from __future__ import annotations

import ast
import builtins
import contextlib
import os
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from importlib.machinery import SourceFileLoader
from typing import Any

from .trial import Released

MARK = "__fullgraph_watched__"
"""Decorates functions, is called with modules, and is known everywhere."""
Definition = ast.FunctionDef | ast.AsyncFunctionDef


def released(old: Mapping[str, bytes], new: Mapping[str, bytes]) -> tuple[Released, ...]:
    """What is compiled in `old`, by a decorator or a statement of its own, and as a whole no more in `new`."""
    changed = [path for path in sorted(new) if new[path] != old.get(path, new[path])]
    return tuple(item for path in changed for item in _released(path, old[path], new[path]))


def _released(path: str, old: bytes, new: bytes) -> Iterator[Released]:
    try:
        before, after = ast.parse(old), ast.parse(new)
    except SyntaxError:
        return
    decorated = _decorated(after)
    for name, compiled in _decorated(before).items():
        if compiled and decorated.get(name) is False:
            yield Released(path, name)
    left = set(_stated(after))
    yield from (Released(path, *item) for item in dict.fromkeys(_stated(before)) if item not in left)


def _decorated(tree: ast.Module) -> dict[str, bool]:
    """Functions by their qualified names, and whether a decorator compiles them."""
    return {name: any(map(_compiles, node.decorator_list)) for name, node in _definitions(tree, "")}


def _stated(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Function, and what stands in it for a module that a statement compiles."""
    for name, body in (("", tree), *_definitions(tree, "")):
        for node in _own(body):
            match node:
                case ast.Assign(targets=[target], value=ast.Call() as call) if call.args and _compiles(call):
                    yield name, ast.unparse(target)
                case ast.AnnAssign(target=target, value=ast.Call() as call) if call.args and _compiles(call):
                    yield name, ast.unparse(target)
                case ast.Expr(value=ast.Call(func=ast.Attribute(value=target, attr="compile"))):
                    yield name, ast.unparse(target)


def _own(node: ast.AST) -> Iterator[ast.AST]:
    """What is in a function, in its order, without the functions and classes in it."""
    for child in ast.iter_child_nodes(node):
        yield child
        if not isinstance(child, Definition | ast.ClassDef):
            yield from _own(child)


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
def watching(watched: Iterable[Released], mark: Callable[[Any], Any]) -> Iterator[None]:
    """Until the context closes, what is imported has the mark on these. No line is another for that."""
    named = defaultdict[str, list[Released]](list)
    for item in watched:
        named[item.path].append(item)
    loader: Any = SourceFileLoader
    original = loader.source_to_code

    def source_to_code(self: Any, data: Any, path: str, **options: Any) -> Any:
        wanted = named.get(os.path.abspath(path))  # noqa: PTH100  (links stay as they are written)
        return original(self, _marked(ast.parse(data), wanted) if wanted else data, path, **options)

    setattr(builtins, MARK, mark)
    loader.source_to_code = source_to_code
    try:
        yield
    finally:
        loader.source_to_code = original
        delattr(builtins, MARK)


def _marked(tree: ast.Module, wanted: Iterable[Released]) -> ast.Module:
    functions: dict[str, ast.Module | Definition] = {"": tree, **dict(_definitions(tree, ""))}
    for item in wanted:
        node = functions.get(item.function)
        if item.module and node is not None:
            _Marking(item.module).visit(node)
        elif isinstance(node, Definition):
            place = node.decorator_list[0] if node.decorator_list else node
            node.decorator_list.insert(0, ast.copy_location(ast.Name(MARK, ast.Load()), place))
    return tree


class _Marking(ast.NodeTransformer):
    """Marks a module right before the first statement that compiles parts of it."""

    def __init__(self, module: str) -> None:
        self._module = module
        self._done = False

    def visit_For(self, node: ast.For) -> Any:
        return self._after_mark(node, node.iter) or self.generic_visit(node)

    def visit_Expr(self, node: ast.Expr) -> Any:
        return self._after_mark(node, node.value) or node

    def _after_mark(self, node: ast.stmt, expression: ast.expr) -> list[ast.stmt] | None:
        text, held = ast.unparse(expression), ast.unparse(node)
        if self._done or not text.startswith((f"{self._module}.", f"{self._module}[")) or ".compile(" not in held:
            return None
        self._done = True
        call = ast.Call(ast.Name(MARK, ast.Load()), [ast.parse(self._module, mode="eval").body], [])
        marked = ast.Expr(call)
        for item in ast.walk(marked):
            ast.copy_location(item, node)
        return [marked, node]
