"""Cuts a file down to what one of its lines needs: the statements around and below it, and those that come to it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


@dataclass(frozen=True, slots=True)
class Snippet:
    """Some of a file's code; `line` is where the line that matters has gone."""

    code: str
    line: int

    def marked(self, text: str) -> str:
        """With a comment at the line, if there is room for one: not inside a string that goes on."""
        lines = self.code.splitlines()
        lines[self.line - 1] += f"  # {text}"
        marked = "\n".join(lines) + "\n"
        try:
            same = ast.dump(ast.parse(marked)) == ast.dump(ast.parse(self.code))
        except (SyntaxError, ValueError):
            return self.code
        return marked if same else self.code


def cut(source: str, line: int) -> Snippet | None:
    """What the line needs by the names in it, at the file's top level; None if nothing can be left out."""
    try:
        body = ast.parse(source).body
    except (SyntaxError, ValueError):
        return None
    start = next((node for node in body if _first(node) <= line <= (node.end_lineno or 0)), None)
    if start is None:
        return None
    kept = _needed(body, _users(body, start))
    if len(kept) == len(body):
        return None
    text = source.splitlines()
    lines: list[str] = []
    place = 0
    for before, node in zip([None, *body], body, strict=False):
        if node not in kept:
            continue
        if lines and (_apart(node) or _apart(before)):
            lines.append("")
        if node is start:
            place = len(lines) + line - _first(node) + 1
        lines += text[_first(node) - 1 : node.end_lineno]
    return Snippet("\n".join(lines) + "\n", place)


def _users(body: list[ast.stmt], start: ast.stmt) -> set[ast.stmt]:
    """The statement, and all that use what it defines, directly or through others."""
    kept, names = {start}, _bound(start)
    while found := [node for node in body if node not in kept and names & _used(node)]:
        kept.update(found)
        names |= set[str]().union(*map(_bound, found))
    return kept


def _needed(body: list[ast.stmt], kept: set[ast.stmt]) -> set[ast.stmt]:
    """These statements, and all that define what they use."""
    while True:
        names = set[str]().union(*map(_used, kept))
        more = {node for node in body if node not in kept and names & _bound(node)}
        if not more:
            return kept
        kept |= more


def _bound(node: ast.stmt) -> set[str]:
    return set(_bindings(node))


def _bindings(node: ast.AST) -> Iterator[str]:
    """The names that running it defines, not those inside functions and classes."""
    match node:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            yield name
            return
        case ast.Import(names=names) | ast.ImportFrom(names=names):
            yield from ((alias.asname or alias.name).partition(".")[0] for alias in names)
        case ast.Name(id=name, ctx=ast.Store()):
            yield name
    for child in ast.iter_child_nodes(node):
        yield from _bindings(child)


def _used(node: ast.stmt) -> set[str]:
    return {item.id for item in ast.walk(node) if isinstance(item, ast.Name) and isinstance(item.ctx, ast.Load)}


def _first(node: ast.stmt) -> int:
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    return min([node.lineno, *(decorator.lineno for decorator in decorators)])


def _apart(node: ast.stmt | None) -> bool:
    return isinstance(node, DEFINITIONS)
