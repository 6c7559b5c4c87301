"""Type annotations → abstract values. They are hints that may lie: what a call passes wins over them."""

from __future__ import annotations

import ast
from functools import reduce

from ..ir import Node, lower
from ..symbols import Module
from ..values import (
    NONE,
    SIZES,
    UNKNOWN,
    Class,
    External,
    ExternalObject,
    Host,
    Instance,
    Mapping,
    Sequence,
    Tensor,
    Tuple_,
    Value,
    join,
)
from . import names
from .analysis import Analysis

TENSORS = {"Tensor", "LongTensor", "FloatTensor", "BoolTensor", "IntTensor", "ByteTensor", "HalfTensor", "Parameter"}
DTYPES = {"LongTensor": "int", "IntTensor": "int", "BoolTensor": "bool", "FloatTensor": "float", "HalfTensor": "float"}
SCALARS = {"int", "float", "bool", "str", "bytes", "complex"}
LISTS = {"list", "List", "Sequence", "Iterable", "set", "Set", "frozenset", "Collection"}
MAPPINGS = {"dict", "Dict", "Mapping", "MutableMapping", "OrderedDict"}
TRANSPARENT = {"Annotated", "Final", "ClassVar", "Required", "NotRequired", "Unpack"}


def annotated(analysis: Analysis, module: Module, node: Node | None) -> Value | None:
    """The value an annotation speaks of; None where it says nothing useful."""
    if node is None:
        return None
    match node[0]:
        case "const":
            return _literal(analysis, module, node[2])
        case "bin" if node[2] == "or":
            return _union([annotated(analysis, module, part) for part in node[3:5]])
        case "sub":
            return _generic(analysis, module, node)
        case "name" | "attr":
            return _named(analysis, module, node)
    return None


def _literal(analysis: Analysis, module: Module, value: object) -> Value | None:
    if value is None:
        return NONE
    if not isinstance(value, str):
        return None
    try:
        body = lower(ast.parse(value))
    except (SyntaxError, ValueError):
        return None
    return annotated(analysis, module, body[0][2]) if len(body) == 1 and body[0][0] == "expr" else None


def _union(parts: list[Value | None]) -> Value | None:
    known = [part for part in parts if part is not None]
    return reduce(join, known) if known and len(known) == len(parts) else None


def _generic(analysis: Analysis, module: Module, node: Node) -> Value | None:
    base = node[2][3] if node[2][0] == "attr" else node[2][2]
    arguments = node[3][2] if node[3][0] == "tuple" else (node[3],)
    parts = [annotated(analysis, module, argument) for argument in arguments]
    if base == "Optional":
        return None if parts[0] is None else join(parts[0], NONE)
    if base == "Union":
        return _union(parts)
    if base in TRANSPARENT:
        return parts[0]
    if base in ("tuple", "Tuple"):
        if arguments[-1][0] == "const" and arguments[-1][2] is ...:
            return Sequence(parts[0] or UNKNOWN, "tuple")
        return Tuple_(tuple(part or UNKNOWN for part in parts))
    if base in LISTS:
        return Sequence(parts[0] or UNKNOWN, "list")
    if base in MAPPINGS:
        return Mapping((), parts[-1] or UNKNOWN)
    return Host("str") if base == "Literal" else None


def _named(analysis: Analysis, module: Module, node: Node) -> Value | None:
    name = node[3] if node[0] == "attr" else node[2]
    if name in TENSORS:
        return Tensor(dtype=DTYPES.get(name), told=name in DTYPES)
    if name in SCALARS:
        return Host(name)
    if name == "Size":
        return SIZES
    if name in ("dtype", "device"):
        return Host(name)
    if name in LISTS | {"tuple"}:
        return Sequence(UNKNOWN, name.lower())
    if name in MAPPINGS:
        return Mapping((), UNKNOWN)
    if node[0] != "name":
        return None
    match names.value_of(analysis, module, name):
        case Class(symbol=symbol):
            return Instance(symbol)
        case External(name=dotted) if analysis.api.is_module_class(dotted):
            return ExternalObject(dotted)
    return None
