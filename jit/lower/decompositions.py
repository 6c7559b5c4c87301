"""Leaves the decompositions that turn an ATen graph into operators MLIR knows, for AOTAutograd to apply."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import Any

import torch
from torch import Tensor
from torch._decomp import _core_aten_decompositions_post_autograd, get_decompositions
from torch._ops import OperatorBase, OpOverload
from torch._refs import rsub
from torch.utils._pytree import tree_map

from . import (
    decompositions_of_bessel_functions,
    decompositions_of_distances,
    decompositions_of_error_functions,
    decompositions_of_running_values,
    decompositions_of_symbolic_windows,
    special_functions,
    windows,
)

aten = torch.ops.aten
HALF = (torch.bfloat16, torch.float16)
NARROW = (torch.uint8, torch.int8, torch.int16)
WIDER = {torch.bfloat16: torch.float32, torch.float16: torch.float32, torch.float32: torch.float64}
FACTORS = 32
"""Multiplied one by one."""
BITS = {torch.float32: torch.int32, torch.float64: torch.int64}
"""Integers in which the bits of a float are read."""
SCALED = 64
"""A power of two that makes every float a normal number."""

# Beyond the core set: normalisations and softmax, forward and backward, as pointwise operations and reductions.
MORE = (
    aten._batch_norm_with_update_functional,
    aten._log_softmax,
    aten._native_batch_norm_legit,
    aten._native_batch_norm_legit.no_stats,
    aten._native_batch_norm_legit_functional,
    aten._native_batch_norm_legit_no_training,
    aten._softmax,
    aten.as_strided_copy,
    aten.dist,
    aten.gelu,
    aten.logsumexp,
    aten.native_group_norm,
    aten.native_layer_norm,
    aten.permute_copy,
    aten.squeeze.dims,
    aten.unbind_copy.int,
)

# A kernel of ATen does better, or its parts would read through indices, which ATen checks and native code does not.
WHOLE = (
    aten._scaled_dot_product_flash_attention_for_cpu,
    aten.baddbmm,
    aten.embedding_dense_backward,
    aten.scaled_dot_product_attention,
)

ACCUMULATE = (
    aten.avg_pool3d.default,
    aten.linalg_vector_norm.default,
    aten.mean.default,
    aten.mean.dim,
    aten.prod.default,
    aten.sum.dim_IntList,
)


PARTS = (
    special_functions,
    decompositions_of_bessel_functions,
    decompositions_of_distances,
    decompositions_of_error_functions,
    decompositions_of_running_values,
    windows,
    decompositions_of_symbolic_windows,
)
EXACT_NUMBERS = (aten.div.Scalar, aten.div.Tensor, aten.mul.Scalar, aten.mul.Tensor)


@cache
def decompositions() -> dict[OperatorBase, Callable[..., object]]:
    """Random operators stay whole: their parts would draw other numbers from torch's generator than eager does."""
    table: dict[OperatorBase, Callable[..., object]] = {
        **_core_aten_decompositions_post_autograd(),  # the public one takes half a second to list composite operators
        **get_decompositions(MORE),
    }
    kept = {operator: rule for operator, rule in table.items() if not _stays_whole(operator)}
    return kept | {operator: rule for part in PARTS for operator, rule in part.rules().items()} | _rules()


