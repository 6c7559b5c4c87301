"""What planning makes of a graph."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import torch
from torch.nn import Module

from ..events import Left
from .signature import Signature


@dataclass(frozen=True, slots=True)
class Region:
    text: str
    """The function `main` in the torch dialect."""
    signature: Signature
    output_shapes: Callable[[Sequence[object]], Sequence[Sequence[int]]]
    """From the arguments of a call to the shapes of its outputs."""
    ops: tuple[str, ...]
    """The ATen operators in it, in the order of the graph."""
    precisions: tuple[torch.dtype, ...]
    """For each output the coarsest type on the way to it: what was rounded to bfloat16 is no better as a float32."""


@dataclass(frozen=True, slots=True)
class Plan:
    graph: Module
    """Takes and gives what the original does. A region is a submodule: one that computes it with ATen, to be replaced
    by a callable that takes the same arguments and returns the same tuple of contiguous tensors."""
    regions: Mapping[str, Region]
    """By the name of the submodule."""
    left: tuple[Left, ...]
