"""Settings of Dynamo that a file may switch on for the whole program: what a reader can be told, never applied unasked.

Importing this module imports libcst.
"""

from __future__ import annotations

import ast

from .arithmetic import torch_name
from .findings import Edit, Fix
from .slice import Slice


def switched_on(found: Slice, path: str, setting: str) -> Fix | None:
    """`torch._dynamo.config.<setting> = True` below the file's first imports."""
    torch, body = torch_name(found.module), found.module.syntax_tree.body
    imports = [at for at, node in enumerate(body) if isinstance(node, (ast.Import, ast.ImportFrom))]
    if torch is None or not imports:
        return None
    last = imports[0]
    while last + 1 in imports:
        last += 1
    line = (body[last].end_lineno or body[last].lineno) + 1
    text = f"\n{torch}._dynamo.config.{setting} = True\n"
    return Fix(
        f"capture it with `{torch}._dynamo.config.{setting} = True`",
        "display",
        (Edit(path, (line, 0), (line, 0), text),),
    )
