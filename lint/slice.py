"""The libcst tree of a finding's statement, found by its path from the enclosing function: files parse slowly.

Importing this module imports libcst.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import cached_property, lru_cache

import libcst as cst
import libcst.matchers as m

from .blocks import around
from .findings import Edit
from .ir import Span
from .search import comments_in, descendants
from .symbols import Module

LONGEST = 1000
"""Lines of a function; in a longer one every edit would take too long."""
Path = tuple[tuple[str, int], ...]
"""`(field, index)` steps from a function to one of its statements."""


class CommentLostError(Exception):
    """Not raised to the user: a fix that cannot keep all comments is not offered."""


@dataclass(frozen=True)
class Slice:
    """A statement in the tree of its function, or of itself where it stands at module level."""

    module: Module
    tree: cst.Module
    text: str
    """The tree's source."""
    statement: cst.BaseSmallStatement | cst.BaseStatement
    line: cst.BaseStatement
    """The statement itself, or the line that a simple one shares with others."""
    first_line: int
    """The file's line that the tree's first line stands for."""
    span: Span
    """What the finding underlines."""
    source: str
    """The text there."""
    capturing: tuple[Module, str] | None = None
    """The file that compiles the code, and its name in edits, where `fullgraph=True` would capture all of it."""

    @property
    def function(self) -> cst.FunctionDef | None:
        """The function that the tree is of."""
        outer: cst.BaseStatement = self.tree.body[0]
        while isinstance(outer, cst.If) and isinstance(outer.body, cst.IndentedBlock):
            outer = outer.body.body[0]
        return outer if isinstance(outer, cst.FunctionDef) else None

    @cached_property
    def underlined(self) -> cst.BaseExpression | None:
        """The expression that the finding underlines; the first where the statement has it several times."""
        kind = _kind_of(self.source)
        same = (
            node for node in descendants(self.statement) if isinstance(node, kind) and self.code(node) == self.source
        )
        return next(same, None)

    def code(self, node: cst.CSTNode) -> str:
        """The source of a node, without parentheses around it."""
        removable = isinstance(node, cst.BaseExpression) and node.lpar and not m.matches(node, m.Tuple(elements=[]))
        return self.tree.code_for_node(node.with_changes(lpar=(), rpar=()) if removable else node)

    def replace(self, path: str, old: cst.CSTNode, new: cst.CSTNode) -> Edit:
        """The smallest edit of the file that puts `new` in the place of `old`; `path` is the file's name in it.

        Raises CommentLostError where comments would go.
        """
        if not _comments(old) <= _comments(new):
            raise CommentLostError
        changed = _exchanged(self.tree, old, new)
        assert isinstance(changed, cst.Module)
        before, after = self.text, changed.code
        start = _shared(before, after)
        tail = min(_shared(before[::-1], after[::-1]), min(len(before), len(after)) - start)
        return Edit(
            path,
            self._place(before, start),
            self._place(before, len(before) - tail),
            after[start : len(after) - tail],
        )

    def above(self, path: str, text: str) -> Edit:
        """The edit that puts lines of text above the top-level statement around, and above the comments on it."""
        top = next(node for node in self.module.syntax_tree.body if _covers(node, self.span))
        line = _first_line(top)
        while line > 1 and self.module.lines[line - 2].startswith("#"):
            line -= 1
        return Edit(path, (line, 0), (line, 0), text)

    def _place(self, code: str, offset: int) -> tuple[int, int]:
        above = code[:offset]
        return self.first_line + above.count("\n"), offset - (above.rfind("\n") + 1)


def _comments(node: cst.CSTNode) -> Counter[str]:
    return Counter(comment.value for comment in comments_in(node))


def _kind_of(source: str) -> type[cst.BaseExpression]:
    """The class of an expression of this source; that of them all where it is none by itself, as of `*args`."""
    try:
        return type(cst.parse_expression(f"({source})"))
    except cst.ParserSyntaxError:
        return cst.BaseExpression


def _exchanged(tree: cst.CSTNode, old: cst.CSTNode, new: cst.CSTNode) -> cst.CSTNode:
    """The tree with `new` in the place of `old`; what is not around it is shared with the tree as it was."""
    for parent in reversed(around(tree, old)):
        old, new = parent, _with_child(parent, old, new)
    return new


