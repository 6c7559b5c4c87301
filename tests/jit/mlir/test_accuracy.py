"""How far functions of float32 are from what they should be, in units in the last place, over all exponents.

A loop is computed in vectors, and what is left over by the C library; both are held to what the documentation says.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
import torch

from fullgraph.jit.events import Lowered
from fullgraph.jit.mlir import Backend

pytestmark = pytest.mark.torch
SPECIAL = (0.0, -0.0, 1.0, -1.0, math.inf, -math.inf, math.nan, 1e-45, -1e-45, 3.4028235e38, -3.4028235e38, 0.5, 2.0)
MANTISSAS = 48
VECTOR, REST = 16, 7
"""Elements of a row: as many as a vector has, and fewer than any has."""
ONE_UNIT = (
    *("acos", "asin", "atan", "atanh", "erf", "exp", "exp2", "expm1"),
    *("log", "log10", "log1p", "log2", "tan", "tanh", "sqrt", "reciprocal"),
)
BOUNDED = {"sin": 3.5, "cos": 3.5, "rsqrt": 1.5, "asinh": 2, "acosh": 2}
CLIPPED = {"sinh": 88.5, "cosh": 88.5}
"""Up to where vectors are right."""
TWO = ("pow", "atan2")
IN_THE_C_LIBRARY = 2.0


def numbers() -> torch.Tensor:
    """Each sign and exponent with some mantissas, subnormal numbers too, more where functions bend, and the special."""
    generator = torch.Generator().manual_seed(0)
    signs = torch.tensor([0, -(1 << 31)], dtype=torch.int64)[:, None, None]
    exponents = (torch.arange(255) << 23)[None, :, None]
    mantissas = torch.randint(1 << 23, (2, 255, MANTISSAS), generator=generator)
    everywhere = (signs + exponents + mantissas).to(torch.int32).view(torch.float32).flatten()
    bends = torch.rand(20_000, generator=generator) * 210 - 105
    near = torch.rand(20_000, generator=generator) * 4 - 2
    every = torch.cat((everywhere, bends, near, torch.tensor(SPECIAL)))
    return every[torch.randperm(len(every), generator=generator)]


def rows(values: torch.Tensor, width: int) -> torch.Tensor:
    """Not contiguous, so that a loop goes over a row of that many."""
    wide = values[: len(values) // width * width].reshape(-1, width)
    return torch.cat((wide, torch.zeros(len(wide), 1)), dim=1)[:, :width]


def native(call: Callable[..., torch.Tensor], *inputs: torch.Tensor) -> torch.Tensor:
    torch._dynamo.reset()
    seen: list[Lowered] = []
    backend = Backend(lambda event: seen.append(event) if isinstance(event, Lowered) else None)
    compiled = torch.compile(call, backend=backend)
    compiled(*inputs)
    result = compiled(*inputs)  # the first is eager's, with which native code is compared
    assert (seen[-1].mlir_ops > 0, seen[-1].failures) == (True, ())
    return result


def units_off(own: torch.Tensor, exact: torch.Tensor) -> float:
    """The largest error in units in the last place; NaN and infinity have to be where they are in the exact results."""
    rounded = exact.float()
    assert torch.equal(own.isnan(), exact.isnan())
    assert torch.equal(own[rounded.isinf()], rounded[rounded.isinf()])
    finite = rounded.isfinite()
    exponent = torch.frexp(rounded[finite].double()).exponent.clamp(min=-125)
    unit = torch.ldexp(torch.ones((), dtype=torch.float64), exponent - 24)
    return float(((own[finite].double() - exact[finite]).abs() / unit).max())


@pytest.mark.parametrize("name", [*ONE_UNIT, *BOUNDED])
def test_functions_in_vectors(name: str) -> None:
    call, x = getattr(torch, name), rows(numbers(), VECTOR)
    assert round(units_off(native(call, x), call(x.double())), 3) <= BOUNDED.get(name, 1.0)


@pytest.mark.parametrize("name", CLIPPED)
def test_functions_whose_vectors_overflow_early(name: str) -> None:
    call, x = getattr(torch, name), rows(numbers(), VECTOR).nan_to_num(0)
    x = x.clamp(-CLIPPED[name], CLIPPED[name])
    assert round(units_off(native(call, x), call(x.double())), 3) <= 1.0


@pytest.mark.parametrize("name", [*ONE_UNIT, *BOUNDED, *CLIPPED])
def test_what_is_left_over_of_a_loop(name: str) -> None:
    call, x = getattr(torch, name), rows(numbers(), REST)
    assert units_off(native(call, x), call(x.double())) <= IN_THE_C_LIBRARY


@pytest.mark.parametrize(("width", "bound"), [(VECTOR, 1.0), (REST, IN_THE_C_LIBRARY)], ids=["vectors", "rest"])
@pytest.mark.parametrize("name", TWO)
def test_functions_of_two_numbers(name: str, width: int, bound: float) -> None:
    call, x, y = getattr(torch, name), rows(numbers(), width), rows(numbers().flip(0), width)
    assert round(units_off(native(call, x, y), call(x.double(), y.double())), 3) <= bound
