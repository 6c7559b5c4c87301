"""Finds the environment variables that a script sets before it imports torch, which reads some of them only then."""

from __future__ import annotations

import ast
import os
from collections.abc import Iterator
from pathlib import Path

READ_AT_IMPORT = ("TORCH", "PYTORCH", "OMP_", "MKL_", "KMP_", "GOMP_", "ATEN_", "CUDA_")
"""What the names of variables begin with that torch, or a library that it loads, looks at once."""


def early(path: Path) -> tuple[tuple[str, str], ...]:
    """The variables that statements at the top of the file set to a literal before any import of torch, in order."""
    try:
        module = ast.parse(path.read_bytes())
    except (OSError, SyntaxError, ValueError):
        return ()  # running it will tell
    found: dict[str, str] = {}
    for statement in module.body:
        if _imports_torch(statement):
            return tuple(found.items())
        for name, value, replace in _assignments(statement):
            if name.startswith(READ_AT_IMPORT) and (replace or name not in {**os.environ, **found}):
                found[name] = value
    return ()


def _imports_torch(statement: ast.stmt) -> bool:
    match statement:
        case ast.Import(names=names):
            modules = [alias.name for alias in names]
        case ast.ImportFrom(module=str(module), level=0):
            modules = [module]
        case _:
            return False
    return any(module.split(".")[0] == "torch" for module in modules)


def _assignments(statement: ast.stmt) -> Iterator[tuple[str, str, bool]]:
    """Name and value of each variable set, and whether an earlier value is replaced."""
    match statement:
        case ast.Assign(
            targets=[ast.Subscript(value=mapping, slice=ast.Constant(str(name)))], value=ast.Constant(value)
        ):
            if _is_environ(mapping) and isinstance(value, str):
                yield name, value, True
        case ast.Expr(
            ast.Call(ast.Attribute(mapping, "setdefault"), [ast.Constant(str(name)), ast.Constant(str(value))])
        ):
            if _is_environ(mapping):
                yield name, value, False
        case ast.Expr(ast.Call(ast.Attribute(mapping, "update"), positional, keywords)) if _is_environ(mapping):
            yield from _updates(positional, keywords)


def _updates(positional: list[ast.expr], keywords: list[ast.keyword]) -> Iterator[tuple[str, str, bool]]:
    for argument in positional:
        if isinstance(argument, ast.Dict):
            for key, value in zip(argument.keys, argument.values, strict=True):
                match key, value:
                    case ast.Constant(str(name)), ast.Constant(str(text)):
                        yield name, text, True
    for keyword in keywords:
        match keyword:
            case ast.keyword(str(name), ast.Constant(str(text))):
                yield name, text, True


def _is_environ(expression: ast.expr) -> bool:
    match expression:
        case ast.Attribute(ast.Name("os"), "environ") | ast.Name("environ"):
            return True
    return False
