"""A region as it is called: native code with eager behind it, held against eager on its first real inputs.

Regions are functional and draw no random numbers, so computing one twice changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import torch

from .compare import compare
from .runtime import Kernel

if TYPE_CHECKING:
    from .lower.planned import Region

MOST_COMPARED = 3
"""Distinct shapes on which a region is compared; one of static sizes has only one."""
GROWTH = 4
"""After those, inputs are compared that are this many times larger than all before: errors in sums grow with them."""


class Judge(Protocol):
    """Learns how a region compares with eager."""

    def agreed(self, error: float) -> None: ...

    def disagreed(self, reason: str, inputs: Sequence[Any], expected: Sequence[Any]) -> None:
        """The region is the eager one from now on."""

    def abandoned(self, reason: str) -> None:
        """So it is then, but nothing is known against its code."""


class NativeRegion:
    """Takes and gives what the eager region does. After a mismatch it is the eager region."""

    def __init__(
        self,
        kernel: Kernel,
        region: Region,
        eager: Callable[..., Any],
        judge: Judge,
        compared: bool = True,
    ) -> None:
        """Unless `compared`, native code is believed from the first call on."""
        self._kernel: Kernel | None = kernel
        self._output_shapes = region.output_shapes
        self._precisions = region.precisions
        self._eager = eager
        self._judge = judge
        self._settled = not compared
        """Whether it is compared no more: it takes no other shapes than it was compared on."""
        self._has_one_shape = region.signature.is_static
        self._compared: set[tuple[object, ...]] = set()
        self._largest = -1
        self._trusted = not compared
        """Whether it agreed on the only shapes that it takes."""
        self._enter = kernel.enter
        self._lie_alike: Callable[..., bool] | None = None
        """Whether inputs can be entered as they are; known once there were some that could."""

    def __call__(self, *inputs: Any) -> Any:
        if self._lie_alike is not None and self._lie_alike(*inputs):
            return self._enter(*inputs)
        kernel = self._kernel
        if kernel is None or not kernel.accepts(inputs):
            return self._eager(*inputs)
        if not self._settled and self._is_new(inputs):
            return self._compare(kernel, inputs)
        if self._trusted and self._lie_alike is None:
            self._lie_alike = kernel.guard(inputs)
        return kernel.call(inputs, self._output_shapes(inputs))

    def _is_new(self, inputs: Sequence[Any]) -> bool:
        size = sum(value.numel() for value in inputs if isinstance(value, torch.Tensor))
        first = len(self._compared) < MOST_COMPARED and tuple(map(_shape, inputs)) not in self._compared
        if not first and size <= GROWTH * self._largest:
            return False
        self._compared.add(tuple(map(_shape, inputs)))
        self._largest = max(size, self._largest)
        self._settled = self._has_one_shape
        return True

    def _compare(self, kernel: Kernel, inputs: Sequence[Any]) -> Any:
        # First, because where eager raises, native code must not run.
        expected = self._eager(*inputs)
        try:
            seen = compare(kernel.call(inputs, self._output_shapes(inputs)), expected, self._precisions)
        except (RuntimeError, MemoryError) as error:  # no memory left for a second result, which is no verdict
            self._kernel = None
            self._judge.abandoned(f"cannot be compared with eager: {str(error).partition(chr(10))[0]}")
            return expected
        if seen.mismatch is None:
            self._trusted = self._has_one_shape
            self._judge.agreed(seen.max_abs_error)
        else:
            self._kernel = None
            self._judge.disagreed(seen.mismatch, inputs, expected)
        return expected


def _shape(value: object) -> object:
    return value.shape if isinstance(value, torch.Tensor) else None
