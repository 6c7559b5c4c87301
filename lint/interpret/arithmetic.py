"""Operators on abstract values: constants fold, tensors absorb, sizes stay sizes."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from ..values import (
    UNKNOWN,
    Const,
    Host,
    Mapping,
    Scalar,
    Sequence,
    SizeInt,
    Tensor,
    Tuple_,
    Value,
    element_of,
    join,
)
from . import shapes

NUMBERS = (Const, Host, Scalar, SizeInt)
COMPARISONS = {"==", "!=", "<", "<=", ">", ">="}

MAX_EXPONENT = 64


def _power(base: float, exponent: float) -> float:
    """Raises `ValueError` where the result might take long to compute."""
    if abs(exponent) > MAX_EXPONENT:
        raise ValueError(exponent)
    return float(base**exponent) if isinstance(base, float) else base**exponent


_FOLDS: dict[str, Callable[..., Any]] = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "truediv": operator.truediv,
    "floordiv": operator.floordiv,
    "mod": operator.mod,
    "pow": _power,
    "and": operator.and_,
    "or": operator.or_,
    "xor": operator.xor,
    "neg": operator.neg,
    "pos": operator.pos,
    "invert": operator.invert,
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
MAX_TEXT = 200
"""Longer folded strings and huge integers are not worth keeping."""


def fold(name: str, *operands: Const) -> Const | Host | None:
    """The operator applied to constants; a Host of the result's type where the result is too large to keep."""
    function = _FOLDS.get(name)
    if function is None or any(_large(operand.value) for operand in operands):
        return None
    try:
        value = function(*(operand.value for operand in operands))
    except (TypeError, ValueError, ArithmeticError):
        return None
    return Host(type(value).__name__) if _large(value) else Const(value)


def _large(value: object) -> bool:
    match value:
        case int():
            return abs(value) > 10**12
        case str() | bytes():
            return len(value) > MAX_TEXT
    return False


def result_of(name: str, left: Value, right: Value) -> Value:
    """`left <name> right` for arithmetic and comparisons."""
    match left, right:
        case (Tensor(), _) | (_, Tensor()):
            return _tensor_result(name, left, right)
        case Const(), Const():
            return fold(name, left, right) or UNKNOWN
        case (Tuple_(items=a), Tuple_(items=b)) if name == "add":
            return Tuple_(a + b, left.mutable)
        case (Tuple_() | Sequence(), Tuple_() | Sequence()):
            return Sequence(join(element_of(left), element_of(right)), "list")
        case (Tuple_(items=(item,)), Const(value=int(times))) if name == "mul" and 0 < times <= 64:
            return Tuple_((item,) * times, left.mutable)
        case (Tuple_() | Sequence(), _) if name == "mul":
            return Sequence(element_of(left), "list" if not isinstance(left, Sequence) else left.kind)
        case (Mapping(), Mapping()) if name == "or":
            return join(left, right)
        case (Scalar(), _) | (_, Scalar()):
            random = any(isinstance(v, Scalar) and v.random for v in (left, right))
            return Scalar("float" if name == "truediv" else "", random)
        case (SizeInt(), _) | (_, SizeInt()):
            unbacked = any(isinstance(v, SizeInt) and v.unbacked for v in (left, right))
            return Host("float") if name == "truediv" else SizeInt(unbacked)
        case (Const() | Host(), Const() | Host()):
            return _absorbed(name, left, right) or _host_result(name, left, right)
    return UNKNOWN


def _absorbed(name: str, left: Const | Host, right: Const | Host) -> Const | None:
    """`True | flag` and `False & flag` are decided whatever the flag is."""
    absorbing = {"or": Const(True), "and": Const(False)}.get(name)
    return absorbing if absorbing is not None and absorbing in (left, right) else None


def _host_result(name: str, left: Const | Host, right: Const | Host) -> Value:
    kinds = {left.kind, right.kind}
    origin = next((v.origin for v in (left, right) if isinstance(v, Host) and v.origin), "")
    if "str" in kinds:
        return Host("str", origin)
    if name == "truediv" or "float" in kinds:
        return Host("float", origin)
    return Host("int" if kinds <= {"int", "bool"} else "", origin)


def _tensor_result(name: str, left: Value, right: Value) -> Value:
    tensors = [v for v in (left, right) if isinstance(v, Tensor)]
    other = next((v for v in (left, right) if not isinstance(v, Tensor)), None)
    if isinstance(other, (Mapping,)) or (isinstance(other, (Const, Host)) and other.kind == "str"):
        return UNKNOWN
    if other == UNKNOWN and all(v.array for v in tensors):
        return UNKNOWN  # of a tensor and an array it is a tensor
    dtype = "bool" if name in COMPARISONS else _promoted(name, left, right)
    sizes, tail = (
        shapes.product(left, right)
        if name == "matmul"
        else shapes.broadcast(tensors, alone=other is None or isinstance(other, NUMBERS))
    )
    # a draw compared or combined with plain numbers is still a draw
    random = all(v.random for v in tensors)
    return Tensor(
        dtype=dtype,
        sizes=sizes,
        tail=tail,
        random=random,
        array=all(v.array for v in tensors),
        sure=any(v.sure for v in tensors),
        made_here=True,
        literal=all(v.literal for v in tensors),
        unbacked=any(v.unbacked for v in tensors),
        told=any(v.told for v in tensors),
    )


def _promoted(name: str, left: Value, right: Value) -> str | None:
    if name == "truediv":
        return "float"
    dtypes = {v.dtype for v in (left, right) if isinstance(v, Tensor)}
    if None in dtypes:
        return None
    for dtype in ("complex", "float", "int", "bool"):
        if dtype in dtypes:
            scalar = next((v.kind for v in (left, right) if isinstance(v, (Const, Host))), "")
            return "float" if scalar == "float" and dtype in ("int", "bool") else dtype
    return None
