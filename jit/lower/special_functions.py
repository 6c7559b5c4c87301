"""Special functions as arithmetic: decompositions of what ATen has a scalar loop for and torch-mlir no lowering.

In double precision a few terms are exact to the last bit of a float.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial, reduce
from itertools import accumulate

import torch
from torch import Tensor
from torch._ops import OperatorBase

aten = torch.ops.aten
REAL = (torch.float32, torch.float64)
STEP = 0.5
GAUSSIAN = tuple((STEP * k, math.exp(-((STEP * k) ** 2))) for k in range(1, 12))
"""`exp(-s * s)` in steps: what the trapezoidal rule integrates with it has all digits that a float has."""


def rules() -> dict[OperatorBase, Callable[..., object]]:
    return {
        aten.special_chebyshev_polynomial_t.default: partial(_chebyshev, T, T, _same),
        aten.special_chebyshev_polynomial_u.default: partial(_chebyshev, U, U, _same),
        aten.special_chebyshev_polynomial_v.default: partial(_chebyshev, V, W, _same),
        aten.special_chebyshev_polynomial_w.default: partial(_chebyshev, W, V, _same),
        aten.special_shifted_chebyshev_polynomial_t.default: partial(_chebyshev, T, T, _shifted),
        aten.special_shifted_chebyshev_polynomial_u.default: partial(_chebyshev, U, U, _shifted),
        aten.special_shifted_chebyshev_polynomial_v.default: partial(_chebyshev, V, W, _shifted),
        aten.special_shifted_chebyshev_polynomial_w.default: partial(_chebyshev, W, V, _shifted),
        aten.digamma.default: partial(in_double_precision, _digamma),
        aten.i0.default: partial(in_double_precision, partial(_bessel, 0)),
        aten.lgamma.default: partial(in_double_precision, _lgamma),
        aten.polygamma.default: _polygamma,
        aten.special_i0e.default: partial(in_double_precision, partial(_scaled_bessel, 0)),
        aten.special_i1.default: partial(in_double_precision, partial(_bessel, 1)),
        aten.special_i1e.default: partial(in_double_precision, partial(_scaled_bessel, 1)),
        aten.special_modified_bessel_i0.default: partial(in_double_precision, partial(_bessel, 0)),
        aten.special_modified_bessel_i1.default: partial(in_double_precision, partial(_bessel, 1)),
        aten.special_spherical_bessel_j0.default: partial(in_double_precision, _spherical_bessel),
    }


def in_double_precision(rule: Callable[[Tensor], Tensor], value: Tensor) -> object:
    dtype = value.dtype if value.is_floating_point() else torch.get_default_dtype()
    if dtype == torch.float64 or value.is_complex():
        return NotImplemented
    return rule(value.float().double()).float().to(dtype)


def polynomial(coefficients: list[float], x: Tensor) -> Tensor:
    """Horner's scheme; the coefficient of the highest power is the last."""
    *lower, highest = coefficients
    return reduce(lambda sum_, coefficient: sum_ * x + coefficient, reversed(lower), torch.full_like(x, highest))


# --- Functions of gamma.

SHIFT = 8
"""From here on the asymptotic series below have all digits that a float has."""


def _lgamma(value: Tensor) -> Tensor:
    """Stirling's series, after a step up where the argument is small; by reflection where it is negative."""
    x = torch.where(value < 0.5, 1 - value, value)
    product = math.prod((x + i for i in range(1, SHIFT)), start=x)
    far = torch.where(x < SHIFT, x + SHIFT, x)
    inverse = 1 / (far * far)
    rest = 1 / 1260 - inverse * (1 / 1680 - inverse * (1 / 1188 - inverse * 691 / 360360))
    series = (1 / 12 - inverse * (1 / 360 - inverse * rest)) / far
    result = (far - 0.5) * far.log() - far + math.log(2 * math.pi) / 2 + series
    result = torch.where(x < SHIFT, result - product.log(), result)
    sine = (math.pi * (value - value.round())).sin().abs()
    result = torch.where(value < 0.5, math.log(math.pi) - sine.log() - result, result)
    result = torch.where((value == 1) | (value == 2), 0.0, result)
    return torch.where(value.isinf(), math.inf, result)