def _with_child(parent: cst.CSTNode, old: cst.CSTNode, new: cst.CSTNode) -> cst.CSTNode:
    for field in fields(parent):
        match getattr(parent, field.name):
            case tuple() | list() as parts if old in parts:
                return parent.with_changes(**{field.name: [new if part is old else part for part in parts]})
            case part if part is old:
                return parent.with_changes(**{field.name: new})
    raise AssertionError(old)


def _shared(a: str, b: str) -> int:
    """The length of the common beginning."""
    return next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))


def statement_at(module: Module, span: Span, capturing: tuple[Module, str] | None = None) -> Slice | None:
    """The statement around `span`; None where the slice does not parse by itself or has another shape."""
    top = _enclosing(module.syntax_tree, span)
    if top is None:
        return None
    first = _first_line(top)
    lines = module.lines[first - 1 : top.end_lineno]
    nested = lines[0][:1] in (" ", "\t")
    if len(lines) > LONGEST:
        return None
    text = "\n".join(["if True:", *lines] if nested else lines) + "\n"
    try:
        tree = _parsed(text)
    except cst.ParserSyntaxError:
        return None
    outer: cst.BaseStatement = tree.body[0]
    if nested:
        assert isinstance(outer, cst.If)
        outer = cst.ensure_type(outer.body, cst.IndentedBlock).body[0]
    found = _follow(outer, _path_to(top, span))
    if found is None:
        return None
    return Slice(module, tree, text, *found, first - nested, span, module.source_of(span), capturing)


@lru_cache(maxsize=16)
def _parsed(code: str) -> cst.Module:
    """Findings come function by function, and trees do not change."""
    return cst.parse_module(code)


def _enclosing(tree: ast.Module, span: Span) -> ast.stmt | None:
    """The innermost function around the span, else the top-level statement."""
    found: ast.stmt | None = None
    node = next((node for node in tree.body if _covers(node, span)), None)
    while node is not None:
        if found is None or isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            found = node
        step = _step(node, span)
        node = None if step is None else step[2]
    return found


def _first_line(node: ast.stmt) -> int:
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    return min([node.lineno, *(decorator.lineno for decorator in decorators)])


def span_of(node: ast.stmt) -> Span:
    return node.lineno, node.col_offset, node.end_lineno or node.lineno, node.end_col_offset or 0


def _covers(node: ast.stmt, span: Span) -> bool:
    start = (_first_line(node), node.col_offset)
    end = (node.end_lineno or node.lineno, node.end_col_offset or 0)
    return start <= span[:2] and span[2:] <= end


def _path_to(top: ast.stmt, span: Span) -> Path:
    path: list[tuple[str, int]] = []
    current = top
    while (step := _step(current, span)) is not None:
        field, index, current = step
        path.append((field, index))
    return tuple(path)


def _step(node: ast.stmt, span: Span) -> tuple[str, int, ast.stmt] | None:
    for field in ("body", "orelse", "finalbody"):
        for index, child in enumerate(getattr(node, field, ())):
            if isinstance(child, ast.stmt) and _covers(child, span):
                return field, index, child
    return None


Located = tuple["cst.BaseSmallStatement | cst.BaseStatement", cst.BaseStatement]
"""A statement and the line it stands on."""


def _follow(node: cst.BaseStatement, path: Path) -> Located | None:
    current: Located | None = _flat([node])[0]
    for field, index in path:
        block = None if current is None else _block(current[0], field)
        if block is None or index >= len(block):
            return None
        current = block[index]
    return current


def _block(node: cst.CSTNode, field: str) -> list[Located] | None:
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
            return _suite(body)
        case "orelse", cst.If(orelse=cst.If() as orelse):
            return [(orelse, orelse)]
        case "orelse", cst.If(orelse=cst.Else(body=body)) | cst.For(orelse=cst.Else(body=body)):
            return _suite(body)
        case "finalbody", cst.Try(finalbody=cst.Finally(body=body)):
            return _suite(body)
    return None


def _suite(body: cst.BaseSuite) -> list[Located] | None:
    """The statements of an indented block; None for one on the header's line, which has no line of its own."""
    return _flat(body.body) if isinstance(body, cst.IndentedBlock) else None


def _flat(statements: Sequence[cst.BaseStatement]) -> list[Located]:
    found: list[Located] = []
    for line in statements:
        inside = line.body if isinstance(line, cst.SimpleStatementLine) else (line,)
        found.extend((statement, line) for statement in inside)
    return found
