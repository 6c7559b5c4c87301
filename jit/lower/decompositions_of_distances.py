"""Decompositions of distances between vectors, as reductions of their differences."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor
from torch._ops import OperatorBase

aten = torch.ops.aten
VECTORS = 32
"""Of which each is taken from those behind it."""


def rules() -> dict[OperatorBase, Callable[..., object]]:
    return {aten._cdist_forward.default: _between_two, aten._pdist_forward.default: _among_one}


def _between_two(left: Tensor, right: Tensor, p: float, compute_mode: int | None) -> object:
    if p == math.inf:  # for which NaN is no distance
        return NotImplemented
    return _length(left.unsqueeze(-2) - right.unsqueeze(-3), p)


def _among_one(value: Tensor, p: float = 2.0) -> object:
    count = value.shape[0]
    if p == math.inf or type(count) is not int or not 1 < count <= VECTORS:
        return NotImplemented
    behind = [value.narrow(0, i + 1, count - i - 1) - value.narrow(0, i, 1) for i in range(count - 1)]
    return torch.cat([_length(difference, p) for difference in behind])


def _length(difference: Tensor, p: float) -> Tensor:
    match p:
        case 0.0:
            return torch.where(difference == 0, 0.0, torch.where(difference.isnan(), difference, 1.0)).sum(-1)
        case 1.0:
            return difference.abs().sum(-1)
        case 2.0:
            return difference.square().sum(-1).sqrt()
        case _:
            return (difference.abs() ** p).sum(-1) ** (1 / p)
