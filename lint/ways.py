"""Blocks of plain assignments that can become functions: what they read, what they give, whether calling them is all.

Importing this module imports libcst.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import libcst as cst
import libcst.matchers as m

from .arithmetic import ELEMENTWISE, MAKERS, PREDICATES, REDUCTIONS, VIEWS, Scope
from .blocks import single
from .search import findall, names_in
from .slice import Slice
from .truth import UNREADABLE
from .vocabulary import words

TENSORS = ELEMENTWISE | PREDICATES | REDUCTIONS | VIEWS | MAKERS
HARMLESS = TENSORS | words("dim finfo iinfo len numel size")


@dataclass(frozen=True, slots=True)
class Way:
    """The lines of one way through a branch, or of a loop's body, each a plain assignment; `result` is returned."""

    lines: tuple[cst.SimpleStatementLine, ...]
    result: cst.BaseExpression | None
    reads: frozenset[str]
    """Names that it needs from outside."""
    writes: dict[str, cst.BaseExpression]
    """Names that it binds → the last value."""
    end: cst.SimpleStatementLine | None = None
    """The line that returns."""

    @property
    def held(self) -> frozenset[str]:
        """Names that it needs from outside and then binds anew."""
        return self.reads & set(self.writes)


def way_of(found: Slice, lines: Sequence[cst.BaseStatement], trusted: frozenset[str] = frozenset()) -> Way | None:
    """None where more happens than assignments of pure expressions to names, and a `return` at the end.

    `trusted` are names that may be called, as they are of modules.
    """
    reads: set[str] = set()
    writes: dict[str, cst.BaseExpression] = {}
    kept: list[cst.SimpleStatementLine] = []
    for line in lines:
        match single(line):
            case cst.Assign(targets=[cst.AssignTarget(target=cst.Name(value=target))], value=value):
                name = target
            case cst.Return(value=cst.BaseExpression() as value) if line is lines[-1]:
                name = ""
            case _:
                return None
        if not is_pure(found, value, trusted):
            return None
        reads |= set(names_of(value)) - set(writes)
        assert isinstance(line, cst.SimpleStatementLine)
        if not name:
            return Way(tuple(kept), value, frozenset(reads), writes, line)
        writes[name] = value
        kept.append(line)
    return Way(tuple(kept), None, frozenset(reads), writes)


def names_of(node: cst.CSTNode) -> Iterator[str]:
    """Names that an expression reads."""
    match node:
        case cst.Name(value=name):
            yield name
        case cst.Attribute(value=value):
            yield from names_of(value)
        case cst.Arg(value=value):
            yield from names_of(value)
        case _:
            for child in node.children:
                yield from names_of(child)


def is_pure(found: Slice, expression: cst.BaseExpression, trusted: frozenset[str] = frozenset()) -> bool:
    """Whether evaluating it changes nothing, as far as names tell: the file's own functions and modules are trusted."""
    if findall(expression, UNREADABLE | m.SetComp() | m.DictComp()):
        return False
    return all(_is_harmless(found, call, trusted) for call in findall(expression, m.Call()))


def _is_harmless(found: Slice, call: cst.CSTNode, trusted: frozenset[str]) -> bool:
    match call:
        case cst.Call(args=args) if any(m.matches(arg, m.Arg(keyword=m.Name("out"))) for arg in args):
            return False
        case cst.Call(func=cst.Attribute(value=cst.Name("self"), attr=cst.Name(value=name))):
            return not name.endswith("_")
        case cst.Call(func=cst.Attribute(attr=cst.Name(value=name))):
            return name in HARMLESS
        case cst.Call(func=cst.Name(value=name)):
            nodes = found.module.bindings.get(name, ())
            return name == "len" or name in trusted or (bool(nodes) and all(node[0] == "def" for node in nodes))
    return False


def is_tensor(
    scope: Scope,
    value: cst.BaseExpression,
    also: dict[str, cst.BaseExpression],
    within: frozenset[str] = frozenset(),
) -> bool:
    """Whether it is a tensor, as far as the names of what makes it tell; `also` are names with the values they have,
    `within` those whose own values are being asked.
    """
    match value:
        case cst.Name(value=name) if name in also:
            return is_tensor(scope, also[name], {other: made for other, made in also.items() if other != name}, within)
        case cst.Name(value=name) if name in within:
            # a local is first bound to something else, which is asked as well
            return not scope.is_argument(name) or scope.is_tensor(value)
        case cst.Name(value=name) if values := scope.values_of(name):
            inner = frozenset({*within, name})
            return all(made is not None and is_tensor(scope, made, also, inner) for made in values)
        case cst.Call(func=cst.Attribute(value=cst.Name("self"))):
            return True
        case cst.BinaryOperation(left=left, right=right):
            return is_tensor(scope, left, also, within) or is_tensor(scope, right, also, within)
        case cst.Subscript(value=whole):
            return is_tensor(scope, whole, also, within)
    return scope.is_tensor(value)


def is_fresh(value: cst.BaseExpression | None) -> bool:
    """Whether it shares no memory with another tensor."""
    match value:
        case cst.BinaryOperation() | cst.UnaryOperation():
            return True
        case cst.Call(func=cst.Attribute(value=receiver, attr=cst.Name(value=name))):
            return name in TENSORS - VIEWS - {"float", "double", "half", "long"} and not m.matches(
                receiver, m.Name("self")
            )
    return False


def owned(value: cst.BaseExpression) -> cst.BaseExpression:
    """The value as a tensor with memory of its own, which is what the operators of control flow may return."""
    if is_fresh(value):
        return value
    inner = value
    if not isinstance(value, (cst.Name, cst.Attribute, cst.Call, cst.Subscript)) and not value.lpar:
        inner = value.with_changes(lpar=[cst.LeftParen()], rpar=[cst.RightParen()])
    return cst.Call(cst.Attribute(inner, cst.Name("clone")))


def fresh_name(found: Slice, wish: str) -> str:
    """A name that the slice and the file's top level do not use."""
    taken = {node.value for node in names_in(found.tree)}
    taken |= set(found.module.bindings)
    number = 1
    name = wish
    while name in taken:
        number += 1
        name = f"{wish}_{number}"
    return name


def tuple_of(parts: Sequence[str]) -> str:
    return f"({', '.join(parts)}{',' * (len(parts) == 1)})"
