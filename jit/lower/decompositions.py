"""Leaves the decompositions that turn an ATen graph into operators MLIR knows, for AOTAutograd to apply."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import torch
from torch import Tensor
from torch._decomp import core_aten_decompositions, get_decompositions
from torch._ops import OperatorBase, OpOverload

aten = torch.ops.aten

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


@cache
def decompositions() -> dict[OperatorBase, Callable[..., object]]:
    """Random operators stay whole: their parts would draw other numbers from torch's generator than eager does."""
    table: dict[OperatorBase, Callable[..., object]] = {**core_aten_decompositions(), **get_decompositions(MORE)}
    return {operator: rule for operator, rule in table.items() if not _stays_whole(operator)} | {
        aten.clamp.default: _clamp,
        aten.clamp.Tensor: _clamp_by_tensors,
        aten.hardtanh.default: _hardtanh,
        aten.maximum.default: _maximum,
        aten.minimum.default: _minimum,
    }


def _stays_whole(operator: OperatorBase) -> bool:
    if not isinstance(operator, OpOverload):
        return False
    return operator.overloadpacket in WHOLE or torch.Tag.nondeterministic_seeded in operator.tags


# torch-mlir's own lowering of these loses NaN; comparisons, false where there is one, keep it.


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
    if not left.is_floating_point() or not right.is_floating_point():
        return NotImplemented
    return torch.where((left > right) | left.isnan(), left, right)


def _minimum(left: Tensor, right: Tensor) -> object:
    if not left.is_floating_point() or not right.is_floating_point():
        return NotImplemented
    return torch.where((left < right) | left.isnan(), left, right)
