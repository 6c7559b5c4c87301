"""Decompositions of the error function's complement and of inverses: series near zero, an integral far from it.

All are computed in double precision, in which what is left out is below half a unit in the last place of a float.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor
from torch._ops import OperatorBase

from .special_functions import GAUSSIAN, STEP, in_double_precision, polynomial

aten = torch.ops.aten
NEAR = 2.0
"""Up to here a power series, from there on the trapezoidal rule, whose error falls as `exp(x * x - 4 * pi * x)`."""
SLOPE = 2 / math.sqrt(math.pi)
"""Of the error function at zero."""
SMALL = 0.1
"""Up to here the inverse begins with two terms of its own series."""


def rules() -> dict[OperatorBase, Callable[..., object]]:
    return {
        aten.erfc.default: partial(in_double_precision, _erfc),
        aten.erfinv.default: partial(in_double_precision, _erfinv),
        aten.special_erfcx.default: partial(in_double_precision, _erfcx),
        aten.special_ndtri.default: partial(in_double_precision, _ndtri),
    }


def _near(x: Tensor) -> Tensor:
    """The error function of a small number."""
    return SLOPE * x * polynomial([(-1) ** k / (math.factorial(k) * (2 * k + 1)) for k in range(28)], x * x)


def _far(x: Tensor) -> Tensor:
    """The complement times `exp(x * x)`: x times the integral of `exp(-s * s) / (x * x + s * s)`, over pi."""
    terms = (2 * weight / (x + s * s / x) for s, weight in GAUSSIAN)
    return STEP / math.pi * sum(terms, start=1 / x)


def _erfc(value: Tensor) -> Tensor:
    size = value.abs()
    far = _far(size) * (-size * size).exp()
    return torch.where(size < NEAR, 1 - _near(value), torch.where(value < 0, 2 - far, far))


def _erfcx(value: Tensor) -> Tensor:
    growth, far = (value * value).exp(), _far(value.abs())
    beyond = torch.where(value < 0, 2 * growth - far, far)
    return torch.where(value.abs() < NEAR, growth * (1 - _near(value)), beyond)


def _erfinv(value: Tensor) -> Tensor:
    size = value.abs()
    result = _inverse(size, 1 - size)
    result = torch.where(value < 0, -result, result)
    return torch.where(value == 0, value, result)


def _ndtri(value: Tensor) -> Tensor:
    tail = 2 * torch.where(value < 0.5, value, 1 - value)
    result = math.sqrt(2) * _inverse(1 - tail, tail)
    return torch.where(value < 0.5, -result, result)


def _inverse(size: Tensor, tail: Tensor) -> Tensor:
    """Where the error function is `size`, and its complement `tail`: a guess to three digits, and Halley's steps."""
    t = (-2 * (tail / 2).log()).sqrt()
    guess = t - polynomial([2.515517, 0.802853, 0.010328], t) / polynomial([1.0, 1.432788, 0.189269, 0.001308], t)
    x = torch.where(size < SMALL, size * (1 + math.pi / 12 * size * size) / SLOPE, guess / math.sqrt(2))
    for _ in range(2):
        fall = (-x * x).exp()
        excess = torch.where(x < NEAR, _near(x) - size, tail - _far(x) * fall)
        newton = excess / (SLOPE * fall)
        x = x - newton / (1 + x * newton)
    return torch.where(size == 0, 0.0, torch.where(tail == 0, math.inf, x))
