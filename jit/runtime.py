"""Calls a region's native code on tensors: arguments and output sizes go in, tensors allocated by torch come out.

Inputs are passed by their own memory; only those whose strides are not the ones compiled for are copied. What a call
takes is written as Python for each signature, so that nothing about it is looked up at run time.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate
from typing import Any

import torch
from torch._C._dynamo import guards

from .loader import Code, LoadError
from .lower.signature import Artifact, ScalarSpec, Signature, Spec, TensorSpec

MOST_ARGUMENTS = 1000
"""ctypes refuses to pass more than 1024."""
SCALARS = {"int64": ctypes.c_int64, "float64": ctypes.c_double}
PLAIN = (torch.Tensor, torch.nn.Parameter)
INT64 = range(-(1 << 63), 1 << 63)


class Kernel:
    """A region's native function. Safe to call from several threads at once: a call keeps its state to itself."""

    accepts: Callable[[Sequence[Any]], bool]
    """Whether the code was compiled for such inputs. Anything else in its hands would be read as what it is not."""
    call: Callable[[Sequence[Any], Sequence[Sequence[int]]], tuple[torch.Tensor, ...]]
    """Takes acceptable inputs and the shapes of the outputs."""
    enter: Callable[..., tuple[torch.Tensor, ...]]
    """Takes inputs that lie as the code was compiled for, and the shapes unless they are fixed."""

    def __init__(self, artifact: Artifact, signature: Signature) -> None:
        specs = [*signature.inputs, *signature.outputs]
        types = [kind for spec in specs for kind in _types(spec)]
        if len(types) > MOST_ARGUMENTS:
            raise LoadError(f"of {len(types)} inputs, outputs and sizes at most {MOST_ARGUMENTS} can be passed")
        code = Code(artifact.code)
        names: dict[str, Any] = {
            "code": code,  # for as long as the functions live
            "native": ctypes.CFUNCTYPE(None, *types)(code.address(artifact.entry)),
            "laid_out": _laid_out,
            "threads": torch.get_num_threads,
            "contiguous": contiguous,
            "empty": guards._empty_strided_cpu,  # type: ignore[attr-defined]  # much quicker than torch.empty_strided
            "strided": torch.strided,
            "PLAIN": PLAIN,
            "INT64": INT64,
            **{spec.dtype: getattr(torch, spec.dtype) for spec in specs},
        }
        parallel = b"GOMP_parallel" in artifact.code
        exec("\n".join([*_accepts(signature), *_call(signature), *_enter(signature, parallel)]), names)
        self.accepts, self.call, self.enter = names["accepts"], names["call"], names["enter"]
        self._signature = signature

    def guard(self, inputs: Sequence[Any]) -> Callable[..., bool] | None:
        """A quick test for inputs like these acceptable ones, which `enter` takes; None where it would not."""
        if not inputs or not self._signature.is_static or not all(map(_lies, inputs, self._signature.inputs)):
            return None
        sizes, strides = [list(tensor.shape) for tensor in inputs], [list(tensor.stride()) for tensor in inputs]
        # As Dynamo itself calls it, not as its stub has it.
        guard = guards.TensorGuards(*inputs, dynamic_dims_sizes=sizes, dynamic_dims_strides=strides)  # type: ignore[arg-type]
        return guard.check


def _types(spec: Spec) -> Iterator[Any]:
    if isinstance(spec, ScalarSpec):
        yield SCALARS[spec.dtype]
    else:
        yield ctypes.c_void_p
        yield from (ctypes.c_int64 for size in spec.shape if size is None)


# --- The functions of a signature, as text.


def _accepts(signature: Signature) -> Iterator[str]:
    yield "def accepts(inputs):"
    yield f" if len(inputs) != {len(signature.inputs)}: return False"
    yield f" {_unpacked(signature)}"
    conditions = [condition for i, spec in enumerate(signature.inputs) for condition in _conditions(f"a{i}", spec)]
    yield f" return {' and '.join(conditions) or True}"


