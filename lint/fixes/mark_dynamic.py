"""Sizes of an argument that the visible calls vary → marked with `torch._dynamo.mark_dynamic` before the first call.

Only where every call in the file passes a tensor there whose sizes are written out, in statements of their own.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..arithmetic import torch_name
from ..findings import Edit, Fix
from ..slice import Slice
from ..ways import fresh_name
from .tensor_argument import calls_of

MAKERS = ("ones", "zeros", "empty", "rand", "randn")


def fix(found: Slice, path: str) -> Fix | None:
    torch = torch_name(found.module, found.function)
    calls = [] if torch is None else sorted(calls_of(found), key=lambda call: (call.lineno, call.col_offset))
    if torch is None or len(calls) < 2 or any(len(call.args) != len(calls[0].args) for call in calls):
        return None
    edits = tuple(edit for number in range(len(calls[0].args)) for edit in _marked(found, calls, number, torch, path))
    return Fix("mark the sizes that vary", "unsafe", edits) if len(edits) == 2 else None


def _marked(found: Slice, calls: list[ast.Call], number: int, torch: str, path: str) -> Iterator[Edit]:
    """The tensor of the first call in a name of its own, which is marked."""
    first, module = calls[0], found.module
    sizes = [_sizes(call.args[number], torch) for call in calls]
    line = next((node for node in module.syntax_tree.body if _is_statement(node, first)), None)
    if line is None or any(size is None or len(size) != len(sizes[0] or ()) for size in sizes):
        return
    known = [size for size in sizes if size is not None]
    vary = [at for at, column in enumerate(zip(*known, strict=True)) if len(set(column)) > 1]
    if not vary or any(known[0][at] < 2 for at in vary):
        return
    argument = first.args[number]
    name = fresh_name(found, "x")
    start, end = (argument.lineno, module.code_column(argument.lineno, argument.col_offset)), module.end_of(argument)
    made = ast.get_source_segment("\n".join(module.lines), argument)
    place = (line.lineno, 0)
    yield Edit(path, place, place, f"{name} = {made}\n{torch}._dynamo.mark_dynamic({name}, {vary})\n")
    yield Edit(path, start, end, name)


def _is_statement(node: ast.stmt, call: ast.Call) -> bool:
    """Whether the call is all that a statement of the file does, but for giving its value a name."""
    return isinstance(node, (ast.Expr, ast.Assign)) and node.value is call and node.col_offset == 0


def _sizes(argument: ast.expr, torch: str) -> tuple[int, ...] | None:
    """What a tensor is made with."""
    match argument:
        case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr=maker), args=sizes, keywords=[]) if (
            name == torch and maker in MAKERS
        ):
            numbers = sizes[0].elts if len(sizes) == 1 and isinstance(sizes[0], (ast.Tuple, ast.List)) else sizes
            values = [item.value for item in numbers if isinstance(item, ast.Constant) and isinstance(item.value, int)]
            return tuple(values) if len(values) == len(numbers) and values else None
    return None
