"""What is decomposed computes what ATen does, at the edges of a dtype too, and is then for MLIR."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("torch_mlir")

from torch.fx import GraphModule  # noqa: E402
from torch.fx.experimental.proxy_tensor import make_fx  # noqa: E402

from fullgraph.jit.events import Lowered  # noqa: E402
from fullgraph.jit.lower.decompositions import decompositions  # noqa: E402
from fullgraph.jit.lower.plan import plan  # noqa: E402
from fullgraph.jit.mlir import Backend  # noqa: E402
from fullgraph.jit.worker import Worker  # noqa: E402

pytestmark = pytest.mark.torch
R = torch.randn
INF, NAN = float("inf"), float("nan")
EDGES = torch.tensor([NAN, INF, -INF, -0.0, 0.0, 1.5, 2.5, -0.5, 1e-30, 80.0, -80.0])
FIRST, SECOND = EDGES.repeat(len(EDGES)), EDGES.repeat_interleave(len(EDGES))


def decomposed(call: Callable[..., Any], *inputs: Any) -> GraphModule:
    return make_fx(call, tracing_mode="fake", decomposition_table=decompositions())(*inputs)


def left(graph: GraphModule) -> set[str]:
    """What stays in ATen, but for reading bits as an integer, which is a view."""
    return {item.operator for item in plan(graph).left} - {"aten.view.dtype"}


@pytest.mark.parametrize(
    "call",
    [
        torch.copysign,
        torch.fmax,
        torch.fmin,
        torch.fmod,
        torch.nextafter,
        partial(torch.div, rounding_mode="floor"),
        partial(torch.div, rounding_mode="trunc"),
    ],
)
def test_of_two_numbers(call: Callable[..., Any]) -> None:
    graph = decomposed(call, FIRST, SECOND)
    assert not left(graph)
    torch.testing.assert_close(graph(FIRST, SECOND), call(FIRST, SECOND), rtol=0, atol=0, equal_nan=True)


def test_a_remainder_of_zero_has_the_sign_of_the_number() -> None:
    first, second = torch.tensor([-0.0, -3.0, 0.0, 3.0]), torch.tensor([1.5, 1.5, -1.5, -1.5])
    assert decomposed(torch.fmod, first, second)(first, second).signbit().tolist() == [True, True, False, False]


def test_a_hypotenuse_does_not_overflow() -> None:
    graph = decomposed(torch.hypot, FIRST, SECOND)
    torch.testing.assert_close(graph(FIRST, SECOND), torch.hypot(FIRST, SECOND), rtol=2e-7, atol=0, equal_nan=True)
    large = torch.full((121,), 1e38)
    assert graph(large, large).isfinite().all()


@pytest.mark.parametrize("call", [torch.lgamma, torch.digamma])
def test_functions_of_gamma_are_exact_to_a_unit_in_the_last_place(call: Callable[..., Any]) -> None:
    torch.manual_seed(0)
    values = torch.cat([EDGES, R(20_000) * 3, torch.rand(20_000) * 40 - 20, torch.arange(-3.0, 9.0)])
    graph = decomposed(call, values)
    assert not left(graph)
    got, exact = graph(values), call(values.double()).float()
    torch.testing.assert_close(got, exact, rtol=1.2e-7, atol=0, equal_nan=True)


@pytest.mark.parametrize("dtype", [torch.uint8, torch.int8, torch.int16])
def test_what_a_narrow_integer_cannot_hold_wraps_around(dtype: torch.dtype) -> None:
    values = torch.tensor([-1.0, -9.5, 300.0, 200.0, -130.0, 40_000.0])
    graph = decomposed(lambda value: value.to(dtype), values)
    assert not left(graph)
    assert [str(node.target) for node in graph.graph.nodes].count("aten._to_copy.default") == 2
    assert graph(values).equal(values.to(dtype))


@pytest.mark.parametrize(
    ("call", "value"),
    [
        (lambda x: torch.nn.functional.pad(x, (-1, 2, 1, -2)), R(4, 5)),
        (lambda x: torch.nn.functional.pad(x, (-1, -1)), R(4, 5)),
        (lambda x: torch.nn.functional.avg_pool2d(x, 2), R(1, 1, 4, 6)),
        (lambda x: torch.nn.functional.adaptive_avg_pool2d(x, (2, 3)), R(1, 2, 4, 6)),
        (lambda x: torch.max(x, 0), R(())),
        (lambda x: torch.amin(x, 0), R(())),
        (lambda x: torch.cdist(x, x + 1), R(3, 2)),
    ],
)
def test_shapes_that_torch_mlir_does_not_lower(call: Callable[..., Any], value: torch.Tensor) -> None:
    graph = decomposed(call, value)
    targets = {str(node.target) for node in graph.graph.nodes if node.op == "call_function"}
    assert not targets & {"aten._adaptive_avg_pool2d.default", "aten.max.dim", "aten.amin.default"}
    torch.testing.assert_close(graph(value), call(value))


WITH_NAN = R(2, 3, 9, 8)
WITH_NAN[0, 0, 2:5, 2:5] = NAN
WITH_NAN[1] = -INF
WITH_NAN[1, 2, 3, 4] = 0.0
EQUAL = torch.arange(2 * 3 * 9 * 8).reshape(2, 3, 9, 8) % 5


@pytest.mark.parametrize("value", [WITH_NAN, WITH_NAN[0], WITH_NAN.bfloat16(), EQUAL.double(), EQUAL])
@pytest.mark.parametrize(
    "options",
    [
        {"kernel_size": 2},
        {"kernel_size": (3, 2), "stride": (1, 2), "padding": (1, 0)},
        {"kernel_size": 3, "stride": 2, "padding": 1, "dilation": 2},
        {"kernel_size": 2, "ceil_mode": True},
    ],
)
def test_the_largest_of_windows_is_the_last_nan_or_the_first_of_equals(
    value: torch.Tensor, options: dict[str, Any]
) -> None:
    call = partial(torch.nn.functional.max_pool2d_with_indices, **options)
    graph = decomposed(call, value)
    assert "aten.max_pool2d_with_indices.default" not in left(graph)
    torch.testing.assert_close(graph(value), call(value), rtol=0, atol=0, equal_nan=True)


@pytest.mark.parametrize("size", [(3, 4), (4, 3), (9, 8), (12, 5)])
@pytest.mark.parametrize("value", [WITH_NAN, EQUAL.float()])
def test_windows_of_different_width(size: tuple[int, int], value: torch.Tensor) -> None:
    for name, call in (
        ("aten.adaptive_max_pool2d.default", torch.nn.functional.adaptive_max_pool2d_with_indices),
        ("aten._adaptive_avg_pool2d.default", torch.nn.functional.adaptive_avg_pool2d),
    ):
        graph = decomposed(partial(call, output_size=size), value)
        assert name not in left(graph)
        torch.testing.assert_close(graph(value), call(value, size), rtol=2e-6, atol=1e-6, equal_nan=True)


def test_more_windows_than_are_worth_slices_stay_in_aten() -> None:
    graph = decomposed(lambda x: torch.nn.functional.adaptive_avg_pool2d(x, (33, 3)), R(1, 2, 66, 6))
    assert {item.operator for item in plan(graph).left} == {"aten._adaptive_avg_pool2d.default"}


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.int64])
def test_running_sums_and_products(dtype: torch.dtype) -> None:
    def call(value: torch.Tensor) -> tuple[torch.Tensor, ...]:
        twice = value * 2
        return torch.cumsum(twice, 0), torch.cumprod(value, -1, dtype=torch.float64), torch.cumsum(value, 1) + twice

    torch.manual_seed(0)
    value = (R(5, 300) * 3).to(dtype)
    if dtype.is_floating_point:
        value[1, 100], value[2, 7], value[3, 9] = NAN, INF, 0.0
    reports: list[Lowered] = []
    backend = Backend(lambda event: reports.append(event) if isinstance(event, Lowered) else None, worker=Worker())
    compiled = torch.compile(call, backend=backend)
    for _ in range(2):
        torch.testing.assert_close(compiled(value), call(value), equal_nan=True)
    assert reports[-1].mlir_ops and not reports[-1].failures and not reports[-1].left


@pytest.mark.parametrize("value", [torch.tensor(True), torch.tensor(3, dtype=torch.int32), torch.tensor(1.5)])
def test_a_running_sum_of_one_number_is_as_wide_as_any_sum(value: torch.Tensor) -> None:
    graph = decomposed(lambda x: torch.cumsum(x, 0), value)
    assert graph(value).dtype == torch.cumsum(value, 0).dtype
    assert graph(value).equal(torch.cumsum(value, 0))


ORDERS = torch.tensor([-3.0, -0.5, 0.0, 1.0, 2.0, 5.0, 7.0, 8.9, 40.0, INF, -INF, NAN])
ARGUMENTS = torch.tensor([-INF, -80.0, -1.5, -1.0, -0.7, -0.0, 0.3, 0.5, 1.0, 1.25, 1e20, 3e38, INF])


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("name", [shifted + kind for shifted in ("", "shifted_") for kind in "tuvw"])
def test_chebyshev_polynomials(name: str, dtype: torch.dtype) -> None:
    call = getattr(torch.special, f"{name[:-1]}chebyshev_polynomial_{name[-1]}")
    x, n = ARGUMENTS.to(dtype).unsqueeze(-1) + 0, ORDERS.to(dtype) + 0
    graph = decomposed(call, x, n)
    assert left(graph) <= {"aten.unsqueeze.default"}
    atol = 2e-5 if dtype == torch.float32 else 1e-12  # of eager's cosine of many turns
    torch.testing.assert_close(graph(x, n), call(x, n), rtol=2e-5, atol=atol, equal_nan=True)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("order", [1, 2, 3, 8])
def test_derivatives_of_digamma(order: int, dtype: torch.dtype) -> None:
    torch.manual_seed(0)
    values = torch.cat([EDGES, R(2000) * 5, torch.rand(2000) * 0.01, torch.arange(-3.0, 9.0)]).to(dtype)
    graph = decomposed(partial(torch.polygamma, order), values)
    assert not left(graph)
    tolerance = 2e-5 if dtype == torch.float32 else 1e-10
    torch.testing.assert_close(
        graph(values), torch.polygamma(order, values), rtol=tolerance, atol=1e-30, equal_nan=True
    )


@pytest.mark.parametrize("name", ["i0", "i0e", "i1", "i1e", "modified_bessel_i1", "spherical_bessel_j0"])
def test_bessel_functions(name: str) -> None:
    torch.manual_seed(0)
    call = getattr(torch.special, name)
    values = torch.cat([EDGES, R(5000) * 30, R(5000), torch.tensor([88.5, 89.0, 100.0, -100.0])])
    graph = decomposed(call, values)
    assert not left(graph)
    torch.testing.assert_close(graph(values), call(values), rtol=2e-6, atol=1e-7, equal_nan=True)


GAUSSIAN = torch.special.ndtr(torch.linspace(-13, 5, 3000, dtype=torch.float64)).float()


@pytest.mark.parametrize(
    "name",
    [
        *("erfc", "erfcx", "erfinv", "ndtri", "modified_bessel_k0", "modified_bessel_k1"),
        *("scaled_modified_bessel_k0", "scaled_modified_bessel_k1"),
    ],
)
def test_functions_that_decay_are_exact_to_a_unit_in_the_last_place(name: str) -> None:
    call = getattr(torch.special, name)
    near = torch.cat([GAUSSIAN, -GAUSSIAN, 1 - GAUSSIAN, torch.linspace(0.5, 0.5001, 300)])
    values = torch.cat([EDGES, near, torch.tensor([1.0, -1.0, 2.0]), torch.linspace(-12, 90, 9000)])
    graph = decomposed(call, values)
    assert not left(graph)
    exact = call(values.double()).float()
    torch.testing.assert_close(graph(values), exact, rtol=1.2e-7, atol=2e-45, equal_nan=True)


@pytest.mark.parametrize("name", ["bessel_j0", "bessel_j1", "bessel_y0", "bessel_y1"])
def test_functions_that_oscillate(name: str) -> None:
    """Far from zero eager's phase is rounded to a float32, and so is this one."""
    call = getattr(torch.special, name)
    values = torch.cat([EDGES, torch.linspace(-90, 90, 9000), torch.tensor([1e4, 1e6, 1e15])])
    graph = decomposed(call, values)
    assert not left(graph)
    got, small = graph(values), values.abs() < 5
    torch.testing.assert_close(got, call(values), rtol=2e-6, atol=2e-5, equal_nan=True)
    torch.testing.assert_close(got[small], call(values[small].double()).float(), rtol=3e-7, atol=3e-7, equal_nan=True)


