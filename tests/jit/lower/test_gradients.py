"""Gradients of torch's own operator samples: forward and backward through the backend they are those of eager.

A few operators are tried; `FULLGRAPH_GRADIENTS=all pytest tests/jit/lower/test_gradients.py` tries all.
"""

from __future__ import annotations

import json
import os
import random
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("torch_mlir")
pytest.importorskip("expecttest", reason="torch's operator tests need it")

from operator_samples import compare, positional, samples  # noqa: E402
from torch.testing._internal.common_methods_invocations import op_db  # noqa: E402

from fullgraph.jit.events import Lowered, Phase  # noqa: E402
from fullgraph.jit.mlir import Backend  # noqa: E402

pytestmark = pytest.mark.torch
LISTED = json.loads(Path(__file__).with_name("opinfo.json").read_text(encoding="utf-8"))["operators"]
NATIVE = {name for name, dtypes in LISTED.items() if dtypes.get("float32", ".")[0] in "NM"}
"""Operators whose case with fixed sizes is native, or in part."""
DIFFERENTIABLE = {
    info.formatted_name: info
    for info in op_db
    if info.formatted_name in NATIVE
    and info.supports_autograd
    and torch.float32 in info.supported_backward_dtypes("cpu")
    and info.formatted_name != "index_fill"  # looks for indices that occur twice, and so gives no one graph
}
TRIED = random.Random(0).sample(sorted(DIFFERENTIABLE), 12)


def gradients(call: Any, tensors: list[torch.Tensor]) -> list[torch.Tensor]:
    """The results, and what comes back to each input that wants a gradient."""
    torch.manual_seed(0)
    given = [tensor.detach().clone().requires_grad_(tensor.requires_grad) for tensor in tensors]
    results = call(*given)
    through = [result for result in results if result.requires_grad]
    weights = [torch.linspace(0.5, 1.5, result.numel()).to(result.dtype).reshape(result.shape) for result in through]
    inputs = [value for value in given if value.requires_grad]
    back = torch.autograd.grad(through, inputs, weights, allow_unused=True) if through else ()
    return [*(result.detach() for result in results), *(value for value in back if value is not None)]


@pytest.mark.parametrize("name", sorted(DIFFERENTIABLE) if os.environ.get("FULLGRAPH_GRADIENTS") == "all" else TRIED)
def test_gradients_are_those_of_eager(name: str) -> None:
    assert [failure for event in compared(name).values() for failure in event.failures] == []


@pytest.mark.parametrize("name", ["exp", "nn_functional_gelu", "nn_functional_layer_norm", "softmax"])
def test_both_ways_are_native(name: str) -> None:
    """Others may copy only, or transform whole, and then stay in ATen."""
    info = next(known for known in DIFFERENTIABLE if known.startswith(name))
    assert {phase: event.mlir_ops > 0 for phase, event in compared(info).items()} == {
        Phase.FORWARD: True,
        Phase.BACKWARD: True,
    }


def compared(name: str) -> dict[Phase, Lowered]:
    """Compare an operator's gradients with eager's, and give what became of its graphs."""
    info = DIFFERENTIABLE[name]
    sample = samples(info, torch.float32, dynamic=False, gradient=True)[-1]
    call, tensors = positional(info, sample)
    torch._dynamo.reset()
    seen: dict[Phase, Lowered] = {}
    backend = Backend(lambda event: seen.update({event.phase: event}) if isinstance(event, Lowered) else None)
    wanted = gradients(call, tensors)
    for _ in range(2):  # the first results are eager's, with which the native ones are compared
        assert compare(gradients(torch.compile(call, backend=backend), tensors), wanted) is None
    return seen


def test_at_least_150_operators_are_compared() -> None:
    assert len(DIFFERENTIABLE) >= 150
