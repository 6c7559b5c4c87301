"""A plan that was kept is the plan that would be made, and no other graph gets it."""

from __future__ import annotations

import math
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("torch_mlir")

from torch.fx import GraphModule  # noqa: E402
from torch.fx.experimental.proxy_tensor import make_fx  # noqa: E402

from fullgraph.jit.lower.kept_plan import identity, read, written  # noqa: E402
from fullgraph.jit.lower.plan import plan  # noqa: E402

pytestmark = pytest.mark.torch
R = torch.randn
aten = torch.ops.aten


def traced(call: Callable[..., Any], *inputs: Any, mode: str = "fake") -> GraphModule:
    return make_fx(call, tracing_mode=mode)(*inputs)


def add_to(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    aten.copy_.default(x, x.exp() + y)
    return x @ y


@pytest.mark.parametrize(
    ("call", "inputs"),
    [
        (lambda x, y: ((x + x).exp() @ y * x).exp(), (R(4, 4), R(4, 4))),
        (lambda x: (x.t() + 1, x.exp().t().expand(2, 4, 3), x.view(12)), (R(3, 4),)),
        (lambda x: torch.var_mean(x, [1]), (R(4, 4),)),
        (lambda x: (x + torch.tensor([1.0, 2.0]), torch.full((2,), math.inf), x.to(torch.bfloat16) + 1), (R(2),)),
        (lambda x: (x.clamp(-math.inf, 0.5), torch.ones_like(x, device="cpu") / math.nan), (R(3),)),
        (lambda x: torch.rand_like(x.exp()) + x, (R(3),)),
        (lambda x: [*x.split(2), x.topk(2).indices], (R(4),)),
        (add_to, (R(4, 4), R(4, 4))),
    ],
)
def test_it_is_the_same_plan(call: Callable[..., Any], inputs: tuple[Any, ...]) -> None:
    graph = traced(call, *inputs)
    made = plan(graph)
    kept = read(written(made), graph)
    assert kept.left == made.left
    assert kept.regions.keys() == made.regions.keys()
    for name, region in made.regions.items():
        ours = kept.regions[name]
        for part in ("text", "signature", "ops", "precisions"):
            assert getattr(ours, part) == getattr(region, part)
        arguments = [torch.empty(spec.shape) for spec in region.signature.inputs]
        assert ours.output_shapes(arguments) == region.output_shapes(arguments)
    results = []
    for runs in (graph, made.graph, kept.graph):
        torch.manual_seed(0)
        results.append(runs(*(tensor.clone() for tensor in inputs)))
    for result in results[1:]:
        torch.testing.assert_close(result, results[0], rtol=0, atol=0, equal_nan=True)


def test_graphs_that_are_alike_have_one_identity_and_others_do_not() -> None:
    def call(x: torch.Tensor) -> torch.Tensor:
        return (x * 2.0).exp()

    alike = [identity(traced(call, R(4, 4))), identity(traced(lambda other: call(other), R(4, 4)))]
    others = [
        *(traced(call, x) for x in (R(4, 4).t(), R(4, 8), R(16), R(4, 4).double(), R(4, 4, dtype=torch.complex64))),
        *(traced(call, R(4, 4)) for call in (lambda x: (x * 3.0).exp(), lambda x: (x * 2.0).exp() + x, torch.exp)),
    ]
    assert alike[0] == alike[1]
    found = [alike[0], *map(identity, others)]
    assert None not in found
    assert len(set(found)) == len(found)


def test_what_the_text_of_a_graph_does_not_tell_has_no_identity() -> None:
    x = R(4, 4)
    assert identity(traced(torch.exp, x, mode="symbolic")) is None
    assert identity(traced(torch.sin, R(4).to_sparse())) is None
    assert identity(traced(lambda z: torch.ops.aten.exp(torch._neg_view(z)), x)) is None
    graph = traced(torch.exp, x)
    (call,) = graph.graph.find_nodes(op="call_function", target=aten.exp.default)
    call.target = torch.exp
    assert identity(graph) is None


PROGRAM = """
import sys
import torch
layer = torch.nn.Linear(8, 8)
with torch.no_grad():
    layer.weight.fill_(0.5), layer.bias.fill_(0.25)
    result = torch.compile(lambda x: layer(x.exp()).sin(), backend="mlir")(torch.ones(4, 8))
print(result.sum().item(), "torch_mlir" in sys.modules)
"""


@pytest.mark.slow
def test_another_process_needs_nothing_of_torch_mlir_and_makes_again_what_is_damaged(tmp_path: Path) -> None:
    def needs_torch_mlir() -> str:
        environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path)}
        command = [sys.executable, "-c", PROGRAM]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        assert done.stderr == ""
        number, needed = done.stdout.split()
        assert math.isclose(float(number), 32 * math.sin(8 * 0.5 * math.e + 0.25), rel_tol=1e-5)
        return needed

    assert needs_torch_mlir() == "True"
    assert needs_torch_mlir() == "False"
    (entry,) = tmp_path.rglob("*.plan")
    entry.write_bytes(entry.read_bytes()[:-1] + b"?")
    assert needs_torch_mlir() == "True"
    assert needs_torch_mlir() == "False"