def _digamma(value: Tensor) -> Tensor:
    x = torch.where(value < 0.5, 1 - value, value)
    steps = sum(1 / (x + i) for i in range(SHIFT))
    far = torch.where(x < SHIFT, x + SHIFT, x)
    inverse = 1 / (far * far)
    series = inverse * (1 / 12 - inverse * (1 / 120 - inverse * (1 / 252 - inverse * (1 / 240 - inverse / 132))))
    result = far.log() - 0.5 / far - series
    result = torch.where(x < SHIFT, result - steps, result)
    turn = math.pi * (value - value.round())
    result = torch.where(value < 0.5, result - math.pi * turn.cos() / turn.sin(), result)
    result = torch.where((value < 0) & (value == value.round()), math.nan, result)
    return torch.where(value == 0, -1 / value, result)


ORDERS = 8
"""Derivatives of digamma for which the series below has enough terms."""
DIRECT = 12
"""Terms of zeta's sum before the rest is taken for an integral."""
BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6)


def _polygamma(order: int, value: Tensor) -> object:
    if value.dtype not in REAL or order > ORDERS:
        return NotImplemented
    match order:
        case 0:
            return torch.digamma(value)
        case 1:
            return _trigamma(value)
        case _:
            return _derivative_of_digamma(order, value.double()).to(value.dtype)


def _trigamma(value: Tensor) -> Tensor:
    """In the argument's own precision, whose rounding ATen's results at negative integers are."""
    reflected = value < 0.5
    sine = (value * math.pi).sin()
    x = torch.where(reflected, 1 - value, value)
    steps = sum(1 / ((x + i) * (x + i)) for i in range(6))
    far = x + 6
    inverse = 1 / (far * far)
    series = (1 + 1 / (2 * far) + inverse * (1 / 6 - inverse * (1 / 30 - inverse / 42))) / far
    result = steps + series
    return torch.where(reflected, math.pi**2 / (sine * sine) - result, result)


def _derivative_of_digamma(order: int, value: Tensor) -> Tensor:
    """Of order two or more; by reflection where the argument is negative."""
    sign = 1 if order % 2 else -1
    x = torch.where(value < 0, 1 - value, value)
    result = sign * math.factorial(order) * _zeta(order + 1, x)
    turn = math.pi * (value - value.round())
    reflected = -sign * result - math.pi * _derivative_of_cotangent(order, turn.cos() / turn.sin())
    result = torch.where(value < 0, reflected, result)
    result = torch.where((value <= 0) & (value == value.round()), sign * math.inf, result)
    return torch.where(value == math.inf, math.nan, result)


def _zeta(s: int, x: Tensor) -> Tensor:
    """The sum of `1 / (x + i) ** s` over all i, for a positive x, by Euler and Maclaurin."""
    far = x + DIRECT
    start = far**-s
    result = sum(((x + i) ** -s for i in range(1, DIRECT)), start=x**-s) + start * (far / (s - 1) + 0.5)
    factors = accumulate(range(1, 2 * len(BERNOULLI)), lambda product, i: product * (s + i - 1) / (i + 1), initial=1.0)
    *rising, _ = [factor for i, factor in enumerate(factors) if i % 2]
    series = polynomial([b * factor for b, factor in zip(BERNOULLI, rising, strict=False)], 1 / (far * far))
    return result + start / far * series


def _derivative_of_cotangent(order: int, cotangent: Tensor) -> Tensor:
    """Of `cot(pi x)` by x: a polynomial P of the cotangent, whose derivative is `-pi (1 + c * c) P'(c)`."""
    coefficients = [0.0, 1.0]
    for _ in range(order):
        slope = [i * coefficient for i, coefficient in enumerate(coefficients)][1:]
        padded = [0.0, 0.0, *slope]
        coefficients = [-math.pi * (a + b) for a, b in zip([*slope, 0.0, 0.0], padded, strict=True)]
    return polynomial(coefficients, cotangent)


# --- Bessel functions.

NEAR = 12
"""Up to here a power series, from there on an asymptotic one."""


def _bessel(order: int, value: Tensor) -> Tensor:
    """The exponential is a float32, so that infinite where ATen's is."""
    return (_scaled_bessel(order, value).float() * value.float().abs().exp()).double()


