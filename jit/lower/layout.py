"""Enters a fake value, leaves how it lies in memory."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch.fx.experimental.symbolic_shapes import statically_known_true


def memory_order(tensor: torch.Tensor) -> tuple[int, ...] | None:
    """The permutation that makes the tensor contiguous, None where its elements are not densely packed."""
    if is_packed(tensor, range(tensor.ndim)):
        return tuple(range(tensor.ndim))
    stride, shape = tensor.stride(), tensor.shape
    order = tuple(sorted(range(tensor.ndim), key=lambda dim: (-_guess(stride[dim]), -_guess(shape[dim]), dim)))
    return order if is_packed(tensor, order) else None


def is_packed(tensor: torch.Tensor, order: Sequence[int]) -> bool:
    expected: int | torch.SymInt = 1
    for dim in reversed(order):
        size = tensor.shape[dim]
        if not (statically_known_true(size == 1) or statically_known_true(tensor.stride(dim) == expected)):
            return False
        expected = expected * size
    return True


def _guess(size: int | torch.SymInt) -> int:
    """The size seen while tracing; reading it otherwise would guard on it."""
    return int(size.node.hint or 0) if isinstance(size, torch.SymInt) else size