@pytest.mark.parametrize("dtype", [torch.int64, torch.bool, torch.bfloat16])
@pytest.mark.parametrize("call", [torch.erfinv, torch.lgamma, torch.special.i0, torch.special.erfc])
def test_functions_of_other_dtypes_are_computed_in_single_precision(
    call: Callable[..., Any], dtype: torch.dtype
) -> None:
    values = torch.tensor([0, 1, 0, 1, 1]).to(dtype)
    graph = decomposed(call, values)
    assert not left(graph)
    assert graph(values).dtype == call(values).dtype
    torch.testing.assert_close(graph(values), call(values))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_mantissa_and_exponent(dtype: torch.dtype) -> None:
    info = torch.finfo(dtype)
    limits = [info.max, info.smallest_normal, info.smallest_normal * info.eps, -info.smallest_normal / 2, 1.0, -0.75]
    values = torch.cat([EDGES, torch.tensor(limits, dtype=torch.float64)]).to(dtype)
    graph = decomposed(torch.frexp, values)
    assert not left(graph)
    got, wanted = graph(values), torch.frexp(values)
    torch.testing.assert_close(got[0], wanted[0], rtol=0, atol=0, equal_nan=True)
    numbers = ~values.isnan()
    assert got[0][numbers].signbit().equal(wanted[0][numbers].signbit())
    assert got[1].equal(wanted[1])


