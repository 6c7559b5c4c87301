"""Says for a node of an ATen graph why it may not go to MLIR: enters the node, leaves a reason or None.

What may go is a table of operators and dtypes, written by `tools/mlir_coverage.py` from measurements. The rules here
are those that no measurement on valid inputs can show.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from enum import StrEnum
from functools import cache
from importlib.resources import files
from typing import TypeAlias

import torch
from torch._ops import OpOverload
from torch._subclasses import FakeTensor
from torch.fx import Node
from torch.fx.experimental.symbolic_shapes import free_unbacked_symbols

Table: TypeAlias = Mapping[str, frozenset[str]]
"""Operator → the dtype patterns measured right; a pattern that was measured with symbolic sizes too ends in `*`."""

aten = torch.ops.aten


class Reason(StrEnum):
    NOT_ATEN = "not an ATen operator"
    RANDOM = "random"
    MUTATES = "mutates"
    COMPLEX = "complex"
    UNKNOWN = "an input of unknown kind"
    DEVICE = "not a plain CPU tensor"
    UNBACKED = "size known only at run time"
    SYMBOLIC_FLOAT = "symbolic float"
    EMPTY = "zero-size"
    INTEGER_DIVISION = "integer division"
    CHECKED = "checks its data"
    KERNEL = "tuned kernel"
    UNINITIALISED = "uninitialised memory"
    VIEW = "view at the border"
    SYMBOLIC_VIEW = "view that merges symbolic sizes"
    COPY = "only a copy"
    LAYOUT = "memory layout"
    NOT_IN_TABLE = "not in the table"
    DTYPE = "dtype not in the table"
    DYNAMIC = "dynamic sizes not in the table"
    NOT_IMPORTED = "not importable"


# ATen raises on an index out of bounds or a wrong value; native code would read past the tensor.
CHECKED = frozenset(
    {
        *(aten._embedding_bag, aten._embedding_bag_forward_only, aten._unsafe_index, aten._unsafe_index_put),
        *(aten._unsafe_masked_index, aten._unsafe_masked_index_put_accumulate, aten.bincount, aten.bucketize),
        *(aten.embedding, aten.embedding_bag, aten.embedding_dense_backward, aten.gather, aten.index),
        *(aten.index_add, aten.index_copy, aten.index_fill, aten.index_put, aten.index_reduce, aten.index_select),
        *(aten.masked_scatter, aten.masked_select, aten.max_pool2d_with_indices_backward, aten.max_unpool2d),
        *(aten.max_pool3d_with_indices_backward, aten.max_unpool3d, aten.nll_loss_backward, aten.nll_loss_forward),
        *(aten.nll_loss2d_backward, aten.nll_loss2d_forward, aten.nonzero, aten.put, aten.repeat_interleave),
        *(aten.scatter, aten.scatter_add, aten.scatter_reduce, aten.take, aten._assert_async),
    }
)
KERNELS = frozenset(
    {
        *(aten._scaled_dot_product_flash_attention_for_cpu, aten._scaled_dot_product_flash_attention_for_cpu_backward),
        *(aten.addbmm, aten.addmm, aten.addmv, aten.baddbmm, aten.bmm, aten.convolution, aten.convolution_backward),
        *(aten.mm, aten.sort, aten.topk),
    }
)
UNINITIALISED = frozenset(
    {aten.empty, aten.empty_like, aten.empty_permuted, aten.empty_strided, aten.new_empty, aten.new_empty_strided}
)
RESHAPES = frozenset({aten.view, aten._unsafe_view, aten.reshape, aten.flatten, aten.unflatten})
# Native division by zero ends the process; ATen raises.
DIVISIONS = frozenset({aten.div, aten.floor_divide, aten.fmod, aten.remainder, aten.pow})

SHORT = {
    torch.bool: "b8",
    torch.uint8: "u8",
    torch.int8: "i8",
    torch.int16: "i16",
    torch.int32: "i32",
    torch.int64: "i64",
    torch.float16: "f16",
    torch.bfloat16: "bf16",
    torch.float32: "f32",
    torch.float64: "f64",
}


@cache
def measured() -> Table:
    text = files(__package__).joinpath("support.json").read_text(encoding="utf-8")
    return {name: frozenset(patterns.split()) for name, patterns in json.loads(text)["operators"].items()}


def hindrance(node: Node, table: Table) -> Reason | None:
    """Why this call stays in ATen."""
    operator = node.target
    if not isinstance(operator, OpOverload) or operator.namespace not in ("aten", "prims"):
        return Reason.NOT_ATEN
    return _operator_hindrance(operator) or _value_hindrance(node) or _table_hindrance(node, operator, table)


@cache
def _operator_hindrance(operator: OpOverload) -> Reason | None:
    if torch.Tag.nondeterministic_seeded in operator.tags:
        return Reason.RANDOM
    if operator._schema.is_mutable:
        return Reason.MUTATES
    if operator.overloadpacket in CHECKED:
        return Reason.CHECKED
    if operator.overloadpacket in KERNELS:
        return Reason.KERNEL
    if operator.overloadpacket in UNINITIALISED:
        return Reason.UNINITIALISED
    if is_view(operator) and len(operator._schema.returns) == 1 and "List" in str(operator._schema.returns[0].type):
        return Reason.VIEW
    return None


def _value_hindrance(node: Node) -> Reason | None:
    tensors = [*_inputs(node), *_outputs(node)]
    if not all("val" in source.meta for source in node.all_input_nodes):
        return Reason.UNKNOWN
    if any(not isinstance(value, FakeTensor) or value.device.type != "cpu" or value.is_sparse for value in tensors):
        return Reason.DEVICE
    if any(value.is_complex() or value.is_neg() for value in tensors):
        return Reason.COMPLEX
    if any(free_unbacked_symbols(value) for value in tensors if _has_symbolic_sizes(value)):
        return Reason.UNBACKED
    if any(isinstance(source.meta.get("val"), torch.SymFloat | torch.SymBool) for source in node.all_input_nodes):
        return Reason.SYMBOLIC_FLOAT
    if any(type(size) is int and size == 0 for value in tensors for size in value.shape):
        return Reason.EMPTY
    if _may_divide_by_zero(node):
        return Reason.INTEGER_DIVISION
    if _rounds_a_number(node):
        return Reason.DTYPE
    return Reason.SYMBOLIC_VIEW if _merges_symbolic_sizes(node) else None


def _merges_symbolic_sizes(node: Node) -> bool:
    """Where `[a, b, 256]` becomes `[a * b, 256]`, torch-mlir's lowering takes one of the two for 1, which is wrong."""
    if not isinstance(node.target, OpOverload) or node.target.overloadpacket not in RESHAPES:
        return False
    before, after = (_symbolic_sizes(value) for value in (next(_inputs(node)), node.meta["val"]))
    return before != after


