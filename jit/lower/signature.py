"""What a compiled region takes and gives: the contract between lowering, the worker and the runtime. Imports nothing.

The native function is `void region(descriptor *in0, …, int64_t scalar, …, descriptor *out0, …)` in the order of
`inputs`, then `outputs`: tensors are passed as pointers to MLIR memref descriptors (`{T *allocated, T *aligned, int64
offset, int64 sizes[rank], int64 strides[rank]}`), scalars by value, and outputs are written to memory that the caller
has allocated.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class TensorSpec:
    """A tensor argument. `dtype` is torch's name (`float32`); bool crosses the boundary as one byte."""

    dtype: str
    shape: tuple[int | None, ...]
    """None for a symbolic size."""
    strides: tuple[int, ...] | None = None
    """In elements; None for contiguous."""


@dataclass(frozen=True, slots=True)
class ScalarSpec:
    """A Python number argument; `dtype` is `int64` or `float64`."""

    dtype: str


Spec: TypeAlias = TensorSpec | ScalarSpec


@dataclass(frozen=True, slots=True)
class Signature:
    inputs: tuple[Spec, ...]
    outputs: tuple[TensorSpec, ...]


@dataclass(frozen=True, slots=True)
class Artifact:
    """One region as native code."""

    code: bytes
    """A relocatable ELF object for x86-64."""
    entry: str
    """The symbol to call."""
    stages: tuple[tuple[str, str], ...] = ()
    """`(stage, IR text)` pairs where dumps were asked for."""
