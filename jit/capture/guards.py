"""Guards as Dynamo installed them, with the lines of the user's that made them, and why one of them failed."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from ..events import CallSite, Guard, GuardNode, Mismatch
from .calls import user_name
from .paths import Paths

MADE_AT = re.compile(r"# (\S+\.py):(\d+) in (\w+)")
AFTER_EXPRESSION = re.compile(r"\s+#|\s+\(HINT:|\n")
SAID = re.compile(r"expected (.+?),? (?:actual|got) (.+)")
ADDRESS = re.compile(r"(?<=_id\()(.+, )\d+(?=\))")
NUMBERED = re.compile(r"(?<=__builtins_dict___)\d+")
"""Of names that Dynamo makes up; like an address, another one in every process."""
VERSION = re.compile(r"^\d+/\d+: ")


class GuardReader:
    """`files` gives the files of traced functions, by the short names that guards have for them."""

    def __init__(self, paths: Paths, files: Mapping[str, str]) -> None:
        self._paths = paths
        self._files = files

    def tree(self, root: Any) -> GuardNode:
        """What one compiled version checks before it runs, in the order of checking."""
        node = self._node(root, seen := set[Any]())
        return replace(node, guards=(*node.guards, *self._leaves(root.get_epilogue_lambda_guards(), seen)))

    def sites(self, text: str) -> tuple[CallSite, ...]:
        """The user's lines that a guard's text names."""
        return tuple(
            CallSite(self._paths.shown(self._files[name]), int(line), user_name(function))
            for name, line, function in dict.fromkeys(MADE_AT.findall(text))
            if name in self._files
        )

    def _node(self, manager: Any, seen: set[Any]) -> GuardNode:
        guarded = manager.get_type_of_guarded_value()
        return GuardNode(
            source=manager.get_source(),
            type=getattr(guarded, "__name__", str(guarded)),
            guards=tuple(self._leaves(manager.get_leaf_guards(), seen)),
            children=tuple(self._node(child, seen) for child in _children(manager)),
        )

    def _leaves(self, leaves: Any, seen: set[Any]) -> Iterator[Guard]:
        """A guard on a relation between values hangs on each of them, and is told once."""
        for leaf in leaves:
            if leaf not in seen:
                seen.add(leaf)
                for text in leaf.verbose_code_parts():
                    yield Guard(type(leaf).__name__, expression(text), next(iter(self.sites(text)), None))


def _children(manager: Any) -> Iterator[Any]:
    if hasattr(manager, "get_key_value_managers"):
        for _, pair in sorted(manager.get_key_value_managers().items()):
            yield from filter(None, pair)
    yield from manager.get_child_managers()


def expression(text: str) -> str:
    """What follows it is the line that made the guard, and the user's stack at that line."""
    return anonymous(AFTER_EXPRESSION.split(text.strip(), maxsplit=1)[0])


def anonymous(guard: str) -> str:
    """The guard without what differs from run to run."""
    return NUMBERED.sub("…", ADDRESS.sub(r"\1…", guard))


def mismatch(reason: str, arguments: Mapping[str, Any]) -> Mismatch:
    """The failed guard with what it expected and what came: in Dynamo's words, or read off a comparison of an argument
    with a constant.
    """
    guard = VERSION.sub("", expression(reason))
    if said := SAID.search(guard):
        return Mismatch(guard, said[1].rstrip("."), said[2])
    match _parsed(guard):
        case ast.Compare(left=left, ops=[ast.Eq()], comparators=[ast.Constant(value=expected)]):
            actual = arguments.get(left.id) if isinstance(left, ast.Name) else None
            plain = isinstance(actual, bool | int | float | str)
            return Mismatch(guard, repr(expected), repr(actual) if plain else None)
    return Mismatch(guard, None, None)


def _parsed(text: str) -> ast.expr | None:
    try:
        return ast.parse(text, mode="eval").body
    except SyntaxError:
        return None