def _rules() -> dict[OperatorBase, Callable[..., object]]:
    return {
        aten._to_copy.default: _converted,
        aten._trilinear.default: _trilinear,
        aten.amax.default: _of_one_number,
        aten.amin.default: _of_one_number,
        aten.angle.default: _angle,
        aten.any.dim: _any,
        aten.any.dims: _any,
        aten.argmax.default: partial(_place, aten.max.dim),
        aten.argmin.default: partial(_place, aten.min.dim),
        aten.avg_pool2d.default: _average,
        aten.clamp.default: _clamp,
        aten.clamp.Tensor: _clamp_by_tensors,
        aten.constant_pad_nd.default: _padded,
        aten.copysign.Tensor: _copysign,
        aten.cumprod.default: partial(_running, aten.cumprod.default),
        aten.cumsum.default: partial(_running, aten.cumsum.default),
        aten.diagonal_scatter.default: _with_diagonal,
        aten.div.Tensor_mode: _rounded_division,
        aten.eq.Tensor: _equal,
        aten.fmax.default: _fmax,
        aten.fmin.default: _fmin,
        aten.fmod.Tensor: _fmod,
        aten.frexp.Tensor: _frexp,
        aten.hardtanh.default: _hardtanh,
        aten.hypot.default: _hypot,
        aten.max.dim: _extreme_of_one_number,
        aten.maximum.default: _maximum,
        aten.min.dim: _extreme_of_one_number,
        aten.minimum.default: _minimum,
        aten.nextafter.default: _nextafter,
        aten.narrow_copy.default: lambda *arguments: torch.narrow(*arguments).clone(),
        aten.pow.Tensor_Scalar: _power,
        aten.prod.dim_int: _product,
        aten.rsub.Scalar: _difference_from_a_number,
        aten.signbit.default: _signbit,
        aten.var.correction: _variance,
        aten.var_mean.correction: _variance_and_mean,
        aten.view_copy.default: lambda value, shape: value.view(shape).clone(),
        aten.linalg_cross.default: _cross,
        **{operator: partial(_in_single_precision, operator) for operator in ACCUMULATE},
        **{operator: partial(_with_number, operator) for operator in EXACT_NUMBERS},
    }


def _stays_whole(operator: OperatorBase) -> bool:
    if not isinstance(operator, OpOverload):
        return False
    return operator.overloadpacket in WHOLE or torch.Tag.nondeterministic_seeded in operator.tags


# torch-mlir's own lowering of what follows treats NaN in another way than ATen.


def _are_floats(*values: object) -> bool:
    return all(isinstance(value, Tensor) and value.is_floating_point() for value in values)


def _hardtanh(value: Tensor, low: float = -1.0, high: float = 1.0) -> Tensor:
    if not value.is_floating_point():  # whose type stays, unlike that of a clamp by floats
        low, high = int(low), int(high)
    return torch.clamp(value, low, high)


def _clamp(value: Tensor, low: float | None = None, high: float | None = None) -> object:
    if not value.is_floating_point() or low != low or high != high:  # a bound that is NaN makes everything NaN
        return NotImplemented
    if low is not None:
        value = torch.where(value < low, low, value)
    return value if high is None else torch.where(value > high, high, value)


def _clamp_by_tensors(value: Tensor, low: Tensor | None = None, high: Tensor | None = None) -> Tensor:
    if low is not None:
        value = torch.maximum(value, low)
    return value if high is None else torch.minimum(value, high)


def _maximum(left: Tensor, right: Tensor) -> object:
    if not _are_floats(left, right):
        return NotImplemented
    return torch.where((left > right) | left.isnan(), left, right)


def _minimum(left: Tensor, right: Tensor) -> object:
    if not _are_floats(left, right):
        return NotImplemented
    return torch.where((left < right) | left.isnan(), left, right)


def _equal(left: Tensor, right: Tensor) -> object:
    if not _are_floats(left, right):
        return NotImplemented
    return torch.ne(left, right).logical_not()


def _power(base: Tensor, exponent: float) -> object:
    """ATen's own shortcuts, which for an infinite base differ from a general power."""
    if not base.is_floating_point() or not isinstance(exponent, int | float):
        return NotImplemented
    match exponent:
        case 0.5:
            return base.sqrt()
        case -0.5:
            return base.rsqrt()
        case -1:
            return base.reciprocal()
        case 2:
            return base * base
        case 3:
            return base * base * base
        case _:
            return NotImplemented


# What torch-mlir has no lowering for, or only an inexact one.