def _has_symbolic_sizes(value: torch.Tensor) -> bool:
    return any(type(size) is not int for size in value.shape)


def _symbolic_sizes(value: torch.Tensor) -> list[str]:
    sizes: list[object] = list(value.shape)
    return sorted(str(size) for size in sizes if isinstance(size, torch.SymInt))


def _may_divide_by_zero(node: Node) -> bool:
    """-1 counts too: the smallest integer divided by it overflows, which traps like a division by zero."""
    if not isinstance(node.target, OpOverload) or node.target.overloadpacket not in DIVISIONS:
        return False
    (result,) = _outputs(node)
    if result.dtype.is_floating_point:
        return False
    divisor = node.args[1]
    signed = result.dtype != torch.uint8
    return not signed or not isinstance(divisor, int) or divisor in (0, -1) or node.target.overloadpacket is aten.pow


def _rounds_a_number(node: Node) -> bool:
    """A number in the place of the first tensor would be taken for a float32."""
    first = next(iter(node.args), None)
    tensor = isinstance(node.target, OpOverload) and node.target._overloadname == "Tensor"
    return tensor and isinstance(first, float) and any(value.dtype == torch.float64 for value in _outputs(node))


def _table_hindrance(node: Node, operator: OpOverload, table: Table) -> Reason | None:
    patterns = table.get(str(operator))
    if patterns is None:
        return Reason.NOT_IN_TABLE
    pattern = dtype_pattern(node)
    if pattern + "*" in patterns:
        return None
    if pattern not in patterns:
        return Reason.DTYPE
    return Reason.DYNAMIC if is_dynamic(node) else None


def dtype_pattern(node: Node) -> str:
    """`b8,f32>f32`: the dtypes of a call's tensors, each once, before and after."""
    sides = (",".join(sorted({SHORT[value.dtype] for value in side})) for side in (_inputs(node), _outputs(node)))
    return ">".join(sides)


def is_dynamic(node: Node) -> bool:
    values = [*_inputs(node), *_outputs(node)]
    numbers: list[object] = [size for value in values for size in value.shape]
    numbers += [source.meta.get("val") for source in node.all_input_nodes]
    return any(isinstance(number, torch.SymInt) for number in numbers)


def is_view(operator: OpOverload) -> bool:
    return operator.is_view or operator is aten._unsafe_view.default


def _inputs(node: Node) -> Iterator[torch.Tensor]:
    for source in node.all_input_nodes:
        yield from tensors(source.meta.get("val"))


def _outputs(node: Node) -> Iterator[torch.Tensor]:
    yield from tensors(node.meta.get("val"))


def tensors(value: object) -> Iterator[torch.Tensor]:
    match value:
        case torch.Tensor():
            yield value
        case tuple() | list():
            for item in value:
                yield from tensors(item)
