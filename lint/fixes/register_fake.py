"""A custom operator that is elementwise arithmetic on one tensor → a fake implementation of the same shape."""

from __future__ import annotations

import ast

import libcst as cst

from ..arithmetic import Scope, torch_name
from ..findings import Edit, Fix
from ..slice import Slice, span_of, statement_at


def fix(found: Slice, path: str) -> Fix | None:
    torch = torch_name(found.module, found.function)
    match found.underlined:
        case cst.Call(func=cst.Name(value=name)) if torch is not None:
            definition = _definition(found, name)
            shaped = None if definition is None else _shaped_like(found, definition)
            if definition is not None and shaped is not None:
                return Fix("register a fake implementation", "unsafe", (_edit(found, definition, torch, shaped, path),))
    return None


def _definition(found: Slice, name: str) -> ast.FunctionDef | None:
    same = [node for node in found.module.syntax_tree.body if isinstance(node, ast.FunctionDef) and node.name == name]
    return same[0] if len(same) == 1 else None


def _shaped_like(found: Slice, definition: ast.FunctionDef) -> str | None:
    """The parameter that what is returned has the shape of."""
    match definition.body:
        case [ast.Return() as last]:
            inside = statement_at(found.module, span_of(last))
            if inside is not None and inside.function is not None and isinstance(inside.statement, cst.Return):
                scope = Scope(inside, inside.function)
                leaves = scope.leaves(inside.statement.value or cst.Tuple([])) or frozenset()
                if len(leaves) == 1 and all(scope.is_tensor(cst.Name(name)) for name in leaves):
                    return next(iter(leaves))
    return None


def _edit(found: Slice, definition: ast.FunctionDef, torch: str, shaped: str, path: str) -> Edit:
    end = (definition.end_lineno or definition.lineno) + 1
    given = ast.unparse(definition.args)
    gap = "\n" if found.module.lines[end - 2 :][1:2] == [""] else ""
    text = f"{gap}@{definition.name}.register_fake\ndef _({given}):\n    return {torch}.empty_like({shaped})\n"
    return Edit(path, (end, 0), (end, 0), text)