def _converted(value: Tensor, **options: Any) -> object:
    """ATen goes through a wide integer; what a narrow one can't hold is anything in a direct conversion."""
    if not value.is_floating_point() or options.get("dtype") not in NARROW:
        return NotImplemented
    return aten._to_copy.default(value.to(torch.int64), **options)


def _of_one_number(value: Tensor, *arguments: object) -> object:
    """A reduction of what has no dimensions."""
    return NotImplemented if value.ndim else value.clone()


def _extreme_of_one_number(value: Tensor, *arguments: object) -> object:
    return NotImplemented if value.ndim else (value.clone(), torch.zeros_like(value, dtype=torch.int64))


def _padded(value: Tensor, pad: Sequence[int], fill: complex = 0) -> object:
    """Less than nothing is cut off first."""
    if not any(type(size) is int and size < 0 for size in pad):
        return NotImplemented
    for dim, sides in enumerate(zip(pad[::2], pad[1::2], strict=True), start=1):
        low, high = (max(-size, 0) for size in sides)
        value = value.narrow(-dim, low, value.shape[-dim] - low - high)
    return aten.constant_pad_nd.default(value, [max(size, 0) for size in pad], fill)


def _average(value: Tensor, kernel_size: Sequence[int], stride: Sequence[int] = (), *options: Any) -> object:
    if not stride:
        return aten.avg_pool2d.default(value, kernel_size, kernel_size, *options)
    return _in_single_precision(aten.avg_pool2d.default, value, kernel_size, stride, *options)


def _difference_from_a_number(value: Tensor, number: complex, alpha: complex = 1) -> object:
    """torch-mlir takes a number in the place of a tensor for a float32."""
    if value.dtype != torch.float64:
        return rsub(value, number, alpha=alpha)
    return torch.add(-(value * alpha), number)


def _angle(value: Tensor) -> object:
    if not _are_floats(value):
        return NotImplemented
    return torch.where(value.isnan(), value, (value < 0).to(value.dtype) * math.pi)


def _fmax(left: Tensor, right: Tensor) -> object:
    if not _are_floats(left, right):
        return NotImplemented
    return torch.where((left > right) | right.isnan(), left, right)


def _fmin(left: Tensor, right: Tensor) -> object:
    if not _are_floats(left, right):
        return NotImplemented
    return torch.where((left < right) | right.isnan(), left, right)


def _fmod(left: Tensor, right: Tensor) -> object:
    if not _are_floats(left, right):
        return NotImplemented
    size = torch.remainder(left.abs(), right.abs())
    return torch.where(size == 0, left * 0, torch.where(left < 0, -size, size))


def _hypot(left: Tensor, right: Tensor) -> object:
    """Through the ratio, because the squares overflow; infinity wins over NaN."""
    if not _are_floats(left, right):
        return NotImplemented
    left, right = left.abs(), right.abs()
    long, short = torch.maximum(left, right), torch.minimum(left, right)
    ratio = short / long
    length = torch.where(long == 0, long, long * (1 + ratio * ratio).sqrt())
    return torch.where(left.isinf() | right.isinf(), math.inf, length)


def _rounded_division(left: Tensor, right: Tensor, *, rounding_mode: str | None) -> object:
    if not _are_floats(left, right):
        return NotImplemented
    if left.dtype in HALF and rounding_mode == "floor":
        return _floored_division(left, right) if left.dtype == right.dtype else NotImplemented
    quotient = left / right
    if rounding_mode != "floor":
        return quotient if rounding_mode is None else quotient.trunc()
    whole = ((left - torch.remainder(left, right)) / right).round()
    below = torch.where((left != 0) & ((left < 0) != (right < 0)), -1.0, 0.0).to(left.dtype)
    whole = torch.where(right.isinf() & left.isfinite(), below, whole)
    return torch.where(right == 0, quotient, torch.where(whole == 0, quotient * 0, whole))


