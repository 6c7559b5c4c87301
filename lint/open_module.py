"""A file that is being edited: kept in parts, one for each top-level statement, of which only the changed ones are
parsed and interpreted anew.

Nodes of parts that stay keep their line numbers, whatever is typed above them: a part's lines are numbered where they
stood when it was parsed, or beyond all others, and `place` tells where they are by now.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from .ir import Block, Node, Span, lower
from .source import SourceFile
from .symbols import ClassSymbol, FunctionSymbol, Module, all_statements, bound_names, rebound, symbols

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
LINE_NAMED = re.compile(r"(\b(?:on|at) line )(\d+)")
SLACK = 200_000
"""Lines of parts that are gone beyond which the file is begun anew."""


@dataclass(eq=False, slots=True)
class Piece:
    """Lines of a class: a method, or what stands between two."""

    name: str
    """The method's; empty for what is no method."""
    lines: list[str]
    first: int
    """What the first line is numbered as."""
    head: int = 0
    """How many lines of decorators it begins with."""


@dataclass(eq=False, slots=True)
class Part:
    """Some lines, as many as their text has, that hold one top-level statement."""

    lines: list[str]
    first: int
    """What the first line is numbered as."""
    body: Block
    mask: int
    pieces: list[Piece] = field(default_factory=list)
    """What a class consists of."""
    names: frozenset[str] = frozenset()
    """What it binds in the module."""
    rebound: frozenset[str] = frozenset()
    functions: dict[str, FunctionSymbol] = field(default_factory=dict)
    classes: dict[str, ClassSymbol] = field(default_factory=dict)

    @property
    def masks(self) -> int:
        """Its own bit and those of its methods."""
        return self.mask | _union(symbol.mask for symbol in symbols({}, self.classes))


