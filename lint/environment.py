"""Which environment variables a file sets while the program runs, read off its syntax."""

from __future__ import annotations

import re
from collections.abc import Iterator

from .ir import Node, body_of
from .symbols import Module, all_statements, expressions_of

ANY = "*"
"""Stands for a variable whose name is not a literal."""
WRITE = re.compile(rb"environ\s*\[|environ\s*\.\s*(setdefault|update)|putenv")


def sets_variables(source: bytes) -> bool:
    """Whether it is worth looking: nearly no file does."""
    return (b"environ" in source or b"putenv" in source) and WRITE.search(source) is not None


def variables_set(module: Module) -> Iterator[str]:
    for body in (module.body, *(body_of(symbol.node) for symbol in module.symbols())):
        for statement in all_statements(body):
            if statement[0] == "assign":
                for target in statement[2]:
                    if target[0] == "sub" and _last_name(target[2]) == "environ":
                        yield _literal(target[3])
            for node in expressions_of(statement):
                if node[0] == "call" and _writes(node[2]):
                    yield _literal(node[3][0]) if node[3] else ANY


def _writes(function: Node) -> bool:
    if function[0] == "attr" and function[3] in ("setdefault", "update"):
        return _last_name(function[2]) == "environ"
    return _last_name(function) == "putenv"


def _last_name(node: Node) -> str:
    match node[0]:
        case "attr":
            return node[3]  # type: ignore[no-any-return]
        case "name":
            return node[2]  # type: ignore[no-any-return]
    return ""


def _literal(node: Node) -> str:
    return node[2] if node[0] == "const" and isinstance(node[2], str) else ANY
