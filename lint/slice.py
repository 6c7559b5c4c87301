"""The libcst tree of a finding's statement, found by its path from the enclosing function: files parse slowly.

Importing this module imports libcst.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

import libcst as cst

from .ir import Span
from .project import Module

Path = tuple[tuple[str, int], ...]
"""`(field, index)` steps from a function to one of its statements."""


@dataclass(frozen=True, slots=True)
class Slice:
    """A statement with its tree; `start` and `end` are (line, column in code points) in the file."""

    module: Module
    statement: cst.BaseSmallStatement | cst.BaseStatement
    tree: cst.Module
    start: tuple[int, int]
    end: tuple[int, int]
    alone: bool
    """Whether the statement is the only one on its line."""

    @property
    def indent(self) -> str:
        return self.module.lines[self.start[0] - 1][: self.start[1]]

    def code(self, node: cst.CSTNode) -> str:
        return self.tree.code_for_node(node)


def statement_at(module: Module, span: Span) -> Slice | None:
    """The statement around `span`; None where the slice does not parse by itself or has another shape."""
    tree = ast.parse(module.source)
    top = _enclosing(tree, span)
    if top is None:
        return None
    path, statement = _path_to(top, span)
    parsed = _parse(module, top)
    if parsed is None:
        return None
    node = _follow(parsed[1], path)
    if node is None:
        return None
    start = (statement.lineno, module.code_column(statement.lineno, statement.col_offset))
    end_line, end_column = statement.end_lineno or statement.lineno, statement.end_col_offset or 0
    end = (end_line, module.code_column(end_line, end_column))
    return Slice(module, node, parsed[0], start, end, _alone(module, start, end))


def _alone(module: Module, start: tuple[int, int], end: tuple[int, int]) -> bool:
    before = module.lines[start[0] - 1][: start[1]]
    after = module.lines[end[0] - 1][end[1] :].lstrip()
    return not before.strip() and (not after or after.startswith("#"))


def _enclosing(tree: ast.Module, span: Span) -> ast.stmt | None:
    """The innermost function around the span, else the top-level statement."""
    found: ast.stmt | None = None
    for node in _statements(tree):
        if _covers(node, span) and (found is None or isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))):
            found = node
    return found


def _statements(node: ast.AST) -> Iterator[ast.stmt]:
    """Statements, outer ones first."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.stmt):
            yield child
        yield from _statements(child)


def _covers(node: ast.stmt, span: Span) -> bool:
    start = (node.lineno, node.col_offset)
    end = (node.end_lineno or node.lineno, node.end_col_offset or 0)
    return start <= span[:2] and span[2:] <= end


def _path_to(top: ast.stmt, span: Span) -> tuple[Path, ast.stmt]:
    path: list[tuple[str, int]] = []
    current = top
    while (step := _step(current, span)) is not None:
        field, index, current = step
        path.append((field, index))
    return tuple(path), current


def _step(node: ast.stmt, span: Span) -> tuple[str, int, ast.stmt] | None:
    for field in ("body", "orelse", "finalbody"):
        for index, child in enumerate(getattr(node, field, ())):
            if isinstance(child, ast.stmt) and _covers(child, span):
                return field, index, child
    return None


def _parse(module: Module, top: ast.stmt) -> tuple[cst.Module, cst.CSTNode] | None:
    decorators = getattr(top, "decorator_list", [])
    first = decorators[0].lineno if decorators else top.lineno
    lines = module.lines[first - 1 : top.end_lineno]
    nested = lines[0][:1] in (" ", "\t")
    text = "\n".join(["if True:", *lines] if nested else lines) + "\n"
    try:
        tree = cst.parse_module(text)
    except cst.ParserSyntaxError:
        return None
    outer = tree.body[0]
    if nested:
        assert isinstance(outer, cst.If)
        return tree, outer.body.body[0]
    return tree, outer


def _follow(node: cst.CSTNode, path: Path) -> cst.BaseSmallStatement | cst.BaseStatement | None:
    current: cst.CSTNode | None = _only(node)
    for field, index in path:
        block = _block(current, field)
        if block is None or index >= len(block):
            return None
        current = block[index]
    return current if isinstance(current, (cst.BaseSmallStatement, cst.BaseStatement)) else None


def _only(node: cst.CSTNode) -> cst.CSTNode:
    return node.body[0] if isinstance(node, cst.SimpleStatementLine) and len(node.body) == 1 else node


def _block(node: cst.CSTNode | None, field: str) -> list[cst.CSTNode] | None:
    """The statements in a field of a compound statement, simple ones taken out of their lines."""
    match field, node:
        case "body", (
            cst.FunctionDef(body=body)
            | cst.ClassDef(body=body)
            | cst.If(body=body)
            | cst.For(body=body)
            | cst.While(body=body)
            | cst.With(body=body)
            | cst.Try(body=body)
        ):
            return _flat(body)
        case "orelse", cst.If(orelse=cst.If() as orelse):
            return [orelse]
        case "orelse", cst.If(orelse=cst.Else(body=body)) | cst.For(orelse=cst.Else(body=body)):
            return _flat(body)
        case "finalbody", cst.Try(finalbody=cst.Finally(body=body)):
            return _flat(body)
    return None


def _flat(block: cst.BaseSuite) -> list[cst.CSTNode]:
    if isinstance(block, cst.SimpleStatementSuite):
        return list(block.body)
    assert isinstance(block, cst.IndentedBlock)
    found: list[cst.CSTNode] = []
    for node in block.body:
        found.extend(node.body if isinstance(node, cst.SimpleStatementLine) else [node])
    return found
