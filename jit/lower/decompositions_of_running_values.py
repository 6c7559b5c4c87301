"""Decompositions of what is computed of each value and those before it, one after the other where they are few."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import accumulate

import torch
from torch import Tensor
from torch._ops import OperatorBase

aten = torch.ops.aten
STEPS = 32
WIDER = {torch.bfloat16: torch.float32, torch.float16: torch.float32, torch.float32: torch.float64}


def rules() -> dict[OperatorBase, Callable[..., object]]:
    return {
        aten.cummax.default: partial(_extreme, torch.ge),
        aten.cummin.default: partial(_extreme, torch.le),
        aten.logcumsumexp.default: _log_of_sum,
    }


def _few(value: Tensor, dim: int) -> bool:
    return value.ndim > 0 and type(value.shape[dim]) is int and 0 < value.shape[dim] <= STEPS and not value.is_complex()


def _extreme(wins: Callable[[Tensor, Tensor], Tensor], value: Tensor, dim: int) -> object:
    """The last of equals, and the last NaN."""
    if not _few(value, dim):
        return NotImplemented

    first, *others = aten.split.Tensor(value, 1, dim)
    bests, places = [first], [torch.full(first.shape, 0)]
    for i, item in enumerate(others, start=1):
        better = wins(item, bests[-1]) | item.isnan()
        bests.append(torch.where(better, item, bests[-1]))
        places.append(torch.where(better, i, places[-1]))
    return torch.cat(bests, dim), torch.cat(places, dim)


def _log_of_sum(value: Tensor, dim: int) -> object:
    if not _few(value, dim):
        return NotImplemented
    sums = accumulate(aten.split.Tensor(value.to(WIDER.get(value.dtype, value.dtype)), 1, dim), _log_of_two)
    return torch.cat(list(sums), dim).to(value.dtype)


def _log_of_two(left: Tensor, right: Tensor) -> Tensor:
    larger, smaller = torch.maximum(left, right), torch.minimum(left, right)
    return torch.where((larger == smaller) & larger.isinf(), larger, larger + (smaller - larger).exp().log1p())
