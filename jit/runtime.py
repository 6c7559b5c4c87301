"""Calls a region's native code on tensors: arguments and output sizes go in, tensors allocated by torch come out.

Inputs are passed by their own memory; only those whose strides are not the ones compiled for are copied.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from itertools import accumulate
from typing import Any

import torch

from .loader import Code, LoadError
from .lower.signature import Artifact, ScalarSpec, Signature, TensorSpec

MOST_ARGUMENTS = 1000
"""ctypes refuses to pass more than 1024."""
SCALARS = {"int64": ctypes.c_int64, "float64": ctypes.c_double}
PLAIN = (torch.Tensor, torch.nn.Parameter)


class Kernel:
    """A region's native function. Safe to call from several threads at once: a call keeps its state to itself."""

    def __init__(self, artifact: Artifact, signature: Signature) -> None:
        arguments = [*signature.inputs, *signature.outputs]
        if len(arguments) > MOST_ARGUMENTS:
            raise LoadError(f"of {len(arguments)} inputs and outputs at most {MOST_ARGUMENTS} can be passed")
        self._signature = signature
        self._code = Code(artifact.code)
        types: list[Any] = [
            SCALARS[spec.dtype] if isinstance(spec, ScalarSpec) else ctypes.c_void_p for spec in arguments
        ]
        self._function = ctypes.CFUNCTYPE(None, *types)(self._code.address(artifact.entry))
        self._dtypes = [getattr(torch, spec.dtype) for spec in arguments]
        # Where each argument's descriptor begins, in words; the last entry is the size of all.
        words = (3 + 2 * len(spec.shape) if isinstance(spec, TensorSpec) else 0 for spec in arguments)
        self._offsets = list(accumulate(words, initial=0))

    def accepts(self, inputs: Sequence[Any]) -> bool:
        """Whether the code was compiled for such inputs. Anything else in its hands would be read as what it is not."""
        specs = self._signature.inputs
        return len(inputs) == len(specs) and all(map(_fits, specs, inputs, self._dtypes))

    def __call__(self, inputs: Sequence[Any], shapes: Sequence[Sequence[int]]) -> list[torch.Tensor]:
        """`shapes` are those of the outputs; `inputs` have to be acceptable."""
        specs = self._signature.outputs
        outputs = [
            torch.empty_strided(shape, spec.strides or contiguous(shape), dtype=dtype)
            for spec, shape, dtype in zip(specs, shapes, self._dtypes[len(inputs) :], strict=True)
        ]
        words = (ctypes.c_int64 * self._offsets[-1])()
        base, arguments, kept = ctypes.addressof(words), list[Any](), list[torch.Tensor]()
        for spec, value, offset in zip(self._signature.inputs, inputs, self._offsets, strict=False):
            if isinstance(spec, ScalarSpec):
                arguments.append(value)
                continue
            tensor = _laid_out(value, spec.strides)
            kept.append(tensor)
            arguments.append(base + 8 * offset)
            _describe(words, offset, tensor, spec.strides)
        for spec, tensor, offset in zip(specs, outputs, self._offsets[len(inputs) :], strict=False):
            arguments.append(base + 8 * offset)
            _describe(words, offset, tensor, spec.strides)
        self._function(*arguments)
        return outputs


def contiguous(shape: Sequence[int]) -> tuple[int, ...]:
    """The strides of a contiguous tensor."""
    return tuple(accumulate((max(size, 1) for size in shape[:0:-1]), int.__mul__, initial=1))[::-1] if shape else ()


def _fits(spec: TensorSpec | ScalarSpec, value: Any, dtype: torch.dtype) -> bool:
    match spec:
        case ScalarSpec(dtype="int64"):
            return isinstance(value, int) and -(1 << 63) <= value < 1 << 63
        case ScalarSpec():
            return isinstance(value, float)
        case TensorSpec(shape=shape):
            return (
                type(value) in PLAIN
                and value.dtype == dtype
                and value.device.type == "cpu"
                and value.layout is torch.strided
                and value.dim() == len(shape)
                and all(want in (None, size) for want, size in zip(shape, value.shape, strict=True))
            )


def _laid_out(tensor: torch.Tensor, strides: tuple[int, ...] | None) -> torch.Tensor:
    """The tensor, or a copy of it with the strides that were compiled for."""
    tensor = tensor.detach().resolve_neg()
    if strides is None:
        return tensor.contiguous()
    want = zip(tensor.shape, tensor.stride(), strides, strict=True)
    if all(size < 2 or have == wanted for size, have, wanted in want):
        return tensor
    return torch.empty_strided(tensor.shape, strides, dtype=tensor.dtype).copy_(tensor)


def _describe(words: Any, offset: int, tensor: torch.Tensor, strides: tuple[int, ...] | None) -> None:
    """Write a memref descriptor: allocated and aligned pointer, offset, sizes, strides."""
    address, shape = tensor.data_ptr(), tensor.shape
    end = offset + 3 + 2 * len(shape)
    words[offset:end] = [address, address, 0, *shape, *(strides or contiguous(shape))]
