"""Leaves the decompositions that turn an ATen graph into operators MLIR knows, for AOTAutograd to apply."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import Any

import torch
from torch import Tensor
from torch._decomp import core_aten_decompositions, get_decompositions
from torch._ops import OperatorBase, OpOverload
from torch.utils._pytree import tree_map

aten = torch.ops.aten
HALF = (torch.bfloat16, torch.float16)

# Beyond the core set: normalisations and softmax, forward and backward, as pointwise operations and reductions.
MORE = (
    aten._log_softmax,
    aten._native_batch_norm_legit,
    aten._native_batch_norm_legit.no_stats,
    aten._native_batch_norm_legit_functional,
    aten._native_batch_norm_legit_no_training,
    aten._softmax,
    aten.gelu,
    aten.logsumexp,
    aten.native_group_norm,
    aten.native_layer_norm,
    aten.squeeze.dims,
)

# A kernel of ATen does better, or its parts would read through indices, which ATen checks and native code does not.
WHOLE = (
    aten._scaled_dot_product_flash_attention_for_cpu,
    aten.baddbmm,
    aten.embedding_dense_backward,
    aten.scaled_dot_product_attention,
)

ACCUMULATE = (
    aten._adaptive_avg_pool3d.default,
    aten.avg_pool2d.default,
    aten.avg_pool3d.default,
    aten.linalg_vector_norm.default,
    aten.mean.default,
    aten.mean.dim,
    aten.prod.default,
    aten.sum.dim_IntList,
)


@cache
def decompositions() -> dict[OperatorBase, Callable[..., object]]:
    """Random operators stay whole: their parts would draw other numbers from torch's generator than eager does."""
    table: dict[OperatorBase, Callable[..., object]] = {**core_aten_decompositions(), **get_decompositions(MORE)}
    return {operator: rule for operator, rule in table.items() if not _stays_whole(operator)} | {
        aten.clamp.default: _clamp,
        aten.clamp.Tensor: _clamp_by_tensors,
        aten.eq.Tensor: _equal,
        aten.hardtanh.default: _hardtanh,
        aten.maximum.default: _maximum,
        aten.minimum.default: _minimum,
        aten.pow.Tensor_Scalar: _power,
        aten.var.correction: _variance,
        aten.var_mean.correction: _variance_and_mean,
        **{operator: partial(_in_single_precision, operator) for operator in ACCUMULATE},
    }


def _stays_whole(operator: OperatorBase) -> bool:
    if not isinstance(operator, OpOverload):
        return False
    return operator.overloadpacket in WHOLE or torch.Tag.nondeterministic_seeded in operator.tags


# torch-mlir's own lowering of what follows treats NaN in another way than ATen.


def _are_floats(*values: object) -> bool:
    return all(isinstance(value, Tensor) and value.is_floating_point() for value in values)


def _hardtanh(value: Tensor, low: float = -1.0, high: float = 1.0) -> Tensor:
    return torch.clamp(value, low, high)


def _clamp(value: Tensor, low: float | None = None, high: float | None = None) -> object:
    if not value.is_floating_point() or low != low or high != high:  # a bound that is NaN makes everything NaN
        return NotImplemented
    if low is not None:
        value = torch.where(value < low, low, value)
    return value if high is None else torch.where(value > high, high, value)


def _clamp_by_tensors(value: Tensor, low: Tensor | None = None, high: Tensor | None = None) -> Tensor:
    if low is not None:
        value = torch.maximum(value, low)
    return value if high is None else torch.minimum(value, high)


def _maximum(left: Tensor, right: Tensor) -> object:
    if not _are_floats(left, right):
        return NotImplemented
    return torch.where((left > right) | left.isnan(), left, right)


def _minimum(left: Tensor, right: Tensor) -> object:
    if not _are_floats(left, right):
        return NotImplemented
    return torch.where((left < right) | left.isnan(), left, right)


def _equal(left: Tensor, right: Tensor) -> object:
    if not _are_floats(left, right):
        return NotImplemented
    return torch.ne(left, right).logical_not()


def _power(base: Tensor, exponent: float) -> object:
    """ATen's own shortcuts, which for an infinite base differ from a general power."""
    if not base.is_floating_point() or not isinstance(exponent, int | float):
        return NotImplemented
    match exponent:
        case 0.5:
            return base.sqrt()
        case -0.5:
            return base.rsqrt()
        case -1:
            return base.reciprocal()
        case 2:
            return base * base
        case 3:
            return base * base * base
        case _:
            return NotImplemented


def _variance(value: Tensor, dim: Sequence[int] | None = None, **options: Any) -> object:
    both = _variance_and_mean(value, dim, **options)
    return both[0] if isinstance(both, tuple) else both


def _variance_and_mean(
    value: Tensor, dim: Sequence[int] | None = None, *, correction: float | None = None, keepdim: bool = False
) -> Any:
    """In two passes over the values, in their own precision; torch-mlir would take all of them to float64."""
    dims = list(dim) if dim else list(range(value.ndim))
    count = math.prod(value.shape[axis] for axis in dims)
    if not isinstance(count, int) or value.is_complex():
        return NotImplemented
    wide = value.float() if value.dtype in HALF else value
    mean = torch.sum(wide, dims, keepdim=True) / count
    variance = torch.sum((wide - mean).square(), dims, keepdim=keepdim) / max(count - _or_one(correction), 0)
    return variance.to(value.dtype), (mean if keepdim else mean.squeeze(dims)).to(value.dtype)


def _or_one(correction: float | None) -> float:
    return 1 if correction is None else correction


def _in_single_precision(
    operator: OpOverload, value: Tensor, *arguments: object, dtype: torch.dtype | None = None, **options: object
) -> object:
    """ATen sums half precision up in float32 and rounds once; summed in itself, bfloat16 gets no further than 256."""
    if (rounded := dtype or value.dtype) not in HALF:
        return NotImplemented
    results = operator(value.to(rounded).float(), *arguments, **options)
    return tree_map(lambda result: result.to(rounded), results)