@pytest.mark.parametrize("call", [torch.cummax, torch.cummin, torch.logcumsumexp])
@pytest.mark.parametrize("dim", [0, -1])
def test_running_extremes_and_logarithms(call: Callable[..., Any], dim: int) -> None:
    value = torch.tensor([[1.0, 1, 3, NAN, 5, NAN, 3], [-INF, -INF, 1, INF, 2, INF, 1], [INF, -INF, 0, -0.0, 0, 4, 4]])
    graph = decomposed(partial(call, dim=dim), value)
    assert left(graph) <= {"aten.split_with_sizes.default"}
    torch.testing.assert_close(graph(value), call(value, dim=dim), rtol=2e-7, atol=0, equal_nan=True)
    (kept,) = plan(decomposed(partial(call, dim=0), R(33))).left
    assert kept.operator == f"aten.{call.__name__}.default"


@pytest.mark.parametrize("p", [0.0, 1.0, 2.0, 3.0])
def test_distances_among_vectors_with_nan_and_infinity(p: float) -> None:
    value = R(7, 4)
    value[1, 2], value[2, 0], value[5, 0], value[3] = NAN, INF, INF, value[4]
    for call in (partial(torch.pdist, p=p), lambda x: torch.cdist(x, x[2:], p=p)):
        graph = decomposed(call, value)
        assert left(graph) <= {"aten.slice.Tensor", "aten.unsqueeze.default"}
        torch.testing.assert_close(graph(value), call(value), rtol=2e-6, atol=1e-6, equal_nan=True)