@dataclass(eq=False)
class OpenModule(Module):
    """`mask` stands for the names that it does not bind, each part's for that part without its methods, and each
    method's for that method.
    """

    bit: Callable[[], int] = field(kw_only=True, repr=False)
    """Gives a bit that nothing has."""
    parts: list[Part] = field(default_factory=list, kw_only=True, repr=False)

    def __post_init__(self) -> None:
        self.mask, self.rebinding = self.bit(), self.bit()
        self.lines = []
        self._binders: dict[str, tuple[int, ...]] = {}
        self._replace(0, 0, self.text.split("\n"), ast.parse(self.text))

    def edited(self, source: bytes) -> int:
        """Take over a new text; gives what has changed, as a mask. Raises SyntaxError where it can't be parsed, and
        ValueError for text with null bytes.
        """
        before = [line for part in self.parts for line in part.lines]
        after = SourceFile(self.path, source).lines
        head = _common(before, after)
        tail = _common(before[head:][::-1], after[head:][::-1])
        if head == len(before) == len(after):
            self._number(len(self.parts), 0)  # a text between that could not be parsed may have moved them
            return 0
        start, end = self._touched(head, len(before) - tail)
        self._number(end, len(after) - len(before))
        first = sum(len(part.lines) for part in self.parts[:start])
        last = len(after) - sum(len(part.lines) for part in self.parts[end:])
        region = after[first:last]
        try:
            tree = ast.parse("\n".join(region) + ("\n" if last < len(after) else ""))
        except SyntaxError as error:
            if not _may_go_on(error, len(region)):
                raise _moved(error, first) from None
            start, end, region = 0, len(self.parts), after
            tree = ast.parse(source)
        if len(self.lines) > len(after) + SLACK:
            start, end, region, tree = 0, len(self.parts), after, ast.parse(source)
            self.lines = []
        self.source = source
        for name in ("text", "stripped"):
            self.__dict__.pop(name, None)
        return self._replace(start, end, region, tree)

    def _touched(self, head: int, end: int) -> tuple[int, int]:
        """The parts that lines from `head` up to `end` lie in; one that begins there may belong to the one before."""
        starts: list[int] = []
        line = 0
        for part in self.parts:
            starts.append(line)
            line += len(part.lines)
        first = max((i for i, start in enumerate(starts) if start < max(head, 1)), default=0)
        last = max((i for i, start in enumerate(starts) if start < max(end, head + 1)), default=0)
        return first, last + 1

    def _replace(self, start: int, end: int, lines: list[str], tree: ast.Module) -> int:
        """Put what these lines hold in the place of some parts; gives what has changed, as a mask."""
        old = self.parts[start:end]
        binders, rebound = self._binders, self.__dict__.get("rebound")
        changed = 0
        fresh: list[Part] = []
        for position, (first, last, statements) in enumerate(_groups(tree, len(lines))):
            rows = lines[first:last]
            known = old[position] if position < len(old) else None
            mended = None if known is None or not self.lines else self._mended(known, rows, first, statements)
            if known is not None and mended is not None:
                fresh.append(known)
                changed |= mended
            else:
                fresh.append(self._part(rows, first, statements))
        for part in old:
            changed |= 0 if part in fresh else part.masks
        self.parts[start:end] = fresh
        self._link()
        for name in binders.keys() | self._binders.keys():
            if binders.get(name) != self._binders.get(name):
                changed |= _union(binders.get(name, (self.mask,)))
        return changed | (self.rebinding if rebound != self.rebound else 0)

    def _part(self, rows: list[str], first: int, statements: list[ast.stmt]) -> Part:
        at = self._room(rows)
        body = _lowered(statements, at - first)
        part = Part(rows, at + 1, body, self.bit())
        nodes = list(all_statements(body))
        part.names = frozenset(name for node in nodes for name in bound_names(node))
        for node in nodes:
            if node[0] == "def":
                part.functions[node[2]] = FunctionSymbol(self, node[2], node, mask=part.mask)
            elif node[0] == "class":
                part.classes[node[2]] = ClassSymbol(self, node[2], node, mask=part.mask)
        for symbol in symbols({}, part.classes):
            symbol.mask = self.bit()
        part.pieces = _pieces(rows, first, statements, at)
        part.rebound = frozenset(rebound(body, symbols(part.functions, part.classes)))
        return part

    def _room(self, rows: list[str]) -> int:
        at = len(self.lines)
        self.lines += rows
        return at

    def _mended(self, part: Part, rows: list[str], first: int, statements: list[ast.stmt]) -> int | None:
        """Take over new lines of a part where it stays what it is but for methods; gives what has changed, None where
        more has.
        """
        if rows == part.lines:
            return 0
        pieces = _pieces(rows, first, statements, 0)
        if pieces and [_frame(piece) for piece in pieces] == [_frame(piece) for piece in part.pieces]:
            return self._mended_class(part, rows, first, statements[0], pieces)
        if len(rows) == len(part.lines) and _lowered(statements, part.first - 1 - first) == part.body:
            self.lines[part.first - 1 : part.first - 1 + len(rows)] = rows
            part.lines, part.pieces = rows, _pieces(rows, first, statements, part.first - 1)
            return 0
        return None

    def _mended_class(
        self, part: Part, rows: list[str], first: int, statement: ast.stmt, pieces: list[Piece]
    ) -> int | None:
        symbol = next(iter(part.classes.values()))
        methods = (child for child in ast.iter_child_nodes(statement) if isinstance(child, FUNCTIONS))
        known = (child for child in symbol.node[6] if child[0] == "def")
        fresh: list[Node] = []
        changed, line = 0, first
        for piece, old in zip(pieces, part.pieces, strict=True):
            piece.first = old.first
            if piece.name:
                method, before = next(methods), next(known)
                after = before if piece.lines == old.lines else self._method(piece, old, method, line)
                if after != before:
                    changed |= _exchanged(part, symbol, before, after)
                    before = after
                fresh.append(before)
            line += len(piece.lines)
        in_order = iter(fresh)
        body = tuple(next(in_order) if child[0] == "def" else child for child in symbol.node[6])
        symbol.node = (*symbol.node[:6], body)
        part.lines, part.pieces, part.body = rows, pieces, (symbol.node,)
        part.rebound = frozenset(rebound(part.body, symbols({}, part.classes)))
        return changed

    def _method(self, piece: Piece, old: Piece, method: ast.stmt, line: int) -> Node:
        """The method's node, its lines numbered as before where there are as many of them."""
        if len(piece.lines) == len(old.lines):
            self.lines[old.first - 1 : old.first - 1 + len(piece.lines)] = piece.lines
        else:
            piece.first = self._room(piece.lines) + 1
        (node,) = _lowered([method], piece.first - 1 - line)
        return node

    def _link(self) -> None:
        """What the module holds, from what its parts hold."""
        for name in ("bindings", "stars"):
            self.__dict__.pop(name, None)
        self.body = tuple(node for part in self.parts for node in part.body)
        self.functions = {name: symbol for part in self.parts for name, symbol in part.functions.items()}
        self.classes = {name: symbol for part in self.parts for name, symbol in part.classes.items()}
        self.rebound = frozenset(name for part in self.parts for name in part.rebound)
        self._binders = {}
        for part in self.parts:
            for name in part.names:
                self._binders[name] = (*self._binders.get(name, ()), part.mask)
        self._number(len(self.parts), 0)

    def _number(self, start: int, more: int) -> None:
        """Where the parts are by now; from `start` on they have moved down by so many lines."""
        self._places: list[tuple[int, int]] = []
        line = 1
        for position, part in enumerate(self.parts):
            now = line if position < start else line + more
            for piece in part.pieces or (Piece("", part.lines, part.first),):
                if piece.lines:
                    self._places.append((piece.first, now))
                    now += len(piece.lines)
            line += len(part.lines)
        self._places.sort()

    def place(self, line: int) -> tuple[int | None, int]:
        """The line as it is counted in the text by now."""
        at = bisect_right(self._places, line, key=lambda place: place[0]) - 1
        first, now = self._places[at]
        return None, now + line - first

    def settle(self, span: Span) -> Span:
        first = self.place(span[0])[1]
        return (first, span[1], first + span[2] - span[0], span[3])

    def settled(self) -> Module:
        return Module(self.path, self.source, self.name, self.package, self.base, self.body)

    def mask_of(self, name: str) -> int:
        return _union(self._binders.get(name, (self.mask,)))

    @property
    def everything(self) -> int:
        return self.mask | self.rebinding | _union(part.masks for part in self.parts)


