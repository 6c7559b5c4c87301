"""Nodes of a libcst tree by pattern. `libcst.matchers.findall` gives the same, but visits and matches every node anew.

Importing this module imports libcst.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import fields
from functools import lru_cache

import libcst as cst
import libcst.matchers as m

BLANK = frozenset[type[cst.CSTNode]](
    {
        cst.SimpleWhitespace,
        cst.ParenthesizedWhitespace,
        cst.TrailingWhitespace,
        cst.EmptyLine,
        cst.Newline,
        cst.Comment,
    }
)
"""What stands between the code: two thirds of all nodes, in which only comments are ever looked for."""

NOTHING = frozenset[type]({str, bool, type(None), cst.MaybeSentinel})
"""What fields hold that has no nodes."""


def findall(tree: cst.CSTNode, pattern: m.BaseMatcherNode) -> list[cst.CSTNode]:
    """The node and those inside it that match, in the order of the source; whitespace and comments are left out.

    The pattern is of nodes of one class, or of one of several.
    """
    options = pattern.options if isinstance(pattern, m.OneOf) else (pattern,)
    of_class = _by_class(tree)
    placed = [pair for name in {type(option).__name__ for option in options} for pair in of_class.get(name, ())]
    return [node for _, node in sorted(placed, key=_place) if any(_matches(node, option) for option in options)]


def names_in(tree: cst.CSTNode) -> list[cst.Name]:
    """All names of the node, of whatever."""
    return [node for _, node in _by_class(tree).get("Name", ()) if isinstance(node, cst.Name)]


def comments_in(tree: cst.CSTNode) -> list[cst.Comment]:
    return [node for node in _walk(tree, frozenset()) if isinstance(node, cst.Comment)]


def holds(tree: cst.CSTNode, part: cst.CSTNode) -> bool:
    """Whether it is that very node, or has it inside."""
    return any(node is part for node in descendants(tree))


def children(node: cst.CSTNode) -> list[cst.CSTNode]:
    """The nodes right below, in the order of the source, but for whitespace and comments."""
    return _children(node, BLANK)


def descendants(tree: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """The node and all that are inside it, in the order of the source, but for whitespace and comments."""
    return _walk(tree, BLANK)


def _place(pair: tuple[int, cst.CSTNode]) -> int:
    return pair[0]


@lru_cache(maxsize=64)
def _by_class(tree: cst.CSTNode) -> dict[str, list[tuple[int, cst.CSTNode]]]:
    """Nodes with their places in the tree. It is known by its identity, and does not change."""
    found: defaultdict[str, list[tuple[int, cst.CSTNode]]] = defaultdict(list)
    for place, node in enumerate(descendants(tree)):
        found[type(node).__name__].append((place, node))
    return dict(found)


def _walk(tree: cst.CSTNode, left_out: frozenset[type[cst.CSTNode]]) -> Iterator[cst.CSTNode]:
    stack: list[cst.CSTNode] = [tree]
    while stack:
        node = stack.pop()
        yield node
        stack.extend(reversed(_children(node, left_out)))


def _children(node: cst.CSTNode, left_out: frozenset[type[cst.CSTNode]]) -> list[cst.CSTNode]:
    found: list[cst.CSTNode] = []
    for name in _fields(node):
        value = getattr(node, name)
        kind = type(value)
        if kind in left_out or kind in NOTHING:
            continue
        if kind is tuple or kind is list:
            found.extend(part for part in value if type(part) not in left_out)
        else:
            found.append(value)
    return found


def _fields(node: cst.CSTNode) -> tuple[str, ...]:
    """Fields in the order in which libcst visits them, which is that of the source."""
    kind = type(node)
    if kind not in _FIELDS:
        order = _Order(node)
        node.visit(order)
        filled_at_times = (field.name for field in fields(node) if field.name not in order.fields)
        _FIELDS[kind] = (*order.fields, *filled_at_times)
    return _FIELDS[kind]


_FIELDS: dict[type[cst.CSTNode], tuple[str, ...]] = {}


class _Order(cst.CSTVisitor):
    """Visits the fields of one node, and nothing in them."""

    def __init__(self, node: cst.CSTNode) -> None:
        super().__init__()
        self._node = node
        self.fields: list[str] = []

    def on_visit(self, node: cst.CSTNode) -> bool:
        return node is self._node

    def on_visit_attribute(self, node: cst.CSTNode, attribute: str) -> None:
        self.fields.append(attribute)


def _matches(node: cst.CSTNode, pattern: m.BaseMatcherNode) -> bool:
    """Most nodes differ from a pattern in a name, which is soon seen."""
    return not _differs(node, pattern) and (not _wanted(pattern) or m.matches(node, pattern))


def _differs(value: object, pattern: object) -> bool:
    """Whether one look shows that the value does not match; what it does not show is left to libcst."""
    match pattern:
        case str():
            return value != pattern
        case m.OneOf():
            return all(_differs(value, option) for option in pattern.options)
        case m.AllOf() | m.TypeOf():
            return False
        case m.BaseMatcherNode():
            return type(value).__name__ != type(pattern).__name__ or any(
                _differs(getattr(value, name), part) for name, part in _wanted(pattern)
            )
    return False


def _wanted(pattern: m.BaseMatcherNode) -> list[tuple[str, object]]:
    """What the pattern says of the fields of its node."""
    parts = vars(pattern).items()
    return [(name, part) for name, part in parts if not isinstance(part, m.DoNotCareSentinel)]
