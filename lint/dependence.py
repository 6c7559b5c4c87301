"""What each statement of a constructor reads and writes, so that an attribute can be worked out by those alone that it
takes: a backward slice over the top-level statements of a body.

Variables go by their names, attributes of the object under construction by `.name`; `ANY` stands for all of them.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from .ir import Block, Node
from .symbols import FunctionSymbol, all_statements, bound_names, expressions_of
from .vocabulary import MUTATORS

ANY = ".*"
LEFT = "return"
"""The pseudo variable that a statement writes which may leave the function, and all later ones read."""
BASE_ARGUMENTS = ".super().__init__"
"""What the external base was made of; see `interpret.modules.SUPER_INIT`."""
REGISTERS = {"register_buffer", "register_parameter", "add_module", "register_module", "__setattr__"}
BY_NAME = {"getattr", "hasattr", "setattr", "delattr"}


class Uses(Struct, frozen=True):
    """The variables that a piece of code reads and writes, and the inherited methods that it calls by `super()`."""

    reads: frozenset[str] = frozenset()
    writes: frozenset[str] = frozenset()
    inherited: frozenset[str] = frozenset()


def uses_of(symbol: FunctionSymbol) -> tuple[Uses, ...]:
    """What each top-level statement of a method uses."""
    receiver = symbol.parameters[0][0]
    return tuple(_Reader(receiver).read(node) for node in symbol.body)


def together(uses: tuple[Uses, ...]) -> Uses:
    """What a method as a whole does to its object."""
    return Uses(
        frozenset(name for use in uses for name in use.reads if name[0] == "."),
        frozenset(name for use in uses for name in use.writes if name[0] == "."),
        frozenset(name for use in uses for name in use.inherited),
    )


def gives_value(symbol: FunctionSymbol) -> bool:
    """Whether a call of it is more than its effects."""
    returns = (node[2] for node in all_statements(symbol.body) if node[0] == "return")
    return symbol.kind != "plain" or any(value is not None for value in returns)


def needed(uses: tuple[Uses, ...], names: frozenset[str]) -> tuple[int, ...]:
    """The positions of the statements that decide what these variables hold in the end, in order."""
    found = {i for i, use in enumerate(uses) if _meet(use.writes, names)}
    waiting = list(found)
    while waiting:
        last = waiting.pop()
        for i in range(last):
            if i not in found and _before(uses[i], uses[last]):
                found.add(i)
                waiting.append(i)
    return tuple(sorted(found))


def _before(first: Uses, second: Uses) -> bool:
    """Whether `second` may only come after `first`: it reads what that writes, or writes what that reads or writes."""
    if LEFT in first.writes:
        return True
    return _meet(first.writes, second.reads) or _meet(second.writes, first.reads | first.writes)


def _meet(left: frozenset[str], right: frozenset[str]) -> bool:
    if not left.isdisjoint(right):
        return True
    return (ANY in left and bool(_attributes(right))) or (ANY in right and bool(_attributes(left)))


def _attributes(names: frozenset[str]) -> frozenset[str]:
    return frozenset(name for name in names if name[0] == ".")


class _Reader:
    """Collects the uses of one statement, its blocks included; `receiver` is what the method calls its object."""

    def __init__(self, receiver: str) -> None:
        self._receiver = receiver
        self._reads: set[str] = set()
        self._writes: set[str] = set()
        self._inherited: set[str] = set()
        self._bare = 0
        """How often the object itself is passed on, rather than an attribute of it read."""

    def read(self, statement: Node) -> Uses:
        for node in all_statements((statement,)):
            self._statement(node, outermost=node is statement)
            for expression in expressions_of(node):
                self._expression(expression)
        if self._bare > 0:
            self._reads.add(ANY)
        return Uses(frozenset(self._reads), frozenset(self._writes), frozenset(self._inherited))

    def _statement(self, node: Node, outermost: bool) -> None:
        self._writes.update(bound_names(node))
        if node[0] == "return" or (node[0] == "raise" and outermost):
            self._writes.add(LEFT)
        elif node[0] == "def":
            self._nested(node[6])
        for target in _targets(node):
            value = node[3] if node[0] == "assign" else None
            self._store(target, value)

    def _nested(self, body: Block) -> None:
        """A function defined here stores when it is called, which may be at once."""
        for node in all_statements(body):
            for target in _targets(node):
                if target[0] == "attr":
                    self._store(target, None)

    def _store(self, target: Node, value: Node | None) -> None:
        match target[0]:
            case "tuple" | "list":
                for item in target[2]:
                    self._store(item, None)
            case "star":
                self._store(target[2], None)
            case "attr" if (own := self._root(target)) is not None and target[2][0] == "name":
                self._writes.add(own)
            case "attr" if value is None or not _calls(value):
                # what a call leaves in another object is mostly unknown, and working it out may take long
                self._changed(target[2])
            case "sub":
                self._changed(target[2])

    def _changed(self, node: Node) -> None:
        root = self._root(node)
        if root is not None:
            self._writes.add(root)

    def _root(self, node: Node) -> str | None:
        """The variable, or the object's attribute, that a path starts from."""
        while node[0] in ("attr", "sub"):
            if node[2][0] == "name" and node[0] == "attr" and node[2][2] == self._receiver:
                return f".{node[3]}"
            node = node[2]
        return str(node[2]) if node[0] == "name" and node[2] != self._receiver else None

    def _expression(self, node: Node) -> None:
        match node[0]:
            case "name" if node[2] == self._receiver:
                self._bare += 1
            case "name":
                self._reads.add(node[2])
            case "attr" if node[2][0] == "name" and node[2][2] == self._receiver:
                self._bare -= 1
                if node[3] == "__dict__":
                    self._reads.add(ANY)
                    self._writes.add(ANY)
                self._reads.add("." + node[3])
            case "named":
                self._writes.update(bound_names(("assign", node[1], (node[2],), node[3])))
            case "call":
                self._call(node)

    def _call(self, node: Node) -> None:
        function, arguments = node[2], node[3]
        if function[0] == "attr":
            self._method(function, arguments)
        elif function[0] == "name" and function[2] in BY_NAME and arguments and self._is_receiver(arguments[0]):
            self._by_name(function[2], arguments)
        elif function[0] == "name" and function[2] == "super" and len(arguments) > 1:
            self._bare -= 1

    def _method(self, function: Node, arguments: tuple[Node, ...]) -> None:
        holder, name = function[2], function[3]
        if holder[0] == "call" and holder[2][0] == "name" and holder[2][2] == "super":
            self._inherited.add(name)
            if name == "__init__" and arguments:
                self._writes.add(BASE_ARGUMENTS)
        elif self._is_receiver(holder):
            if name in REGISTERS and arguments:
                self._writes.add(_named(arguments[0]))
        elif arguments and self._is_receiver(arguments[0]) and name[:2] == "__":
            self._bare -= 1  # `Base.__init__(self)`
            self._inherited.add(name)
        elif name in MUTATORS or name == "add_module":
            self._changed(holder)

    def _by_name(self, function: str, arguments: tuple[Node, ...]) -> None:
        self._bare -= 1
        name = _named(arguments[1]) if len(arguments) > 1 else ANY
        (self._reads if function in ("getattr", "hasattr") else self._writes).add(name)

    def _is_receiver(self, node: Node) -> bool:
        return node[0] == "name" and node[2] == self._receiver  # type: ignore[no-any-return]


def _named(argument: Node) -> str:
    return f".{argument[2]}" if argument[0] == "const" and isinstance(argument[2], str) else ANY


def _calls(value: Node) -> bool:
    return any(node[0] == "call" for node in (value, *expressions_of(value)))


def _targets(node: Node) -> Iterator[Node]:
    match node[0]:
        case "assign" | "delete":
            yield from node[2]
        case "annassign" if node[4] is not None:
            yield node[2]
        case "augassign":
            yield node[3]
        case "for":
            yield node[2]
        case "with":
            yield from (target for _, target in node[2] if target is not None)
