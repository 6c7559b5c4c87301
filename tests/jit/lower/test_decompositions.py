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


def test_windows_that_overlap_stay_in_aten() -> None:
    graph = decomposed(lambda x: torch.nn.functional.adaptive_avg_pool2d(x, (3, 3)), R(1, 2, 4, 6))
    assert {item.operator for item in plan(graph).left} == {"aten._adaptive_avg_pool2d.default"}


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