def _floored_division(left: Tensor, right: Tensor) -> Tensor:
    """In half precision, whose rounding along the way is seen in ATen's results."""
    rest = torch.fmod(left.float(), right.float()).to(left.dtype)
    whole = (left - rest) / right
    whole = torch.where((rest != 0) & ((right < 0) != (rest < 0)), whole - 1, whole)
    below = whole.floor()
    below = torch.where(whole - below > 0.5, below + 1, below)
    quotient = left / right
    return torch.where(right == 0, quotient, torch.where(whole == 0, quotient * 0, below))


def _trilinear(first: Tensor, second: Tensor, third: Tensor, *options: object) -> object:
    """ATen multiplies matrices, which sums up in float32."""
    if first.dtype not in HALF:
        return NotImplemented
    return aten._trilinear.default(first.float(), second.float(), third.float(), *options).to(first.dtype)


def _signbit(value: Tensor) -> object:
    if not _are_floats(value):
        return NotImplemented
    wide = value.float() if value.dtype in HALF else value
    return wide.view(BITS[wide.dtype]) < 0


def _copysign(size: Tensor, sign: Tensor) -> object:
    if not _are_floats(size, sign):
        return NotImplemented
    return torch.where(torch.signbit(sign), -size.abs(), size.abs())


def _nextafter(value: Tensor, towards: Tensor) -> object:
    """A float's neighbours are those of its bits, read as an integer."""
    if not _are_floats(value, towards) or value.dtype != towards.dtype or value.dtype not in BITS:
        return NotImplemented
    value, towards = torch.broadcast_tensors(value, towards)  # type: ignore[no-untyped-call]
    outwards = (value > 0) == (towards > value)
    bits = value.view(BITS[value.dtype])
    next_ = (bits + torch.where(outwards, 1, -1).to(bits.dtype)).view(value.dtype)
    least = torch.finfo(value.dtype).smallest_normal * torch.finfo(value.dtype).eps
    next_ = torch.where(value == 0, torch.where(towards > 0, 1.0, -1.0).to(value.dtype) * least, next_)
    next_ = torch.where(value == towards, towards, next_)
    return torch.where(value.isnan() | towards.isnan(), value + towards, next_)


def _frexp(value: Tensor) -> tuple[Tensor, Tensor]:
    """From the bits, of a normal number: what is smaller is multiplied first."""
    wide = value.float() if value.dtype in HALF else value
    info, whole = torch.finfo(wide.dtype), BITS[wide.dtype]
    tiny = wide.abs() < info.smallest_normal
    bits = torch.where(tiny, wide * 2.0**SCALED, wide).view(whole).long()
    least = round(1 / info.eps)  # the exponent's lowest bit
    exponents = torch.iinfo(whole).max - (least - 1)
    bias = exponents // least // 2 - 1
    exponent = (bits & torch.full((), exponents)).double() / least - torch.where(tiny, bias + float(SCALED), bias)
    mantissa = ((bits & torch.full((), ~exponents)) | torch.full((), bias * least)).to(whole).view(wide.dtype)
    kept = (wide == 0) | ~wide.isfinite()
    return torch.where(kept, wide, mantissa).to(value.dtype), torch.where(kept, 0.0, exponent).to(torch.int32)


def _cross(left: Tensor, right: Tensor, *, dim: int = -1) -> object:
    left, right = torch.broadcast_tensors(left, right)  # type: ignore[no-untyped-call]

    def from_(value: Tensor, first: int) -> Tensor:
        return torch.cat([value.narrow(dim, first, 3 - first), value.narrow(dim, 0, first)], dim)

    return from_(left, 1) * from_(right, 2) - from_(left, 2) * from_(right, 1)


def _any(value: Tensor, *options: Any) -> object:
    return torch.any(value != 0, *options) if value.is_floating_point() else NotImplemented


def _place(extreme: OpOverload, value: Tensor, dim: int | None = None, keepdim: bool = False) -> object:
    """Where the extreme is."""
    if dim is not None:
        return extreme(value, dim, keepdim)[1]
    place = extreme(value.reshape(-1), 0)[1]
    return place.reshape([1] * value.ndim) if keepdim else place


