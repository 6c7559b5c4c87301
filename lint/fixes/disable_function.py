"""The last resort, only to be read: `@torch.compiler.disable` on the function around, which leaves one break.

Not for a function that is compiled by itself, or that the file hands to `torch.compile`, where nothing would be left.
"""

from __future__ import annotations

import ast
from functools import lru_cache

import libcst as cst
import libcst.matchers as m

from ..arithmetic import torch_name
from ..compile_site import compile_sites
from ..findings import Edit, Fix
from ..search import findall
from ..slice import Slice
from ..symbols import Module

ENTRY = ("forward", "__call__")


def fix(found: Slice, path: str) -> Fix | None:
    torch, function = torch_name(found.module, found.function), found.function
    if (
        torch is None
        or function is None
        or function.name.value in ENTRY
        or function.decorators
        or function.asynchronous
    ):
        return None
    if function.name.value in _compiled(found.module, torch) or findall(function.body, m.Yield()):
        return None
    line = found.first_line + isinstance(found.tree.body[0], cst.If)
    row = found.module.lines[line - 1]
    indent = row[: len(row) - len(row.lstrip())]
    source = " ".join(found.source.split())[:40].replace("\\", "\\\\").replace('"', "'")
    text = f'{indent}@{torch}.compiler.disable(reason="{source}")\n'
    return Fix("keep the function out of the graph", "display", (Edit(path, (line, 0), (line, 0), text),))


@lru_cache(maxsize=16)
def _compiled(module: Module, torch: str) -> frozenset[str]:
    """What the file names where it uses `torch.compile`."""
    nodes = [node for site in compile_sites(module, torch) for node in ast.walk(site)]
    names = {node.id for node in nodes if isinstance(node, ast.Name)}
    return frozenset(names | {node.attr for node in nodes if isinstance(node, ast.Attribute)})
