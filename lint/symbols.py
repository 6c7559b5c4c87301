"""Modules, classes and functions as written, read from the IR of a file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeAlias

from .ir import Block, Node, Span, body_of, opened
from .source import SourceFile
from .vocabulary import words

STATEMENTS = words(
    """
    annassign assert assign augassign break class continue def delete expr for global if import importfrom match
    nonlocal pass raise return try while with
    """
)


Store: TypeAlias = "tuple[FunctionSymbol, Node, Node]"
"""An assignment to an attribute: method, statement, value."""


@dataclass(eq=False)
class FunctionSymbol:
    """A function or method as written; compared by identity."""

    module: Module
    qualname: str
    node: Node
    owner: ClassSymbol | None = None
    mask: int = 0
    """The bit that stands for the code that it is part of, where that is being edited."""
    _unpacked: Block | None = field(default=None, init=False, repr=False)

    @property
    def name(self) -> str:
        return self.node[2] if self.node[0] == "def" else "<lambda>"

    @property
    def span(self) -> Span:
        return self.node[1]  # type: ignore[no-any-return]

    @property
    def parameters(self) -> tuple[Node, ...]:
        return self.node[3] if self.node[0] == "def" else self.node[2]  # type: ignore[no-any-return]

    @property
    def decorators(self) -> tuple[Node, ...]:
        return self.node[4] if self.node[0] == "def" else ()

    @property
    def returns(self) -> Node | None:
        return self.node[5] if self.node[0] == "def" else None

    @property
    def body(self) -> Block:
        if self.node[0] != "def":
            return (("return", self.node[1], self.node[3]),)
        if not isinstance(self.node[6], bytes):
            return self.node[6]  # type: ignore[no-any-return]
        if self._unpacked is None:
            self._unpacked = body_of(self.node)
        return self._unpacked

    def may_have(self, name: str) -> bool:
        """Whether the body may have that name in it, told without unpacking it."""
        held = self.node[6]
        return not isinstance(held, bytes) or name.encode() in held

    @cached_property
    def stores(self) -> dict[str, tuple[Store, ...]]:
        """Where a method assigns attributes of its object, by their names."""
        found: dict[str, list[Store]] = {}
        receiver = self.parameters[0][0] if self.parameters else None
        for statement in all_statements(self.body):
            for target, value in _assignments(statement):
                if target[0] == "attr" and target[2][0] == "name" and target[2][2] == receiver:
                    found.setdefault(target[3], []).append((self, statement, value))
        return {name: tuple(rows) for name, rows in found.items()}

    @property
    def kind(self) -> str:
        """`plain`, `generator` or `async`."""
        return self.node[7] if self.node[0] == "def" else "plain"

    @property
    def extent(self) -> tuple[int, int]:
        """First line (decorators included) and last line."""
        return self.node[8] if self.node[0] == "def" else (self.node[1][0], self.node[1][2])


@dataclass(eq=False)
class ClassSymbol:
    """A class as written; compared by identity."""

    module: Module
    qualname: str
    node: Node
    scope: object = None
    """The frame it was defined in, where it is local to a function."""
    mask: int = 0

    @property
    def name(self) -> str:
        return self.node[2]  # type: ignore[no-any-return]

    @property
    def bases(self) -> tuple[Node, ...]:
        return self.node[3]  # type: ignore[no-any-return]

    @property
    def decorators(self) -> tuple[Node, ...]:
        return self.node[5]  # type: ignore[no-any-return]

    @cached_property
    def methods(self) -> dict[str, FunctionSymbol]:
        return {
            node[2]: FunctionSymbol(self.module, f"{self.qualname}.{node[2]}", node, self, self.mask)
            for node in all_statements(self.node[6])
            if node[0] == "def" and not _redefines_property(node)
        }

    @cached_property
    def classes(self) -> dict[str, ClassSymbol]:
        return {
            node[2]: ClassSymbol(self.module, f"{self.qualname}.{node[2]}", node, None, self.mask)
            for node in self.node[6]
            if node[0] == "class"
        }

    @cached_property
    def attributes(self) -> dict[str, tuple[Node, ...]]:
        """Class-level names → the expressions assigned to them."""
        return assigned_names(self.node[6])

    @cached_property
    def annotations(self) -> dict[str, Node]:
        return {node[2][2]: node[3] for node in self.node[6] if node[0] == "annassign" and node[2][0] == "name"}

    @cached_property
    def storing(self) -> dict[str, list[FunctionSymbol]]:
        """Attributes → the methods that may assign them."""
        found: dict[str, list[FunctionSymbol]] = {}
        for method in self.methods.values():
            for name in method.node[9]:
                found.setdefault(name, []).append(method)
        return found


@dataclass(eq=False)
class Module(SourceFile):
    """A first-party file and its IR."""

    name: str
    """Dotted, as its siblings import it."""
    package: str
    base: str
    """The folder that its top-level package lies in."""
    body: Block
    mask: int = field(default=0, kw_only=True)
    """The bit that stands for it where it may be edited."""
    rebinding: int = field(default=0, kw_only=True)
    """The bit that stands for which names its code binds anew."""

    @cached_property
    def bindings(self) -> dict[str, tuple[Node, ...]]:
        """Module-level names → the statements that bind them, in order."""
        found: dict[str, list[Node]] = {}
        for node in all_statements(self.body):
            for name in bound_names(node):
                found.setdefault(name, []).append(node)
        return {name: tuple(nodes) for name, nodes in found.items()}

    @cached_property
    def stars(self) -> tuple[Node, ...]:
        """The `from … import *` that run when the program does: not those under `if TYPE_CHECKING:`."""
        unrun = {
            inner[1]
            for node in all_statements(self.body)
            if node[0] == "if" and node[2][-1] == "TYPE_CHECKING"
            for inner in all_statements(node[3])
        }
        return tuple(node for node in self.bindings.get("*", ()) if node[1] not in unrun)

    @cached_property
    def functions(self) -> dict[str, FunctionSymbol]:
        """Top-level functions, the last definition of a name."""
        nodes = (node for node in all_statements(self.body) if node[0] == "def")
        return {node[2]: FunctionSymbol(self, node[2], node, None, self.mask) for node in nodes}

    @cached_property
    def classes(self) -> dict[str, ClassSymbol]:
        nodes = (node for node in all_statements(self.body) if node[0] == "class")
        return {node[2]: ClassSymbol(self, node[2], node, None, self.mask) for node in nodes}

    @cached_property
    def rebound(self) -> frozenset[str]:
        """Names that get new values while the program runs: counted up, looped over, or assigned as `global`."""
        return frozenset(rebound(self.body, self.symbols()))

    def symbol(self, qualname: str) -> FunctionSymbol | None:
        """A top-level function or a method by its name."""
        *outer, name = qualname.split(".")
        if not outer:
            return self.functions.get(name)
        cls = self.classes.get(outer[0])
        for inner in outer[1:]:
            cls = None if cls is None else cls.classes.get(inner)
        return None if cls is None else cls.methods.get(name)

    def symbols(self) -> Iterator[FunctionSymbol]:
        """Every top-level function and every method, in source order."""
        return symbols(self.functions, self.classes)

    def settled(self) -> Module:
        return self

    def mask_of(self, name: str) -> int:
        """The bits of all that decides what the name is bound to."""
        return self.mask

    @property
    def everything(self) -> int:
        """The bits of all that it consists of."""
        return self.mask | self.rebinding


def symbols(functions: dict[str, FunctionSymbol], classes: dict[str, ClassSymbol]) -> Iterator[FunctionSymbol]:
    """These functions, and the methods of these classes and of those in them."""
    yield from functions.values()
    stack = list(classes.values())
    while stack:
        cls = stack.pop(0)
        yield from cls.methods.values()
        stack.extend(cls.classes.values())


def _redefines_property(node: Node) -> bool:
    """`@name.setter`: the getter above it is what a read means."""
    return any(decorator[0] == "attr" and decorator[3] in ("setter", "deleter") for decorator in node[4])


def all_statements(body: Block) -> Iterator[Node]:
    """Every statement of this scope, nested blocks included, nested functions and classes not entered."""
    for node in body:
        yield node
        match node[0]:
            case "if" | "while":
                yield from all_statements(node[3])
                yield from all_statements(node[4])
            case "for":
                yield from all_statements(node[4])
                yield from all_statements(node[5])
            case "with":
                yield from all_statements(node[3])
            case "try":
                yield from all_statements(node[2])
                for handler in node[3]:
                    yield from all_statements(handler[2])
                yield from all_statements(node[4])
                yield from all_statements(node[5])
            case "match":
                for case in node[3]:
                    yield from all_statements(case[2])


def expressions_of(node: Node) -> Iterator[Node]:
    """Every expression node in a statement itself; the statements in its blocks come on their own.

    Functions and classes are the exception, since nobody walks their statements: theirs are included.
    """
    into_blocks = node[0] in ("def", "class")
    stack: list[object] = list(opened(node)[2:])
    while stack:
        item = stack.pop()
        if not isinstance(item, tuple) or not item:
            continue
        if isinstance(item[0], str) and len(item) > 1 and _is_span(item[1]):
            if item[0] in STATEMENTS and not into_blocks:
                continue
            yield item
            item = opened(item)
        stack.extend(part for part in item if isinstance(part, tuple))


def nodes_of(body: Block) -> Iterator[Node]:
    """Every expression node in a block, its inner blocks included."""
    return (node for statement in all_statements(body) for node in expressions_of(statement))


def _is_span(value: object) -> bool:
    """Tells a node from a keyword argument's `(name, value)`, which is a pair of the same shape."""
    return isinstance(value, tuple) and len(value) == 4 and isinstance(value[0], int)


