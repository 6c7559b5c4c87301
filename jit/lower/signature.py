"""What a compiled region takes and gives: the contract between lowering, the worker and the runtime. Imports nothing.

The native function takes `inputs`, then `outputs`, in order: a scalar by value, a tensor as a pointer to its first
element and after it, each an int64, its sizes that are symbolic. Outputs are written to memory that the caller has
allocated.
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

    @property
    def is_static(self) -> bool:
        """Whether the sizes of all inputs are fixed."""
        return all(None not in spec.shape for spec in self.inputs if isinstance(spec, TensorSpec))


@dataclass(frozen=True, slots=True)
class Artifact:
    """One region as native code."""

    code: bytes
    """A relocatable ELF object for x86-64."""
    entry: str
    """The symbol to call."""
    stages: tuple[tuple[str, str], ...] = ()
    """`(stage, IR text)` pairs where dumps were asked for."""


@dataclass(frozen=True, slots=True)
class Failed:
    """There is no native code for a region; the text says why."""

    reason: str
