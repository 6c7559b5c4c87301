"""What a class does with a module that it is handed: whether it keeps and calls it, whether it goes by its names.

All of it is read from the code as written.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from .ir import Block, Node
from .symbols import ClassSymbol, FunctionSymbol, all_statements, expressions_of, nodes_of, target_names
from .vocabulary import words

NAMED = words("named_buffers named_modules named_parameters")
STATE = words("load_state_dict state_dict")
LOOKUPS = words("get pop setdefault")
COPIES = words("list tuple")


def keeps_and_calls(classes: Iterable[ClassSymbol], constructor: FunctionSymbol, parameter: str) -> bool:
    """Whether the constructor puts the parameter, or what is in it, into an attribute that the class calls.

    `classes` are the class and its bases.
    """
    stores = constructor.stores.items()
    kept = {name for name, rows in stores if any(_is_made_of(value, parameter) for _, _, value in rows)}
    return any(_calls(method, kept) for cls in classes for method in cls.methods.values() if kept)


def _is_made_of(value: Node, parameter: str) -> bool:
    match value[0]:
        case "name":
            return bool(value[2] == parameter)
        case "call":
            function, arguments = value[2], value[3]
            copies = function[0] == "name" and function[2] in COPIES
            return copies and len(arguments) == 1 and _is_made_of(arguments[0], parameter)
        case "list" | "tuple":
            return any(_is_made_of(item, parameter) for item in value[2])
        case "star":
            return _is_made_of(value[2], parameter)
    return False


def _calls(method: FunctionSymbol, kept: set[str]) -> bool:
    """Whether one of these attributes, an item of one, or a name for either is called."""
    if not method.parameters:
        return False
    own = method.parameters[0][0]
    nodes = tuple(nodes_of(method.body))
    called = [node[2] for node in nodes if node[0] == "call"]
    names = {
        name
        for target, value in _bindings(method.body, nodes)
        if any(_is_kept(part, own, kept) for part in expressions_of(("expr", value[1], value)))
        for name in target_names(target)
    }
    return any((node[0] == "name" and node[2] in names) or _is_kept(node, own, kept) for node in called)


def _is_kept(node: Node, own: str, kept: set[str]) -> bool:
    while node[0] == "sub":
        node = node[2]
    return bool(node[0] == "attr" and node[3] in kept and node[2][0] == "name" and node[2][2] == own)


def _bindings(body: Block, nodes: Iterable[Node]) -> Iterator[tuple[Node, Node]]:
    """Targets, and what they are taken from."""
    for statement in all_statements(body):
        match statement[0]:
            case "assign":
                yield from ((target, statement[3]) for target in statement[2])
            case "for":
                yield statement[2], statement[3]
    for node in nodes:
        if node[0] == "comp":
            yield from ((target, iterable) for target, iterable, _ in node[4])


def known_by_name(function: FunctionSymbol) -> frozenset[str]:
    """The parameters of which it uses the names, of `named_parameters()` or `state_dict()`, as keys."""
    parameters = {name for name, *_ in function.parameters}
    nodes = tuple(nodes_of(function.body))
    loops = [
        (statement[2], statement[3], tuple(nodes_of(statement[4])))
        for statement in all_statements(function.body)
        if statement[0] == "for"
    ]
    loops += [
        (target, iterable, tuple(expressions_of(("expr", node[1], node))))
        for node in nodes
        if node[0] == "comp"
        for target, iterable, _ in node[4]
    ]
    found = {_receiver(iterable, NAMED) for target, iterable, inside in loops if _are_keys(target, inside)}
    found |= {_receiver(node, STATE) for node in nodes}
    found |= {_receiver(node[3][0], NAMED) for node in nodes if _is_dict_of_one(node)}
    return frozenset(parameters & found)


def _receiver(node: Node, methods: Iterable[str]) -> str:
    """The name whose method is called, empty for all else."""
    if node[0] == "call" and node[2][0] == "attr" and node[2][3] in methods and node[2][2][0] == "name":
        return str(node[2][2][2])
    return ""


def _is_dict_of_one(node: Node) -> bool:
    return bool(node[0] == "call" and node[2][0] == "name" and node[2][2] == "dict" and len(node[3]) == 1)


def _are_keys(target: Node, nodes: Iterable[Node]) -> bool:
    """Whether the first name that a loop binds is looked up in the nodes."""
    name = next(target_names(target), "")
    return any(key[0] == "name" and key[2] == name for node in nodes for key in _keys(node))


def _keys(node: Node) -> Iterator[Node]:
    match node[0]:
        case "comp" if node[2] == "DictComp":
            yield node[3][0]
        case "sub":
            yield node[3]
        case "cmp" if node[3][0] in ("in", "not in"):
            yield node[2]
        case "call" if node[2][0] == "attr" and node[2][3] in LOOKUPS:
            yield from node[3][:1]
