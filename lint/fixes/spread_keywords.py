"""`t.uniform_(**{"from": a, "to": b})` → `t.uniform_(a, b)`, where the dict is written out and nothing else uses it."""

from __future__ import annotations

from ast import literal_eval

import libcst as cst

from ..arithmetic import Scope
from ..findings import Fix
from ..joining import reads_of
from ..slice import Slice

ORDER = ("from", "to")


def fix(found: Slice, path: str) -> Fix | None:
    call, function = found.underlined, found.function
    match call:
        case cst.Call(func=cst.Attribute(attr=cst.Name("uniform_")), args=[cst.Arg(star="**", value=spread)]) if (
            function
        ):
            values = _values(Scope(found, function), function, spread)
            if values is not None:
                given = call.with_changes(args=[cst.Arg(value) for value in values])
                return Fix("pass the bounds by position", "unsafe", (found.replace(path, call, given),))
    return None


def _values(scope: Scope, function: cst.FunctionDef, spread: cst.BaseExpression) -> list[cst.BaseExpression] | None:
    """What the keywords are given, in the order of the parameters."""
    written = spread
    if isinstance(spread, cst.Name) and len(reads_of(function, spread.value)) == 1:
        written = scope.value_of(spread.value) or spread
    if not isinstance(written, cst.Dict):
        return None
    given: dict[str, cst.BaseExpression] = {}
    for element in written.elements:
        match element:
            case cst.DictElement(key=cst.SimpleString(value=key), value=value) if scope.is_number(value):
                given[literal_eval(key)] = value
            case _:
                return None
    return list(given.values()) if tuple(given) == ORDER[: len(given)] and given else None