@pytest.mark.parametrize(("size", "value"), [((2, 3), WITH_NAN), ((3, 1), WITH_NAN[0].bfloat16())])
def test_windows_of_symbolic_sizes(size: tuple[int, int], value: torch.Tensor) -> None:
    other = value.mT.repeat_interleave(2, -2).contiguous()
    for name, call, tolerance in (
        ("aten.adaptive_max_pool2d.default", torch.nn.functional.adaptive_max_pool2d_with_indices, 0.0),
        ("aten._adaptive_avg_pool2d.default", torch.nn.functional.adaptive_avg_pool2d, 2e-6),
    ):
        traced = make_fx(partial(call, output_size=size), decompositions(), "symbolic")
        graph = traced(value)
        assert name not in left(graph)
        coarse = max(tolerance, 1e-2 if tolerance and value.dtype == torch.bfloat16 else 0.0)
        for given in (value, other):
            torch.testing.assert_close(graph(given), call(given, size), rtol=coarse, atol=coarse, equal_nan=True)


@pytest.mark.parametrize(
    "call",
    [
        torch.argmax,
        partial(torch.argmin, dim=1),
        partial(torch.argmax, keepdim=True),
        partial(torch.any, dim=1),
        partial(torch.any, dim=(0, 2), keepdim=True),
        partial(torch.prod, dim=-1),
        partial(torch.prod, dim=0, keepdim=True, dtype=torch.float64),
        lambda x: torch.diagonal_scatter(x, -x.diagonal(-2, 2, 0), -2, 2, 0),
        lambda x: torch.diagonal_scatter(x, -x.diagonal(1), 1),
        lambda x: torch.cdist(x, x[:, :2] + 1, p=3.0),
    ],
)
def test_reductions_and_diagonals_with_nan_and_equals(call: Callable[..., Any]) -> None:
    value = R(3, 4, 5)
    value[0, 1, 2] = value[1, 2, 0] = NAN
    value[2, 0] = value[2, 1]
    value[1, 3] = -INF
    graph = decomposed(call, value)
    views = {"aten.view.default", "aten.select.int", "aten.unsqueeze.default", "aten.permute.default"}
    assert left(graph) <= views | {"aten.slice.Tensor", "aten.diagonal.default", "aten.neg.default"}
    torch.testing.assert_close(graph(value), call(value), rtol=2e-6, atol=1e-6, equal_nan=True)


