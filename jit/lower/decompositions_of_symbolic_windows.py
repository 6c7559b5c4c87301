"""Adaptive pooling of symbolic sizes: where a window begins and ends is computed, and how many there are is known."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial, reduce

import torch
from torch import Tensor
from torch._ops import OperatorBase
from torch.fx.experimental.symbolic_shapes import statically_known_true

from . import windows
from .windows import HALF, LARGEST

aten = torch.ops.aten


def rules() -> dict[OperatorBase, Callable[..., object]]:
    """Where all sizes are known, slices do better."""
    known = windows.rules()
    symbolic: dict[OperatorBase, Callable[..., object]] = {
        aten._adaptive_avg_pool2d.default: partial(_average, 2),
        aten._adaptive_avg_pool3d.default: partial(_average, 3),
        aten.adaptive_max_pool2d.default: partial(_maximum, 2),
        aten.adaptive_max_pool3d.default: partial(_maximum, 3),
    }
    return {operator: partial(_first_of, known[operator], rule) for operator, rule in symbolic.items()}


def _first_of(known: Callable[..., object], symbolic: Callable[..., object], value: Tensor, size: object) -> object:
    decomposed = known(value, size)
    return symbolic(value, size) if decomposed is NotImplemented else decomposed


def _average(dims: int, value: Tensor, output_size: Sequence[int]) -> object:
    if not value.is_floating_point() or not _few(dims, value, output_size):
        return NotImplemented
    result = value.float() if value.dtype in HALF else value
    for dim in _pooled(dims, value, output_size):
        parts = [part.mean(dim, keepdim=True) for part in _parts(result, dim, output_size[dim])]
        result = torch.cat(parts, dim)
    return result.to(value.dtype)


def _maximum(dims: int, value: Tensor, output_size: Sequence[int]) -> object:
    """The first of equals, and the last NaN."""
    if not value.is_floating_point() or not _few(dims, value, output_size):
        return NotImplemented
    best, place = value, _numbered(value.shape[-dims:], value.device).expand_as(value)
    for dim in _pooled(dims, value, output_size):
        parts = zip(_parts(best, dim, output_size[dim]), _parts(place, dim, output_size[dim]), strict=True)
        largest = [_largest(part, where, dim) for part, where in parts]
        best, place = (torch.cat(parts, dim) for parts in zip(*largest, strict=True))
    return best, place


def _few(dims: int, value: Tensor, output_size: Sequence[int]) -> bool:
    """Whether some size is symbolic, and the number of windows known along each dimension that is pooled."""
    counts = [output_size[dim] for dim in _pooled(dims, value, output_size)]
    sizes = value.shape[-dims:]
    return not all(type(size) is int for size in sizes) and all(
        type(count) is int and 0 < count <= LARGEST for count in counts
    )


def _pooled(dims: int, value: Tensor, output_size: Sequence[int]) -> Iterator[int]:
    """The dimensions that do not keep their size, the innermost first."""
    return (dim for dim in range(-1, -dims - 1, -1) if not statically_known_true(value.shape[dim] == output_size[dim]))


def _numbered(sizes: Sequence[int], device: torch.device) -> Tensor:
    first, *others = (torch.arange(size, device=device) for size in sizes)
    return reduce(lambda places, along: places.unsqueeze(-1) * along.shape[0] + along, others, first)


def _parts(value: Tensor, dim: int, count: int) -> list[Tensor]:
    size = value.shape[dim]
    return [
        aten.slice.Tensor(value, dim, i * size // count, ((i + 1) * size + count - 1) // count) for i in range(count)
    ]


def _largest(value: Tensor, place: Tensor, dim: int) -> tuple[Tensor, Tensor]:
    best = value.amax(dim, keepdim=True)
    first = torch.where(value == best, place, torch.iinfo(torch.int64).max).amin(dim, keepdim=True)
    nan = torch.where(value.isnan(), place, -1).amax(dim, keepdim=True)
    return best, torch.where(nan >= 0, nan, first)
