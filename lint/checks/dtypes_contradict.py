"""Dtypes that are seen in the code and that an operator does not take: it raises, traced or not."""

from __future__ import annotations

from collections.abc import Iterator

from fullgraph.rules.model import Rule

from ..emission import Hit
from ..facts import Call, Fact, Index, Operation, operands
from ..findings import Confidence
from ..interpret.frame import Frame
from ..values import External, ExternalObject, Tensor, Value
from ..vocabulary import words

FACTS = (Call, Index, Operation)
CALLS = ("torch.",)

PRODUCTS = words("bmm linear matmul mm mv")
FLOATING_ONLY = words("gelu layer_norm mean norm silu softmax std var")
"""Functions that take no integers, unless a dtype is asked for."""
INDEXING = {"functional.embedding": 0, "gather": 2, "index_select": 2, "one_hot": 0, "scatter": 2, "scatter_add": 2}
"""Functions that take indices, and where, the tensor itself counted."""
BITWISE = ("and", "or", "xor", "invert")
WEIGHTED = {
    f"torch.nn.{name}"
    for name in words(
        """
        BatchNorm1d BatchNorm2d BatchNorm3d Conv1d Conv2d Conv3d ConvTranspose1d ConvTranspose2d ConvTranspose3d GELU
        GroupNorm LayerNorm Linear RMSNorm SiLU
        """
    )
}
"""Modules that take no integers."""
WHOLE = ("int", "bool")


def check(fact: Fact, frame: Frame, rule: Rule) -> Iterator[Hit]:
    values = list(operands(fact))
    if (problem := _problem(fact, values)) is not None:
        sure = all(value.sure for value in values if isinstance(value, Tensor))
        yield Hit(rule.code, fact.span, Confidence.CERTAIN if sure else Confidence.LIKELY, f"`{{source}}` {problem}")


def _problem(fact: Fact, values: list[Value]) -> str | None:
    match fact, values:
        case Operation(), _:
            return _operation(fact.operator, [value for value in values if isinstance(value, Tensor)])
        case Index(), [Tensor(), *parts] if any(_is(part, "float") for part in parts):
            return "is indexed with floating-point numbers"
        case Call(), [ExternalObject() as module, value, *_] if "dtype" not in dict(module.options):
            return _module(module.cls, value)
        case Call(receiver=Tensor() | None), _:
            return _call(fact, values)
    return None


def _is(value: Value, *dtypes: str) -> bool:
    return isinstance(value, Tensor) and value.dtype in dtypes and not value.told and not value.array


def _operation(operator: str, tensors: list[Tensor]) -> str | None:
    if operator == "matmul" and len(tensors) == 2:
        return _product(*tensors)
    if operator in BITWISE and any(_is(value, "float") for value in tensors):
        return "works on bits, which floating-point tensors do not allow"
    if operator in ("sub", "neg") and any(_is(value, "bool") for value in tensors):
        return "subtracts a boolean tensor, which torch refuses: write `~mask`, `^` or `mask.int()`"
    return None


def _product(left: Tensor, right: Tensor) -> str | None:
    if _is(left, "float", *WHOLE) and _is(right, "float", *WHOLE) and left.dtype != right.dtype:
        return f"multiplies matrices of dtypes {left.dtype} and {right.dtype}"
    return None


def _module(cls: str, value: Value) -> str | None:
    name = cls.removeprefix("torch.")
    if cls in WEIGHTED and isinstance(value, Tensor) and _is(value, *WHOLE):
        return f"is given a tensor of dtype {value.dtype}, `{name}` computes in floating point"
    if cls == "torch.nn.Embedding" and isinstance(value, Tensor) and _is(value, "float", "bool"):
        return f"is given a tensor of dtype {value.dtype}, `{name}` takes integers"
    return None


def _call(fact: Call, given: list[Value]) -> str | None:
    last = fact.symbol.rpartition(".")[2]
    match last, given:
        case _, (Tensor() as left, Tensor() as right, *_) if last in PRODUCTS:
            return _product(left, right)
        case _, (Tensor() as value, *_) if last in FLOATING_ONLY and _is(value, *WHOLE):
            asked = fact.arguments.keyword("dtype") is not None or any(isinstance(other, External) for other in given)
            return None if asked else f"is not defined for dtype {value.dtype}"
        case "where", (condition, _, _) if _is(condition if fact.receiver is None else given[1], "float"):
            return "takes a boolean condition, not a floating-point one"
        case "masked_fill", (_, mask, _) if _is(mask, "float"):
            return "takes a boolean mask, not a floating-point one"
    for name, place in INDEXING.items():  # `torch.embedding` takes its arguments the other way round
        if fact.symbol.endswith(f".{name}") and len(given) > place and _is(given[place], "float", "bool"):
            return "takes integers for indices"
    return None