def _product(value: Tensor, dim: int, keepdim: bool = False, *, dtype: torch.dtype | None = None) -> object:
    """torch-mlir multiplies no dimension but all."""
    size = value.shape[dim] if value.ndim else 0
    if not value.is_floating_point() or type(size) is not int or not 0 < size <= FACTORS:
        return NotImplemented
    rounded = dtype or value.dtype
    wide = value.to(torch.float32 if rounded in HALF else rounded)
    result = math.prod((wide.select(dim, i) for i in range(1, size)), start=wide.select(dim, 0)).to(rounded)
    return result.unsqueeze(dim) if keepdim else result


def _running(operator: OpOverload, value: Tensor, dim: int, *, dtype: torch.dtype | None = None) -> object:
    """A sum or product up to each value, in the wider type in which ATen adds them up."""
    if value.ndim == 0 and not value.is_complex():
        return value.to(dtype or (value.dtype if value.is_floating_point() else torch.int64), copy=True)
    if dtype is not None:
        return operator(value.to(dtype), dim).to(dtype)
    if value.dtype not in WIDER:
        return NotImplemented
    return operator(value.to(WIDER[value.dtype]), dim).to(value.dtype)


def _with_diagonal(value: Tensor, diagonal: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1) -> object:
    """The diagonal's n-th value belongs to the n-th row, or column if it begins below the first."""
    value = value.movedim((dim1, dim2), (-2, -1))
    rows, columns = value.shape[-2:]
    row, column = torch.arange(rows, device=value.device), torch.arange(columns, device=value.device)
    on_it = row.unsqueeze(-1) + offset == column
    along = (rows, -1) if offset >= 0 else (columns, -2)
    filled = torch.constant_pad_nd(diagonal, (0, along[0] - diagonal.shape[-1])).unsqueeze(along[1])
    return torch.where(on_it, filled, value).movedim((-2, -1), (dim1, dim2))


def _variance(value: Tensor, dim: Sequence[int] | None = None, **options: Any) -> object:
    both = _variance_and_mean(value, dim, **options)
    return both[0] if isinstance(both, tuple) else both


def _variance_and_mean(
    value: Tensor, dim: Sequence[int] | None = None, *, correction: float | None = None, keepdim: bool = False
) -> Any:
    """In two passes over the values, in their own precision; torch-mlir would take all of them to float64."""
    dims = list(dim) if dim else list(range(value.ndim))
    count = math.prod(value.shape[axis] for axis in dims)
    if not isinstance(count, int) or value.is_complex():
        return NotImplemented
    wide = value.float() if value.dtype in HALF else value
    mean = torch.sum(wide, dims, keepdim=True) / count
    variance = torch.sum((wide - mean).square(), dims, keepdim=keepdim) / max(count - _or_one(correction), 0)
    return variance.to(value.dtype), (mean if keepdim else mean.squeeze(dims)).to(value.dtype)


def _or_one(correction: float | None) -> float:
    return 1 if correction is None else correction


def _in_single_precision(
    operator: OpOverload, value: Tensor, *arguments: object, dtype: torch.dtype | None = None, **options: object
) -> object:
    """ATen sums half precision up in float32 and rounds once; summed in itself, bfloat16 gets no further than 256."""
    if (rounded := dtype or value.dtype) not in HALF:
        return NotImplemented
    results = operator(value.to(rounded).float(), *arguments, **options)
    return tree_map(lambda result: result.to(rounded), results)


def _with_number(operator: OpOverload, value: Tensor, number: object, *arguments: object, **options: object) -> object:
    """torch-mlir rounds the number to half precision, which ATen does where it adds and not where it multiplies."""
    if value.dtype not in HALF or not isinstance(number, float) or math.frexp(number)[0] * 2**8 % 1 == 0:
        return NotImplemented
    return operator(value.float(), number, *arguments, **options).to(value.dtype)
