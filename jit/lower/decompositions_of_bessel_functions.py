"""Decompositions of Bessel functions of order zero and one: series near zero, others far from it.

All are computed in double precision but the phase of what oscillates, whose rounding is seen in ATen's results.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import partial
from itertools import accumulate

import torch
from torch import Tensor
from torch._ops import OperatorBase

from .special_functions import GAUSSIAN, NEAR, STEP, in_double_precision, polynomial

aten = torch.ops.aten
TERMS = 32
"""Of a power series up to `NEAR`."""
DECAYING_FROM = 2.0
"""From here on the trapezoidal rule has all digits that a float has, of what falls exponentially."""
EULER = 0.5772156649015329


def rules() -> dict[OperatorBase, Callable[..., object]]:
    return {
        aten.special_bessel_j0.default: partial(in_double_precision, partial(_first_kind, 0)),
        aten.special_bessel_j1.default: partial(in_double_precision, partial(_first_kind, 1)),
        aten.special_bessel_y0.default: partial(in_double_precision, partial(_second_kind, 0)),
        aten.special_bessel_y1.default: partial(in_double_precision, partial(_second_kind, 1)),
        aten.special_modified_bessel_k0.default: partial(in_double_precision, partial(_modified, 0, False)),
        aten.special_modified_bessel_k1.default: partial(in_double_precision, partial(_modified, 1, False)),
        aten.special_scaled_modified_bessel_k0.default: partial(in_double_precision, partial(_modified, 0, True)),
        aten.special_scaled_modified_bessel_k1.default: partial(in_double_precision, partial(_modified, 1, True)),
    }


# --- Series in powers of `x * x / 4`, of alternating sign or not.


def _series(order: int, sign: int, x: Tensor) -> Tensor:
    """J, or I if the sign is positive."""
    terms = [sign**k / (math.factorial(k) * math.factorial(k + order)) for k in range(TERMS)]
    return polynomial(terms, x * x / 4) * (x / 2) ** order


def _logarithmic_series(order: int, sign: int, x: Tensor) -> Tensor:
    """`pi Y`, or `2 K` if the sign is positive and the order odd, or `-2 K` if it is even; of a positive number."""
    digamma = list(accumulate((1 / k for k in range(1, TERMS + order)), initial=-EULER))
    terms = [
        sign**k * (digamma[k] + digamma[k + order]) / (math.factorial(k) * math.factorial(k + order))
        for k in range(TERMS)
    ]
    rest = polynomial(terms, x * x / 4) * (x / 2) ** order
    result = 2 * (x / 2).log() * _series(order, sign, x) - rest
    return result + sign * 2 / x if order else result


# --- Ordinary Bessel functions.


def _first_kind(order: int, value: Tensor) -> Tensor:
    size = value.abs()
    even, odd, sine, cosine = _wave(order, size)
    result = torch.where(size <= NEAR, _series(order, -1, size), even * cosine - odd * sine)
    return torch.where(value < 0, -result, torch.where(value == 0, value, result)) if order else result


def _second_kind(order: int, value: Tensor) -> Tensor:
    even, odd, sine, cosine = _wave(order, value)
    near = _logarithmic_series(order, -1, value) / math.pi
    result = torch.where(value <= NEAR, near, even * sine + odd * cosine)
    return torch.where(value == 0, -math.inf, result)


def _wave(order: int, x: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """What an asymptotic series multiplies a sine and a cosine with, and these."""
    phase = (x.float() - (2 * order + 1) * math.pi / 4).double()
    factors = accumulate(range(1, 14), lambda term, k: term * (4 * order - (2 * k - 1) ** 2) / (8 * k), initial=1.0)
    even, odd = _alternating(factors, x)
    height = (2 / math.pi / x).sqrt()
    return even * height, odd * height, phase.sin(), phase.cos()


def _alternating(factors: Iterator[float], x: Tensor) -> tuple[Tensor, Tensor]:
    """The terms of even and of odd powers of `1 / x`, each of alternating sign."""
    signed = [(-1) ** (k // 2) * factor for k, factor in enumerate(factors)]
    square = 1 / (x * x)
    return polynomial(signed[::2], square), polynomial(signed[1::2], square) / x


# --- Modified Bessel functions of the second kind.


def _modified(order: int, scaled: bool, value: Tensor) -> Tensor:
    """Beyond the series `exp(x) K(x)` is the integral of `exp(-s * s) / sqrt(2 * x + s * s)`."""
    near = _logarithmic_series(order, 1, value) * (0.5 if order else -0.5)
    terms = [((1 + s * s / value) ** order, 2 * weight / (2 * value + s * s).sqrt()) for s, weight in GAUSSIAN]
    far = STEP * sum((factor * term for factor, term in terms), start=1 / (2 * value).sqrt())
    near, far = (near * value.exp(), far) if scaled else (near, far * (-value).exp())
    return torch.where(value == 0, math.inf, torch.where(value <= DECAYING_FROM, near, far))
