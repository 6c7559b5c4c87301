"""Leaves the decompositions that turn an ATen graph into operators MLIR knows, for AOTAutograd to apply."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import torch
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
    return {operator: rule for operator, rule in table.items() if not _stays_whole(operator)}


def _stays_whole(operator: OperatorBase) -> bool:
    if not isinstance(operator, OpOverload):
        return False
    return operator.overloadpacket in WHOLE or torch.Tag.nondeterministic_seeded in operator.tags