def is_utf8(source: bytes) -> bool:
    """Whether the file is text in the encoding that editors use; any other is read anew at each edit."""
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(source).readline)
        source.decode()
    except (SyntaxError, UnicodeDecodeError):
        return False
    return encoding in ("utf-8", "utf-8-sig")


def _common(left: Sequence[str], right: Sequence[str]) -> int:
    """How many lines both begin with."""
    most = min(len(left), len(right))
    return next((i for i in range(most) if left[i] != right[i]), most)


def _may_go_on(error: SyntaxError, lines: int) -> bool:
    """Whether what Python objects to might be right with the lines around these."""
    open_ended = "triple-quoted" in error.msg or "EOF" in error.msg
    return open_ended or not 1 < (error.lineno or 1) < lines


def _moved(error: SyntaxError, lines: int) -> SyntaxError:
    """The error as Python reports it where so many lines stand before."""
    message = LINE_NAMED.sub(lambda match: f"{match[1]}{int(match[2]) + lines}", error.msg)
    return SyntaxError(message, (None, (error.lineno or 1) + lines, error.offset, error.text))


def _lowered(statements: list[ast.stmt], down: int) -> Block:
    """The statements as IR, so many lines further down."""
    tree = ast.Module(statements, [])
    ast.increment_lineno(tree, down)
    body = lower(tree)
    ast.increment_lineno(tree, -down)
    return body


def _union(masks: Iterable[int]) -> int:
    whole = 0
    for mask in masks:
        whole |= mask
    return whole


def _exchanged(part: Part, symbol: ClassSymbol, before: Node, after: Node) -> int:
    """Put one method's node in the place of another; gives what has changed."""
    method = next((each for each in symbol.methods.values() if each.node is before), None)
    if method is None:
        return part.masks
    stored = bool(method.stores)
    method.node = after
    method.__dict__.pop("stores", None)
    symbol.__dict__.pop("storing", None)
    stores = method.name != "__init__" and (stored or bool(method.stores))
    return method.mask | (part.mask if stores else 0)


def _frame(piece: Piece) -> tuple[str, tuple[str, ...]]:
    """What stays while only a method's own lines change: its name and its decorators."""
    return piece.name, tuple(piece.lines[: piece.head if piece.name else None])


def _pieces(rows: list[str], first: int, statements: list[ast.stmt], at: int) -> list[Piece]:
    """The pieces of a class whose first line is line `first` of the tree and numbered as `at`, plus one; nothing where
    it is no class, or its methods share lines with other things.
    """
    if len(statements) != 1 or not isinstance(statements[0], ast.ClassDef):
        return []
    pieces: list[Piece] = []
    line = 0
    for child in statements[0].body:
        start, head = _start(child) - 1 - first, child.lineno - 1 - first
        if start < line:
            return []
        if isinstance(child, FUNCTIONS):
            end = (child.end_lineno or child.lineno) - first
            pieces.append(Piece("", rows[line:start], at + line + 1))
            pieces.append(Piece(child.name, rows[start:end], at + start + 1, head - start))
            line = end
    return [*pieces, Piece("", rows[line:], at + line + 1)]


def _start(statement: ast.stmt) -> int:
    """The line of its first decorator, or its own."""
    decorators: list[ast.expr] = getattr(statement, "decorator_list", [])
    return min([statement.lineno, *(decorator.lineno for decorator in decorators)])


def _groups(tree: ast.Module, count: int) -> Iterator[tuple[int, int, list[ast.stmt]]]:
    """Statements with the lines (from, up to) that belong to them; those that share a line stay together."""
    groups: list[tuple[int, list[ast.stmt]]] = []
    last = -1
    for statement in tree.body:
        first = _start(statement) - 1
        if groups and first <= last:
            groups[-1][1].append(statement)
        else:
            groups.append((first, [statement]))
        last = (statement.end_lineno or statement.lineno) - 1
    if not groups:
        yield 0, count, []
        return
    firsts = [0, *(first for first, _ in groups[1:])]
    for first, last, (_, statements) in zip(firsts, [*firsts[1:], count], groups, strict=True):
        yield first, last, statements
