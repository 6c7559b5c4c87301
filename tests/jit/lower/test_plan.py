"""What becomes a region, what stays in ATen and why, and that the split graph computes what the whole one did."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("torch_mlir")

from torch.fx import GraphModule  # noqa: E402
from torch.fx.experimental.proxy_tensor import make_fx  # noqa: E402

from fullgraph.jit.lower.layout import memory_order  # noqa: E402
from fullgraph.jit.lower.plan import plan  # noqa: E402
from fullgraph.jit.lower.planned import Plan  # noqa: E402
from fullgraph.jit.lower.signature import ScalarSpec, TensorSpec  # noqa: E402

pytestmark = pytest.mark.torch
R = torch.randn
aten = torch.ops.aten

POINTWISE = dict.fromkeys(
    (
        *("aten.add.Tensor", "aten.mul.Tensor", "aten.div.Tensor", "aten.div.Tensor_mode", "aten.exp.default"),
        *("aten.permute.default", "aten.t.default", "aten.view.default", "aten.expand.default", "aten.clone.default"),
        *("aten.sum.dim_IntList", "aten.var_mean.correction"),
    ),
    frozenset({"f32>f32*", "f32,f64>f64"}),
)


def planned(call: Callable[..., Any], *inputs: Any, mode: str = "fake") -> tuple[GraphModule, Plan]:
    graph = make_fx(call, tracing_mode=mode)(*inputs)
    return graph, plan(graph, POINTWISE)


def regions(split: Plan) -> list[list[str]]:
    return [[op.split(".")[1] for op in region.ops] for region in split.regions.values()]


def calls(split: Plan) -> list[str]:
    """Targets in the order they run."""
    return [str(node.target) for node in split.graph.graph.nodes if node.op.startswith("call_")]


def left(split: Plan) -> dict[str, str]:
    return {item.operator.split(".")[1]: item.reason for item in split.left}


def test_calls_around_a_kernel_are_two_regions() -> None:
    _, split = planned(lambda x: ((x + x).exp() @ x * x).exp(), R(4, 4))
    assert regions(split) == [["add", "exp"], ["mul", "exp"]]
    assert left(split) == {"mm": "tuned kernel"}


def layers_of(factor: float) -> Callable[..., Any]:
    return lambda x, y: ((x * 2.0).exp() @ y * factor).exp()


def test_regions_that_are_alike_have_one_text_and_others_do_not() -> None:
    square, wide = R(4, 4), R(4, 8)
    for between, after, alike in ((square, 2.0, True), (square, 3.0, False), (wide, 2.0, False)):
        _, split = planned(layers_of(after), square, between)
        first, second = (region.text for region in split.regions.values())
        assert (first == second) is alike


def test_a_call_waits_for_the_region_that_needs_it() -> None:
    _, split = planned(lambda x, y: x.exp() + (x @ y), R(4, 4), R(4, 4))
    assert regions(split) == [["exp", "add"]]


def test_calls_on_the_same_tensor_are_one_region_and_others_are_not() -> None:
    _, split = planned(lambda x, y: (x.exp(), x + x, y.exp()), R(4), R(4))
    assert sorted(regions(split)) == [["exp"], ["exp", "add"]]


def test_a_number_that_many_read_does_not_join_them() -> None:
    _, split = planned(lambda x, y, rate: (x * rate, y * rate), R(4), R(4), R(()))
    assert regions(split) == [["mul"], ["mul"]]


def test_views_go_along_inside_a_region_and_stay_out_at_its_border() -> None:
    _, split = planned(lambda x: (x.exp().t() + x.t()).expand(2, 4, 4), R(4, 4))
    assert regions(split) == [["exp", "t", "add"]]
    assert left(split) == {"t": "view at the border", "expand": "view at the border"}


def test_an_expansion_is_read_by_the_region() -> None:
    _, split = planned(lambda x: x.expand(3, 4).exp(), R(4))
    assert regions(split) == [["expand", "exp"]]


def test_a_region_returns_contiguous_tensors() -> None:
    graph, split = planned(lambda x: x.t() + 1, R(3, 4))
    (region,) = split.regions.values()
    assert region.signature.inputs == (TensorSpec("float32", (4, 3), (1, 4)),)
    assert region.signature.outputs == (TensorSpec("float32", (3, 4)),)
    x = R(3, 4)
    assert split.graph(x).stride() == graph(x).stride() == (1, 4)


def test_random_numbers_are_drawn_in_the_order_of_the_graph() -> None:
    def call(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        first = torch.rand_like((x @ y).exp())
        return torch.rand_like(x) + first

    graph, split = planned(call, R(4, 4), R(4, 4))
    assert left(split)["rand_like"] == "random"
    torch.manual_seed(0)
    wanted = graph(torch.ones(4, 4), torch.ones(4, 4))
    torch.manual_seed(0)
    assert split.graph(torch.ones(4, 4), torch.ones(4, 4)).equal(wanted)


def test_an_input_is_read_before_it_is_written() -> None:
    def call(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        result = (x @ y).exp() + x
        aten.copy_.default(x, y)
        return result

    _, split = planned(call, R(4, 4), R(4, 4))
    assert left(split)["copy_"] == "mutates"
    assert calls(split).index("aten.copy_.default") > calls(split).index("region_0")


def test_takes_all_the_results_of_a_call_apart_inside() -> None:
    graph, split = planned(lambda x: torch.var_mean(x, [1]), R(4, 4))
    x = R(4, 4)
    assert regions(split) == [["var_mean"]]
    assert all(ours.equal(theirs) for ours, theirs in zip(split.graph(x), graph(x), strict=True))


def test_symbolic_sizes_are_arguments_and_tell_the_shapes_of_the_outputs() -> None:
    graph, split = planned(
        lambda x, y: (x.exp() + x.shape[0], y.exp().expand(x.shape[0] * 2, 3)), R(4, 5), R(3), mode="symbolic"
    )
    x, y = R(6, 7), R(3)
    assert all(ours.equal(theirs) for ours, theirs in zip(split.graph(x, y), graph(x, y), strict=True))
    ((name, region),) = [item for item in split.regions.items() if "aten.add.Tensor" in item[1].ops]
    arguments = [x if isinstance(spec, TensorSpec) else 6 for spec in region.signature.inputs]
    assert ScalarSpec("int64") in region.signature.inputs
    assert region.output_shapes(arguments) == [tuple(out.shape) for out in split.graph.get_submodule(name)(*arguments)]


@pytest.mark.parametrize(
    ("call", "inputs", "reason"),
    [
        (torch.rand_like, (R(3),), "random"),
        (torch.exp, (R(3, dtype=torch.complex64),), "complex"),
        (torch.exp, (R(0, 3),), "zero-size"),
        (torch.exp, (R(3, dtype=torch.float64),), "dtype not in the table"),
        (torch.cos, (R(3),), "not in the table"),
        (lambda x: torch.gather(x, 0, torch.zeros(2, dtype=torch.int64)), (R(3),), "checks its data"),
        (lambda x: torch.div(x, x, rounding_mode="floor"), (torch.arange(3),), "integer division"),
        (lambda x: torch.div(x, 2, rounding_mode="floor"), (torch.arange(3, dtype=torch.uint8),), "integer division"),
        (lambda x: torch.ops.aten.add_.Tensor(x, x), (R(3),), "mutates"),
        (lambda x: x.split(2), (R(4),), "view at the border"),
        (torch.mm, (R(2, 2), R(2, 2)), "tuned kernel"),
    ],
)
def test_says_why_a_call_stays(call: Callable[..., Any], inputs: tuple[Any, ...], reason: str) -> None:
    _, split = planned(call, *inputs)
    assert not split.regions
    assert reason in left(split).values()


@pytest.mark.parametrize(
    ("tensor", "order"),
    [
        (torch.empty(2, 3, 4), (0, 1, 2)),
        (torch.empty(2, 3).t(), (1, 0)),
        (torch.empty(2, 3, 4, 5).to(memory_format=torch.channels_last), (0, 2, 3, 1)),
        (torch.empty(1, 3)[:, None].transpose(0, 2), (0, 1, 2)),
        (torch.empty(()), ()),
        (torch.empty(3, 4)[:, ::2], None),
        (torch.empty(3, 1).expand(3, 4), None),
    ],
)
def test_the_order_of_dimensions_in_memory(tensor: torch.Tensor, order: tuple[int, ...] | None) -> None:
    assert memory_order(tensor) == order
