"""`x[mask].sum()`, `.mean()` and the same of `masked_select` → `torch.where(mask, x, 0)`, whose size is fixed."""

from __future__ import annotations

import libcst as cst
import libcst.matchers as m

from ..arithmetic import TRUTHS, Scope, torch_name
from ..findings import Fix
from ..search import findall
from ..slice import Slice


def fix(found: Slice, path: str) -> Fix | None:
    selection, torch, function = found.underlined, torch_name(found.module, found.function), found.function
    if selection is None or torch is None or function is None:
        return None
    scope = Scope(found, function)
    for reduced in findall(found.statement, m.Call(func=m.Attribute(), args=[])):
        match reduced:
            case cst.Call(func=cst.Attribute(value=value, attr=cst.Name("sum" | "mean" as name))) if value is selection:
                text = _weighed(found, scope, torch, selection, name)
                if text is not None:
                    edit = found.replace(path, reduced, cst.parse_expression(text))
                    return Fix("weigh by the mask with `torch.where`", "unsafe", (edit,))
    return None


def _weighed(found: Slice, scope: Scope, torch: str, selection: cst.BaseExpression, name: str) -> str | None:
    parts = _parts(selection)
    if parts is None or not _same_shape(scope, *parts):
        return None
    values, mask = map(found.code, parts)
    total = f"{torch}.where({mask}, {values}, 0).sum()"
    if name == "sum":
        return total
    return f"({total} / {mask if mask.isidentifier() else f'({mask})'}.sum())"


def _parts(selection: cst.BaseExpression) -> tuple[cst.BaseExpression, cst.BaseExpression] | None:
    """What is selected from, and the mask."""
    match selection:
        case (
            cst.Subscript(value=values, slice=[cst.SubscriptElement(slice=cst.Index(value=mask, star=None))])
            | cst.Call(
                func=cst.Attribute(value=values, attr=cst.Name("masked_select")),
                args=[cst.Arg(value=mask, keyword=None)],
            )
        ):
            return values, mask
    return None


def _same_shape(scope: Scope, values: cst.BaseExpression, mask: cst.BaseExpression) -> bool:
    """A mask made of the very tensor that it selects from: one of lower rank would select rows."""
    made_of = scope.leaves(values)
    if not made_of or scope.leaves(mask) != made_of or not scope.is_tensor(values) or not scope.is_tensor(mask):
        return False
    return m.matches(mask, TRUTHS | m.Name())
