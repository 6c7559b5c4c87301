"""A read of the process's state with constant arguments → a constant of the file, read when it is imported.

Not where the file itself changes the environment, and only of names that the file imports at its top.
"""

from __future__ import annotations

import ast
import re

import libcst as cst
import libcst.matchers as m

from ..arithmetic import Scope
from ..findings import Fix
from ..slice import Slice
from ..symbols import Module
from ..ways import fresh_name

LITERAL = m.SimpleString() | m.Integer() | m.Float() | m.Name("None") | m.Name("True") | m.Name("False")


def fix(found: Slice, path: str) -> Fix | None:
    call, function = found.underlined, found.function
    if function is None or not isinstance(call, cst.Call) or not call.args or _changes_environment(found.module):
        return None
    if not all(m.matches(arg, m.Arg(value=LITERAL, star="")) for arg in call.args):
        return None
    root = _root(call.func)
    if root not in _imported_above(found) or Scope(found, function).times_bound(root):
        return None
    name = fresh_name(found, _wish(call))
    constant = found.above(path, f"{name} = {found.code(call)}\n\n\n")
    edits = (constant, found.replace(path, call, cst.Name(name)))
    return Fix("read it when the module is imported", "unsafe", edits)


def _root(function: cst.BaseExpression) -> str:
    while isinstance(function, cst.Attribute):
        function = function.value
    return function.value if isinstance(function, cst.Name) else ""


def _imported_above(found: Slice) -> set[str]:
    """Names that imports at the top level bind before the function."""
    names: set[str] = set()
    for node in found.module.syntax_tree.body:
        if node.lineno >= found.span[0]:
            break
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            names |= {alias.asname or alias.name.partition(".")[0] for alias in node.names}
    return names


def _wish(call: cst.Call) -> str:
    first = call.args[0].value
    text = ast.literal_eval(first.value) if isinstance(first, cst.SimpleString) else "VALUE"
    words = re.sub(r"\W+", "_", str(text)).strip("_").upper()
    return words if words.isidentifier() else f"VALUE_{words}".rstrip("_")


def _changes_environment(module: Module) -> bool:
    for node in ast.walk(module.syntax_tree):
        match node:
            case ast.Subscript(value=ast.Attribute(attr="environ"), ctx=ast.Store() | ast.Del()):
                return True
            case ast.Call(func=ast.Attribute(attr="putenv" | "unsetenv" | "setenv" | "delenv")):
                return True
            case ast.Call(
                func=ast.Attribute(value=ast.Attribute(attr="environ"), attr="update" | "setdefault" | "pop")
            ):
                return True
    return False