def _scaled_bessel(order: int, value: Tensor) -> Tensor:
    """The modified Bessel function of order zero or one, times `exp(-abs(x))`."""
    size = value.abs()
    powers = [1 / (math.factorial(k) * math.factorial(k + order)) for k in range(32)]
    near = polynomial(powers, size * size / 4) * (size / 2 if order else 1) * (-size).exp()
    inverse = accumulate(range(1, 14), lambda term, k: term * ((2 * k - 1) ** 2 - 4 * order) / (8 * k), initial=1.0)
    far = polynomial(list(inverse), 1 / size) / (2 * math.pi * size).sqrt()
    result = torch.where(size <= NEAR, near, far)
    return torch.where(value < 0, -result, result) if order else result


def _spherical_bessel(value: Tensor) -> Tensor:
    square = value * value
    near = polynomial([(-1) ** k / math.factorial(2 * k + 1) for k in range(7)], square)
    result = torch.where(value.abs() < 0.5, near, value.sin() / value)
    return torch.where(value.isinf(), 0.0, result)


# --- Chebyshev polynomials, by the angle whose cosine the argument is.


@dataclass(frozen=True, slots=True)
class Kind:
    """`f((n + shift) * angle) / f(shift * angle)`, where f is the sine or the cosine."""

    shift: float
    sine: bool

    def linear(self, x: Tensor) -> Tensor:
        """The polynomial of order one."""
        match self.shift:
            case 0.0:
                return x
            case 1.0:
                return x + x
            case _:
                return x + x + (1 if self.sine else -1)


RECURRENT = 7
"""Orders of which the recurrence is exact."""
LIMIT = 2.0**63
"""From here on the order, as ATen's integer, is negative."""
T, U, V, W = Kind(0.0, False), Kind(1.0, True), Kind(0.5, False), Kind(0.5, True)


def _same(value: Tensor) -> Tensor:
    return value


def _shifted(value: Tensor) -> Tensor:
    return value + value - 1


def _chebyshev(
    kind: Kind, mirrored: Kind, argument: Callable[[Tensor], Tensor], value: Tensor, order: Tensor
) -> object:
    """Of a negative argument it is plus or minus the mirrored kind. A fraction of the order is cut off."""
    if value.dtype not in REAL or order.dtype != value.dtype:
        return NotImplemented
    value, n = argument(value), order.double().trunc()
    x = value.double()
    size = x.abs()
    largest = torch.finfo(value.dtype).max
    positive = _of_positive(kind, size, n, largest)
    negative = positive if mirrored == kind else _of_positive(mirrored, size, n, largest)
    even = (n / 2).trunc() * 2 == n
    result = torch.where(x < 0, torch.where(even, negative, -negative), positive).to(value.dtype)
    lower, current = torch.ones_like(value), kind.linear(value)
    for i in range(RECURRENT):
        result = torch.where(n == i, lower, result)
        lower, current = current, (value + value) * current - lower
    return torch.where((n >= 0) & (n < LIMIT), result, 0.0).to(value.dtype)


def _of_positive(kind: Kind, x: Tensor, n: Tensor, largest: float) -> Tensor:
    within = _ratio(kind, x.acos(), n)
    at_one = 1 + n / kind.shift if kind.sine else torch.ones_like(n)
    excess = x - 1
    growth = (excess + excess.sqrt() * (excess + 2).sqrt()).log1p()
    beyond = _growing_ratio(kind, growth, n)
    # ATen's recurrence subtracts one infinity from the next.
    beyond = torch.where((n > 2) & (_growing_ratio(kind, growth, n - 2) > largest), math.nan, beyond)
    return torch.where(x < 1, within, torch.where(x == 1, at_one, beyond))


def _ratio(kind: Kind, angle: Tensor, n: Tensor) -> Tensor:
    whole, part = (n + kind.shift) * angle, kind.shift * angle
    return whole.sin() / part.sin() if kind.sine else whole.cos() / part.cos()


def _growing_ratio(kind: Kind, growth: Tensor, n: Tensor) -> Tensor:
    """Of the hyperbolic functions, without what overflows in both."""
    whole = -2 * (n + kind.shift) * growth
    part = -2 * kind.shift * growth if kind.shift else torch.zeros_like(growth)
    ratio = whole.expm1() / part.expm1() if kind.sine else (1 + whole.exp()) / (1 + part.exp())
    return (n * growth).exp() * ratio