def bound_names(node: Node) -> Iterator[str]:
    """Names that one statement binds in its scope."""
    match node[0]:
        case "def" | "class":
            yield node[2]
        case "import":
            for name, alias in node[2]:
                yield alias or name.partition(".")[0]
        case "importfrom":
            for name, alias in node[4]:
                yield alias or name
        case "assign":
            for target in node[2]:
                yield from target_names(target)
        case "annassign" if node[4] is not None:
            yield from target_names(node[2])
        case "augassign":
            yield from target_names(node[3])
        case "for":
            yield from target_names(node[2])
        case "with":
            for _, target in node[2]:
                if target is not None:
                    yield from target_names(target)


def rebound(body: Block, functions: Iterable[FunctionSymbol]) -> Iterator[str]:
    """Names that statements of a module bind again, or functions assign as `global`."""
    for node in all_statements(body):
        if node[0] == "augassign" and node[3][0] == "name":
            yield node[3][2]
        if node[0] in ("for", "while"):
            if node[0] == "for":
                yield from bound_names(node)
            for inner in all_statements(node[4] if node[0] == "for" else node[3]):
                yield from bound_names(inner)
    for symbol in functions:
        yield from _globals_assigned(symbol)


def _globals_assigned(symbol: FunctionSymbol) -> Iterator[str]:
    if not symbol.may_have("global"):
        return
    nodes = list(all_statements(body_of(symbol.node)))
    declared = {name for node in nodes if node[0] == "global" for name in node[2]}
    if declared:
        for node in nodes:
            yield from (name for name in bound_names(node) if name in declared)


def target_names(target: Node) -> Iterator[str]:
    match target[0]:
        case "name":
            yield target[2]
        case "tuple" | "list":
            for item in target[2]:
                yield from target_names(item)
        case "star":
            yield from target_names(target[2])


def assigned_names(body: Block) -> dict[str, tuple[Node, ...]]:
    found: dict[str, list[Node]] = {}
    for node in all_statements(body):
        for target, value in _assignments(node):
            if target[0] == "name":
                found.setdefault(target[2], []).append(value)
    return {name: tuple(values) for name, values in found.items()}


def _assignments(node: Node) -> Iterator[tuple[Node, Node]]:
    match node[0]:
        case "assign":
            for target in node[2]:
                if (
                    target[0] in ("tuple", "list")
                    and node[3][0] in ("tuple", "list")
                    and len(target[2]) == len(node[3][2])
                ):
                    yield from zip(target[2], node[3][2], strict=False)
                else:
                    yield target, node[3]
        case "annassign" if node[4] is not None:
            yield node[2], node[4]
        case "augassign":
            yield node[3], ("bin", node[1], node[2], node[3], node[4])
