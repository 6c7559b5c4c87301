"""A function compiled in the file with no word on `dynamic`, and called with sizes that vary → `dynamic=True`."""

from __future__ import annotations

import ast

import libcst as cst

from ..arithmetic import torch_name
from ..compile_site import is_compile, with_argument
from ..findings import Edit, Fix
from ..slice import Slice
from ..symbols import Module


def fix(found: Slice, path: str) -> Fix | None:
    torch = torch_name(found.module, found.function)
    match found.underlined:
        case cst.Call(func=cst.Name(value=name)) if torch is not None:
            sites = [
                edit for node in found.module.syntax_tree.body if (edit := _edit(found.module, node, name, torch, path))
            ]
            return Fix("compile with `dynamic=True`", "unsafe", (sites[0],)) if len(sites) == 1 else None
    return None


def _edit(module: Module, node: ast.stmt, name: str, torch: str, path: str) -> Edit | None:
    """Where the statement gives the name to a compiled function: the argument, added."""
    match node:
        case ast.FunctionDef(name=defined, decorator_list=[decorator]) if defined == name:
            site = decorator
        case ast.Assign(targets=[ast.Name(id=bound)], value=ast.Call() as site) if bound == name:
            pass
        case _:
            return None
    function = site.func if isinstance(site, ast.Call) else site
    return with_argument(module, site, path, "dynamic", "True") if is_compile(function, torch) else None
