"""Loops are fused, made of vectors and shared among threads, and still compute what eager does."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

torch = pytest.importorskip("torch")
ir = pytest.importorskip("torch_mlir.ir")

from mlir_regions import SCALED, SCALED_SIGNATURE  # noqa: E402

from fullgraph.jit.events import Lowered, Stage  # noqa: E402
from fullgraph.jit.lower import compile as compiler  # noqa: E402
from fullgraph.jit.mlir import Backend  # noqa: E402

pytestmark = pytest.mark.torch
R = torch.randn


@pytest.fixture
def two_threads() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


class Seen:
    def __init__(self) -> None:
        self.events: list[Lowered | Stage] = []
        self.backend = Backend(self.events.append, stages=True)

    def run(self, call: Callable[..., Any], *inputs: torch.Tensor, dynamic: bool | None = None) -> Any:
        """Twice: the first results are those of eager, with which the native ones are compared."""
        torch._dynamo.reset()
        compiled = torch.compile(call, backend=self.backend, dynamic=dynamic)
        compiled(*inputs)
        result = compiled(*inputs)
        assert [event.failures for event in self.events if isinstance(event, Lowered)][-1] == ()
        torch.testing.assert_close(result, call(*inputs), rtol=1e-5, atol=1e-5, equal_nan=True)
        return result

    def stages(self, name: str) -> list[str]:
        return [event.text for event in self.events if isinstance(event, Stage) and event.name == name]


def layer_norm(x: torch.Tensor) -> torch.Tensor:
    return torch.nn.functional.layer_norm(x, x.shape[-1:])


@pytest.mark.parametrize("call", [lambda x: torch.softmax(x, -1), layer_norm], ids=["softmax", "layer norm"])
@pytest.mark.parametrize("dynamic", [False, True], ids=["fixed", "symbolic"])
def test_a_row_is_computed_in_one_loop_on_all_threads(
    call: Callable[..., Any], dynamic: bool, two_threads: None
) -> None:
    seen = Seen()
    seen.run(call, R(203, 1000), dynamic=dynamic)
    (loops,) = seen.stages("memref")
    assert loops.count("call @kernel_") == 1
    assert "linalg" not in loops.partition("func.func private @kernel_0")[0]
    if not dynamic:
        assert "memref.alloc()" not in loops


def test_sums_along_every_axis(two_threads: None) -> None:
    Seen().run(lambda x: (x.sum(0), x.sum(1), x.sum(2), x.sum((0, 2)), x.sum()), R(60, 130, 8))


def test_only_sums_along_the_innermost_axis_are_reordered() -> None:
    seen = Seen()
    seen.run(lambda x: x.sum(0), R(40, 8))
    seen.run(lambda x: x.sum(1), R(40, 8))
    assert ["reassoc" in text for text in seen.stages("fused")] == [False, True]


def test_a_value_is_gathered_before_it_is_computed() -> None:
    seen = Seen()
    seen.run(lambda x, index: torch.log_softmax(x, 1).gather(1, index), R(30, 50), torch.randint(50, (30, 1)))
    assert "gather.default(arg" in seen.stages("partition")[-1]


def test_a_concatenation_is_written_in_place() -> None:
    def rotated(x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
        left, right = x.chunk(2, -1)
        return x * cos + torch.cat((-right, left), -1) * sin

    seen = Seen()
    seen.run(rotated, R(3, 20, 8), R(20, 8), R(20, 8))
    (loops,) = seen.stages("memref")
    assert "copy" not in loops
    assert "alloc" not in loops


def test_results_with_several_users_and_sizes() -> None:
    def several(x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, ...]:
        z = x + y
        m = z.mean(-1, keepdim=True)
        return z, m, (z - m).exp(), torch.cat((z, m), -1), z.amax(0)

    for dynamic in (False, True):
        Seen().run(several, R(70, 300), R(300), dynamic=dynamic)


def test_the_exponential_is_right_everywhere() -> None:
    x = torch.cat((torch.linspace(-110, 95, 200_001), torch.tensor([math.inf, -math.inf, math.nan, 0.0, -0.0])))
    own = Seen().run(torch.exp, x)
    exact = x.double().exp()
    unit = torch.nextafter(exact.float(), torch.tensor(math.inf)) - exact.float()
    off = ((own.double() - exact).abs() / unit)[exact.float().isfinite()]
    assert off.max() <= 1
    assert torch.equal(own.isnan(), x.isnan())
    assert torch.equal(own.isinf(), exact.float().isinf())
    assert own[-2:].tolist() == [1.0, 1.0]


def test_the_error_function() -> None:
    x = torch.cat((torch.linspace(-6, 6, 100_001), torch.tensor([math.inf, -math.inf, math.nan])))
    own = Seen().run(torch.erf, x)
    assert (own.double() - torch.erf(x.double())).abs().nan_to_num().max() < 1e-7
    assert own[-3:-1].tolist() == [1.0, -1.0]


def test_functions_of_every_kind() -> None:
    def functions(x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return x.sin(), x.cos(), x.tanh(), y.log1p(), y.log(), torch.pow(y, x), torch.atan2(x, y), x.double().exp()

    Seen().run(functions, R(1003), R(1003).abs() + 0.1)


def test_threads_that_call_at_once(two_threads: None) -> None:
    seen = Seen()
    compiled = torch.compile(lambda x: torch.softmax(x, -1), backend=seen.backend, dynamic=True)

    def work(rows: int) -> bool:
        x = R(rows, 500)
        return all(torch.allclose(compiled(x), torch.softmax(x, -1), atol=1e-6) for _ in range(30))

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(work, (90, 200, 310, 47)))


def test_what_cannot_be_scheduled_has_plain_loops(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(module: ir.Module) -> None:
        raise ValueError("no")

    monkeypatch.setattr(compiler, "schedule", refuse)
    artifact = compiler.compile_module(SCALED, SCALED_SIGNATURE, dump=True)
    assert [name for name, _ in artifact.stages][-3:] == ["memref", "loops", "llvm"]
    assert artifact.code.startswith(b"\x7fELF")
