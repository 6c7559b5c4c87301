"""The last resort, only to be read: `@torch.compiler.disable` on the function around, which leaves one break.

Not for a function that is compiled by itself, or that the file hands to `torch.compile`, where nothing would be left.
"""

from __future__ import annotations

import ast

import libcst as cst
import libcst.matchers as m

from ..arithmetic import torch_name
from ..compile_site import compile_sites
from ..findings import Edit, Fix
from ..search import findall
from ..slice import Slice

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
    if _is_compiled(found, torch, function.name.value) or findall(function.body, m.Yield()):
        return None
    line = found.first_line + isinstance(found.tree.body[0], cst.If)
    row = found.module.lines[line - 1]
    indent = row[: len(row) - len(row.lstrip())]
    source = " ".join(found.source.split())[:40].replace("\\", "\\\\").replace('"', "'")
    text = f'{indent}@{torch}.compiler.disable(reason="{source}")\n'
    return Fix("keep the function out of the graph", "display", (Edit(path, (line, 0), (line, 0), text),))


def _is_compiled(found: Slice, torch: str, name: str) -> bool:
    """Whether some use of `torch.compile` in the file names the function."""
    named = (node for site in compile_sites(found.module, torch) for node in ast.walk(site))
    return any(
        (isinstance(node, ast.Name) and node.id == name) or (isinstance(node, ast.Attribute) and node.attr == name)
        for node in named
    )
