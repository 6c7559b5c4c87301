"""A region as it is called: native code with eager behind it, held against eager on its first real inputs.

Regions are functional and draw no random numbers, so computing one twice changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from .compare import Comparison, compare
from .runtime import Kernel

MOST_COMPARED = 3
"""Distinct shapes on which a region is compared; one of static sizes has only one."""


class NativeRegion:
    """Takes and gives what the eager region does. After a mismatch it is the eager region."""

    def __init__(
        self,
        kernel: Kernel,
        output_shapes: Callable[[Sequence[object]], list[tuple[int, ...]]],
        eager: Callable[..., Any],
        agreed: Callable[[float], None],
        disagreed: Callable[[str, Sequence[Any], Sequence[Any]], None],
    ) -> None:
        self._kernel: Kernel | None = kernel
        self._output_shapes = output_shapes
        self._eager = eager
        self._agreed = agreed
        self._disagreed = disagreed
        self._compared: set[tuple[object, ...]] = set()

    def __call__(self, *inputs: Any) -> Any:
        kernel = self._kernel
        if kernel is None or not kernel.accepts(inputs):
            return self._eager(*inputs)
        if len(self._compared) < MOST_COMPARED and (shapes := tuple(map(_shape, inputs))) not in self._compared:
            self._compared.add(shapes)
            return self._compare(kernel, inputs)
        return tuple(kernel(inputs, self._output_shapes(inputs)))

    def _compare(self, kernel: Kernel, inputs: Sequence[Any]) -> Any:
        # First, because where eager raises, native code must not run.
        expected = self._eager(*inputs)
        try:
            seen = compare(kernel(inputs, self._output_shapes(inputs)), expected)
        except (RuntimeError, MemoryError) as error:  # no memory left for a second result
            seen = Comparison(0.0, f"cannot be compared with eager: {str(error).partition(chr(10))[0]}")
        if seen.mismatch is None:
            self._agreed(seen.max_abs_error)
        else:
            self._kernel = None
            self._disagreed(seen.mismatch, inputs, expected)
        return expected


def _shape(value: object) -> object:
    return value.shape if isinstance(value, torch.Tensor) else None
