"""The IR of a function after every stage of its lowering, and what did not take part."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
import torch

from fullgraph.jit.events import Phase
from fullgraph.jit.explain import explain
from fullgraph.jit.targets import STAGES

pytestmark = pytest.mark.torch
X = torch.arange(8.0).reshape(2, 4)


def doubled(x: torch.Tensor) -> torch.Tensor:
    return torch.relu(x) * 2


def test_every_stage_in_order() -> None:
    explained = explain(doubled, X)
    assert tuple(stage.name for stage in explained.stages) == STAGES
    printed = str(explained)
    places = [printed.index(f": {name}\n") for name in STAGES]
    assert places == sorted(places)
    (graph,) = explained.graphs
    assert (graph.phase, graph.mlir_ops, graph.failures) == (Phase.INFERENCE, 2, ())


@pytest.mark.parametrize(
    ("stage", "text"),
    [
        ("aten", "torch.ops.aten.relu.default"),
        ("partition", "self.region_0"),
        ("torch", "torch.aten.relu"),
        ("linalg", "linalg.generic"),
        ("memref", "memref<2x4xf32"),
        ("llvm", "llvm.func @"),
    ],
)
def test_a_stage_by_itself(stage: str, text: str) -> None:
    shown = explain(doubled, X).stage(stage)
    assert text in shown
    assert shown.count("// graph") == 1


def test_what_is_left_to_aten_is_told_with_reasons() -> None:
    told = str(explain(lambda x: (x @ x.t()).exp(), X)).splitlines()
    assert "// graph 1, inference: 1 native, 2 left to ATen" in told
    assert "//   aten.mm.default: tuned kernel" in told


def test_a_module_and_its_graph() -> None:
    model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.GELU()).requires_grad_(False)
    traced = torch.fx.symbolic_trace(model)
    assert explain(model, X).stage("linalg") == explain(traced, X).stage("linalg") != ""


def test_graphs_on_both_sides_of_a_break() -> None:
    def broken(x: torch.Tensor) -> torch.Tensor:
        x = x.sin()
        torch._dynamo.graph_break()
        return x.cos()

    explained = explain(broken, X)
    assert [graph.graph for graph in explained.graphs] == [1, 2]
    assert explained.stage("linalg").count("// graph") == 2


@pytest.mark.skipif(not shutil.which("objdump"), reason="needs objdump of the binutils")
def test_assembly_is_shown_on_request() -> None:
    explained = explain(doubled, X, assembly=True)
    assert "<region>:" in explained.stage("assembly")
    assert "ret" in explained.stage("assembly")
    assert explain(doubled, X).stage("assembly") == ""


def test_what_assembly_needs_is_told_first(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ValueError, match="assembly is read by objdump, which is not installed"):
        explain(doubled, X, assembly=True)