@pytest.mark.parametrize(
    ("call", "value"),
    [
        (lambda x: torch.nn.functional.max_pool2d(x, 3, 2, 1), R(1, 2, 6, 7)),
        (lambda x: torch.nn.functional.adaptive_avg_pool2d(x, 4), R(1, 2, 6, 7)),
        (lambda x: torch.prod(x, 1), R(3, 4)),
        (lambda x: torch.cumsum(x * 2, 1), R(3, 4)),
        (torch.special.i0, R(7)),
        (torch.digamma, R(7).abs() + 0.5),
        (partial(torch.polygamma, 1), R(7).abs() + 0.5),
    ],
)
def test_gradients(call: Callable[..., Any], value: torch.Tensor) -> None:
    given = value.clone().requires_grad_()
    (wanted,) = torch.autograd.grad(call(given).square().sum(), given)
    backend = Backend(lambda event: None, worker=Worker())
    compiled = torch.compile(call, backend=backend)
    for _ in range(2):
        (got,) = torch.autograd.grad(compiled(given).square().sum(), given)
        torch.testing.assert_close(got, wanted, rtol=2e-5, atol=1e-6)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_number_that_a_tensor_is_taken_from_keeps_its_precision(dtype: torch.dtype) -> None:
    values = torch.tensor([1, 2, 3], dtype=dtype)
    reports: list[Lowered] = []
    backend = Backend(lambda event: reports.append(event) if isinstance(event, Lowered) else None, worker=Worker())
    compiled = torch.compile(lambda value: 1.1447298858494002 - value, backend=backend)
    for _ in range(2):
        assert compiled(values).equal(1.1447298858494002 - values)
    assert reports[-1].mlir_ops and not reports[-1].failures


def test_a_call_on_a_number_first_is_not_native_in_double_precision() -> None:
    def call(value: torch.Tensor) -> torch.Tensor:
        return torch.ops.aten.sub.Tensor(1.1447298858494002, value)

    for dtype, reasons in ((torch.float32, []), (torch.float64, ["dtype not in the table"])):
        graph = make_fx(call, tracing_mode="fake")(R(3, dtype=dtype))
        assert [str(item.reason) for item in plan(graph).left] == reasons


def test_an_integer_between_bounds_stays_an_integer() -> None:
    values = torch.arange(-3, 4)
    graph = decomposed(lambda value: torch.nn.functional.hardtanh(value), values)
    assert graph(values).equal(torch.nn.functional.hardtanh(values))
    assert graph(values).dtype == torch.int64


def test_numbers_among_the_results_have_double_precision() -> None:
    values = torch.tensor([-1.0, 0.0, 2.0], dtype=torch.float64)
    assert decomposed(torch.angle, values)(values).equal(torch.angle(values))
    assert decomposed(torch.nextafter, values, -values)(values, -values).equal(torch.nextafter(values, -values))
    zeros = torch.zeros_like(values)
    assert decomposed(torch.nextafter, zeros, values)(zeros, values).equal(torch.nextafter(zeros, values))


@pytest.mark.parametrize(
    "call",
    [
        lambda x, y: x * 0.1,
        lambda x, y: x / 0.3 + 0.7,
        lambda x, y: torch.div(x, y, rounding_mode="trunc"),
        lambda x, y: torch.div(x, y, rounding_mode="floor"),
        lambda x, y: x * y - (x + 1) * (y + 1),
        lambda x, y: torch.linalg.cross(x, y),
    ],
)
def test_half_precision_is_rounded_where_aten_rounds(call: Callable[..., Any]) -> None:
    torch.manual_seed(0)
    x, y = R(500, 3).bfloat16() * 20, R(500, 3).bfloat16()
    reports: list[Lowered] = []
    backend = Backend(lambda event: reports.append(event) if isinstance(event, Lowered) else None, worker=Worker())
    compiled = torch.compile(call, backend=backend)
    for _ in range(2):
        assert compiled(x, y).equal(call(x, y))
    assert reports[-1].mlir_ops and not reports[-1].failures