def _unpacked(signature: Signature) -> str:
    return f"{_names(signature)}= inputs" if signature.inputs else "pass"


def _names(signature: Signature) -> str:
    return "".join(f"a{i}, " for i in range(len(signature.inputs)))


def _conditions(name: str, spec: Spec) -> Iterator[str]:
    match spec:
        case ScalarSpec(dtype="int64"):
            yield f"isinstance({name}, int) and {name} in INT64"
        case ScalarSpec():
            yield f"isinstance({name}, float)"
        case TensorSpec(dtype, shape):
            yield f"type({name}) in PLAIN and {name}.dtype is {dtype} and {name}.is_cpu and {name}.layout is strided"
            if None not in shape:
                yield f"{name}.shape == {shape}"
            else:
                yield f"{name}.dim() == {len(shape)}"
                yield from (f"{name}.size({dim}) == {size}" for dim, size in enumerate(shape) if size is not None)


def _call(signature: Signature) -> Iterator[str]:
    yield "def call(inputs, shapes):"
    yield f" {_unpacked(signature)}"
    for i, spec in enumerate(signature.inputs):
        if isinstance(spec, TensorSpec):
            fits = f"a{i}.is_contiguous()" if spec.strides is None else f"a{i}.stride() == {spec.strides}"
            yield f" if a{i}.is_neg() or not {fits}: a{i} = laid_out(a{i}, {spec.strides})"
    yield f" return enter({_names(signature)}shapes)"


def _enter(signature: Signature, parallel: bool) -> Iterator[str]:
    yield f"def enter({_names(signature)}shapes=()):"
    arguments = [argument for i, spec in enumerate(signature.inputs) for argument in _arguments(f"a{i}", spec)]
    for i, spec in enumerate(signature.outputs):
        if None in spec.shape:
            yield f" shape = tuple(shapes[{i}])"
            shape, strides = "shape", "contiguous(shape)"
        else:
            known = tuple(size for size in spec.shape if size is not None)
            shape, strides = str(known), str(spec.strides or contiguous(known))
        yield f" o{i} = empty({shape}, {strides}, {spec.dtype})"
        arguments += _arguments(f"o{i}", spec)
    if parallel:  # a thread of Python's learns how many torch allows when it first asks
        yield " threads()"
    yield f" native({', '.join(arguments)})"
    yield f" return ({''.join(f'o{i}, ' for i in range(len(signature.outputs)))})"


def _arguments(name: str, spec: Spec) -> Iterator[str]:
    if isinstance(spec, ScalarSpec):
        yield name
    else:
        yield f"{name}.data_ptr()"
        yield from (f"{name}.size({dim})" for dim, size in enumerate(spec.shape) if size is None)


def contiguous(shape: Sequence[int]) -> tuple[int, ...]:
    """The strides of a contiguous tensor."""
    return tuple(accumulate((max(size, 1) for size in shape[:0:-1]), int.__mul__, initial=1))[::-1] if shape else ()


def _lies(value: Any, spec: Spec) -> bool:
    """Whether it is a tensor that native code can read where it is."""
    match spec:
        case TensorSpec(strides=strides):
            in_place = value.is_contiguous() if strides is None else value.stride() == strides
            return bool(in_place and not value.is_neg())
        case ScalarSpec():
            return False


def _laid_out(tensor: torch.Tensor, strides: tuple[int, ...] | None) -> torch.Tensor:
    """The tensor, or a copy of it with the strides that were compiled for."""
    tensor = tensor.detach().resolve_neg()
    if strides is None:
        return tensor.contiguous()
    want = zip(tensor.shape, tensor.stride(), strides, strict=True)
    if all(size < 2 or have == wanted for size, have, wanted in want):
        return tensor
    return torch.empty_strided(tensor.shape, strides, dtype=tensor.dtype).copy_(tensor)
