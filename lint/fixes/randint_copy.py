"""`t.random_(a, b)` as a statement → `t.copy_(torch.randint(a, b, t.shape))`: the same draws, written into it."""

from __future__ import annotations

import libcst as cst

from ..arithmetic import torch_name
from ..findings import Fix
from ..slice import Slice


def fix(found: Slice, path: str) -> Fix | None:
    torch = torch_name(found.module, found.function)
    match found.statement:
        case cst.Expr(
            value=cst.Call(func=cst.Attribute(value=cst.Name(value=name), attr=cst.Name("random_")), args=args) as call
        ) if torch is not None and 1 <= len(args) <= 2 and all(arg.keyword is None and not arg.star for arg in args):
            bounds = [found.code(arg.value) for arg in args]
            low, high = bounds if len(bounds) == 2 else ("0", *bounds)
            drawn = f"{name}.copy_({torch}.randint({low}, {high}, {name}.shape, device={name}.device))"
            return Fix("copy from `randint`", "unsafe", (found.replace(path, call, cst.parse_expression(drawn)),))
    return None
