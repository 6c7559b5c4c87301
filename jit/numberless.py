"""Tensors without numbers with which programs run on: where one reads a number that nobody knows, it gets 1."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch._subclasses.fake_tensor import (
    DataDependentOutputException,
    DynamicOutputShapeException,
    FakeTensorMode,
)

aten = torch.ops.aten


class Numberless(FakeTensorMode):  # type: ignore[no-untyped-call]
    """Fake tensors whose elements are 1 or true to whoever asks.

    Dynamo traces with a mode of its own, in which asking is the graph break that it always is.
    """

    def __init__(self) -> None:
        super().__init__(allow_non_fake_inputs=True)

    # After a graph break Dynamo would compile this file too.
    @torch.compiler.disable  # type: ignore[untyped-decorator]
    def dispatch(self, func: Any, types: Sequence[type], args: Sequence[Any] = (), kwargs: Any = None) -> Any:
        try:
            return super().dispatch(func, types, args, kwargs)
        except DataDependentOutputException:
            if func is not aten._local_scalar_dense.default:
                raise
            return _one(args[0].dtype)
        except DynamicOutputShapeException:
            if func not in ALL_CHOSEN:
                raise
            return ALL_CHOSEN[func](*args, **(kwargs or {}))


def _nonzero(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.new_zeros((tensor.numel(), tensor.dim()), dtype=torch.int64)


def _masked_select(tensor: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    shape = torch.broadcast_shapes(tensor.shape, mask.shape)  # type: ignore[no-untyped-call]
    return tensor.new_zeros(shape.numel())


def _index(tensor: torch.Tensor, indices: Sequence[torch.Tensor | None]) -> Any:
    return aten.index.Tensor(tensor, [place for index in indices for place in _places(index)])


def _places(index: torch.Tensor | None) -> list[torch.Tensor | None]:
    """A mask as the index tensors that stand for it, one for each of its dimensions."""
    if index is None or index.dtype not in (torch.bool, torch.uint8):
        return [index]
    return [index.new_zeros(index.numel(), dtype=torch.int64) for _ in range(index.dim())]


def _repeat_interleave(repeats: torch.Tensor, **_: object) -> torch.Tensor:
    return repeats.new_zeros(repeats.numel())


def _unique(tensor: torch.Tensor, *_: object, **__: object) -> tuple[torch.Tensor, ...]:
    numbers = tensor.new_zeros(tensor.shape, dtype=torch.int64)
    return tensor.flatten(), numbers, numbers.flatten()


ALL_CHOSEN: dict[Any, Callable[..., Any]] = {
    aten.nonzero.default: _nonzero,
    aten.masked_select.default: _masked_select,
    aten.index.Tensor: _index,
    aten.repeat_interleave.Tensor: _repeat_interleave,
    aten._unique2.default: _unique,
}
"""Operators whose results are as large as the data says: as if every mask were true and all elements differed."""


def _one(dtype: torch.dtype) -> bool | int | float | complex:
    if dtype is torch.bool:
        return True
    if dtype.is_complex:
        return complex(1)
    return 1.0 if dtype.is_floating_point else 1
