"""Pooling as arithmetic on slices: decompositions in which NaN wins and indices are ATen's."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TypeVar

import torch
from torch import Tensor
from torch._ops import OperatorBase

aten = torch.ops.aten
Item = TypeVar("Item")
HALF = (torch.bfloat16, torch.float16)
LARGEST = 32
"""Slices along one dimension, beyond which a loop of ATen does better."""


def rules() -> dict[OperatorBase, Callable[..., object]]:
    return {
        aten._adaptive_avg_pool2d.default: partial(_adaptive_average, 2),
        aten._adaptive_avg_pool3d.default: partial(_adaptive_average, 3),
        aten.adaptive_max_pool2d.default: partial(_adaptive_maximum, 2),
        aten.adaptive_max_pool3d.default: partial(_adaptive_maximum, 3),
        aten.max_pool2d_with_indices.default: partial(_maximum, 2),
        aten.max_pool3d_with_indices.default: partial(_maximum, 3),
    }


def _maximum(
    dims: int,
    value: Tensor,
    kernel_size: Sequence[int],
    stride: Sequence[int] = (),
    padding: Sequence[int] = (0,),
    dilation: Sequence[int] = (1,),
    ceil_mode: bool = False,
) -> object:
    options = [_each(dims, numbers) for numbers in (kernel_size, stride or kernel_size, padding, dilation)]
    if max(options[0]) > LARGEST:
        return NotImplemented
    lowest = -math.inf if value.is_floating_point() else torch.iinfo(value.dtype).min
    best, place = value, _places(value, dims)
    for dim, (width, step, pad, apart) in _innermost_first(list(zip(*options, strict=True))):
        count = _count(value.shape[dim], width, step, pad, apart, ceil_mode)
        end = (count - 1) * step + 1
        sides = (pad, pad + (step - 1 if ceil_mode else 0))
        padded = any(sides)
        if padded:
            best, place = _padded(best, dim, sides, lowest), _padded(place, dim, sides, -1)
        starts = range(0, width * apart, apart)
        values = [aten.slice.Tensor(best, dim, start, start + end, step) for start in starts]
        places = [aten.slice.Tensor(place, dim, start, start + end, step) for start in starts]
        best, place = _largest(values, places, padded)
    return best, place.expand_as(best)


def _innermost_first(of: Sequence[Item]) -> Iterator[tuple[int, Item]]:
    """In which order the first of equals along one dimension after another is the first of all."""
    return ((-dim, item) for dim, item in enumerate(reversed(of), start=1))


def _padded(value: Tensor, dim: int, sides: tuple[int, int], fill: float) -> Tensor:
    return torch.constant_pad_nd(value, (*[0] * (-2 * dim - 2), *sides), fill)


def _each(dims: int, numbers: Sequence[int]) -> list[int]:
    return list(numbers) * dims if len(numbers) == 1 else list(numbers)


def _count(size: int, width: int, by: int, pad: int, apart: int, ceil_mode: bool) -> int:
    """Windows along a dimension; none begins in the padding behind it."""
    room = size + 2 * pad - apart * (width - 1) - 1
    count = (room + (by - 1 if ceil_mode else 0)) // by + 1
    return count - 1 if ceil_mode and (count - 1) * by >= size + pad else count


def _adaptive_maximum(dims: int, value: Tensor, output_size: Sequence[int]) -> object:
    """A window that is less wide than others has its last value again, which is no larger."""
    bounds = _bounds(value, dims, output_size)
    if bounds is None:
        return NotImplemented
    best, place = value, _places(value, dims)
    for dim, along in _innermost_first(bounds):
        width = max(end - start for start, end in along)
        taken = [[min(start + offset, end - 1) for start, end in along] for offset in range(width)]
        values = [_at(best, dim, indices) for indices in taken]
        places = [_at(place, dim, indices) for indices in taken]
        best, place = _largest(values, places, padded=False)
    return best, place.expand_as(best)


def _at(value: Tensor, dim: int, indices: Sequence[int]) -> Tensor:
    return torch.cat([value.narrow(dim, index, 1) for index in indices], dim)


def _adaptive_average(dims: int, value: Tensor, output_size: Sequence[int]) -> object:
    """Along one dimension after the other."""
    bounds = _bounds(value, dims, output_size)
    if bounds is None or not value.is_floating_point():
        return NotImplemented
    result = value.float() if value.dtype in HALF else value
    for dim, along in enumerate(bounds, -dims):
        parts = [result.narrow(dim, start, end - start).mean(dim, keepdim=True) for start, end in along]
        result = torch.cat(parts, dim)
    return result.to(value.dtype)


def _bounds(value: Tensor, dims: int, output_size: Sequence[int]) -> list[list[tuple[int, int]]] | None:
    """Where each window begins and ends along each dimension; None where that is not known or too much."""
    sizes = value.shape[-dims:]
    if not all(type(size) is int and size for size in (*sizes, *output_size)) or max(output_size) > LARGEST:
        return None
    return [
        [(i * size // count, -(-(i + 1) * size // count)) for i in range(count)]
        for size, count in zip(sizes, output_size, strict=True)
    ]


def _places(value: Tensor, dims: int) -> Tensor:
    """Of each value among those of its channel."""
    place = torch.arange(value.shape[-dims], device=value.device)
    for size in value.shape[1 - dims :]:
        place = place.unsqueeze(-1) * size + torch.arange(size, device=value.device)
    return place


def _largest(values: list[Tensor], places: list[Tensor], padded: bool) -> tuple[Tensor, Tensor]:
    """The first of equals, and the last NaN."""
    best, place = values[0], places[0]
    for value, candidate in zip(values[1:], places[1:], strict=True):
        larger = (value > best) | value.isnan()
        if padded:
            larger = (candidate >= 0) & (larger | (place < 0))
        best, place = torch.where(larger, value, best), torch.where(larger, candidate, place)
    return best, place
