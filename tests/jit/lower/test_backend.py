"""Functions and modules through the backend: partitioned, compiled, run, and equal to eager."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("torch_mlir")

from torch import nn  # noqa: E402
from torch.nn import functional as F  # noqa: E402

from fullgraph.jit.events import Lowered  # noqa: E402
from fullgraph.jit.mlir import Backend  # noqa: E402

pytestmark = pytest.mark.torch
R = torch.randn
TOLERANCE = {torch.bfloat16: 2e-2, torch.float16: 2e-3, torch.float32: 1e-4, torch.float64: 1e-10}


class Case(NamedTuple):
    call: Callable[..., Any]
    calls: tuple[tuple[Any, ...], ...]
    """The arguments of each call."""
    dynamic: bool | None = None
    native: bool = True
    """Whether any operator is expected to run as native code."""


def mutated_copy(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    x = x.clone()
    x.add_(y)
    x[0] = 3
    return x


def half_sums(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
    x = x * 2
    return x.sum(0), x.sum(), x.mean(0), x.mean(), x.norm(), x.var(0), (x * 5).prod(0), x.sum(0, dtype=torch.float32)


def mlp() -> nn.Sequential:
    return nn.Sequential(nn.Linear(16, 32), nn.GELU(), nn.LayerNorm(32), nn.Linear(32, 4))


def once(call: Callable[..., Any], *arguments: Any, native: bool = True) -> Case:
    return Case(call, (arguments,), native=native)


def resized(call: Callable[..., Any], *calls: tuple[Any, ...]) -> Case:
    return Case(call, calls, dynamic=True)


def cases() -> dict[str, Case]:
    torch.manual_seed(0)
    ints, mask = torch.arange(20).reshape(4, 5), torch.rand(4, 5) > 0.5
    return {
        "several inputs and outputs": once(lambda x, y: (x + y, x * y, x > y, x.argmax(-1)), R(8, 16), R(8, 16)),
        "integers and booleans": once(
            lambda x, m: (x * 2 + 1, torch.where(m, x, -x), m & (x > 2), x.float().mean()), ints, mask
        ),
        "module": once(mlp(), R(8, 16)),
        "softmax": once(lambda x: torch.softmax(x, -1), R(8, 16)),
        "resized slices": resized(
            lambda x, y: (x[:, 1:] * y.shape[0] + 1).sum(1), (R(8, 16), R(4, 3)), (R(5, 7), R(9, 2))
        ),
        "resized softmax of a product": resized(
            lambda x, y: (torch.softmax(x @ y, -1), x.shape[0]), (R(8, 16), R(16, 3)), (R(5, 7), R(7, 11))
        ),
        "resized transposed": resized(lambda x: (x.t() + 1, x.t().exp().sum(0)), (R(8, 16),), (R(5, 7),)),
        "rank 0": once(lambda x, y: (x + y, x.sum()), torch.tensor(2.0), R(())),
        "zero size": once(lambda x: (x + 1, x.sum(0)), R(0, 4), native=False),
        "transposed": once(lambda x: x.relu() + 1, R(8, 16).t()),
        "every other column": once(lambda x: x.relu() + 1, R(8, 16)[:, ::2]),
        "overlapping": once(lambda x: x.relu() + 1, R(20).as_strided((6, 4), (2, 1))),
        "expanded": once(lambda x: x.relu() + 1, R(1, 4).expand(6, 4)),
        "channels last": once(lambda x: x.relu() * 2, R(2, 3, 4, 5).to(memory_format=torch.channels_last)),
        "local mutation": once(mutated_copy, R(4, 4), R(4, 4)),
        "constant tensor": once(lambda x: x + torch.tensor([1.0, 2.0, 3.0]), R(4, 3)),
        "made inside": once(lambda x: x + torch.arange(3) + torch.ones(4, 3), R(4, 3)),
        **{
            f"long sums in {dtype}": resized(half_sums, *((torch.full((n, 3), 0.1, dtype=dtype),) for n in (9, 5000)))
            for dtype in (torch.bfloat16, torch.float16)
        },
        "large windows in bfloat16": once(
            lambda x: F.avg_pool2d(x * 2, 32), torch.full((1, 2, 64, 64), 0.1, dtype=torch.bfloat16)
        ),
        "sine and cosine of the same angle": once(lambda x: x.sin() * 2 + x.cos(), R(8, 16)),
        "bfloat16": once(lambda x: (x * 2).exp().sum(-1), R(8, 16, dtype=torch.bfloat16)),
        "float16": once(lambda x: (x * 2).exp().sum(-1), R(8, 16, dtype=torch.float16)),
        "bfloat16 product": once(lambda x: x @ x.t() + 1, R(8, 16, dtype=torch.bfloat16)),
        "float64": once(lambda x: x.tanh().sum(), R(8, 16, dtype=torch.float64)),
        "narrowed twice": once(lambda x: (x.half(), x.bfloat16(), x.float()), R(8, 16, dtype=torch.float64)),
        "complex": once(lambda x: x * x + 1, R(8, 16, dtype=torch.complex64), native=False),
        "float argument": Case(lambda x, s: x * s, ((R(8), 2.5), (R(8), 3.5))),
        "integer argument": resized(lambda x, s: x * s, (R(8), 3), (R(8), 5)),
        "None and a number": once(lambda x: (x + 1, None, 7), R(8)),
        "the same output twice": once(lambda x: (y := x + 1, y, x), R(8)),
        "dropout of nothing": once(lambda x: F.dropout(x, 0.0, True) + 1, R(8)),
        "random": once(lambda x: torch.rand_like(x) * 0 + x, R(8)),
        "uint8": once(lambda x: x + 1, torch.arange(20, dtype=torch.uint8)),
        "views": once(lambda x: (x.t(), x.view(-1), (x + 1).t()), R(4, 6)),
        "convolution": once(
            lambda x, w, b: F.max_pool2d(torch.relu(F.conv2d(x, w, b, padding=1)), 2),
            *(R(2, 3, 16, 16), R(8, 3, 3, 3), R(8)),
        ),
        "attention": once(
            lambda q, k, v: F.scaled_dot_product_attention(q * 2, k, v),
            *(R(2, 4, 16, 8), R(2, 4, 16, 8), R(2, 4, 16, 8)),
        ),
        "embedding": once(lambda i, w: F.embedding(i, w) * 2, torch.randint(0, 10, (3, 4)), R(10, 6)),
        "not a number": once(
            lambda x, y: (x.clamp(-1, 1), torch.maximum(x, y), x.relu(), x.amax(0), torch.softmax(y, 0)),
            *(torch.tensor([float("nan"), 1.0, -2.0, 0.0]), torch.tensor([1.0, float("nan"), -3.0, 5.0])),
        ),
        # What crashes, hangs or silently miscompiles if it reaches MLIR:
        "uint8 floor division": once(lambda x: x // 2, torch.arange(20, dtype=torch.uint8), native=False),
        "boolean mask": once(lambda x, m: x[m], R(4, 5), mask, native=False),
        "embedding bag": once(lambda i, w: F.embedding_bag(i, w, mode="sum"), torch.randint(0, 10, (3, 4)), R(10, 6)),
        "reductions with one initial value": once(lambda x, y: (x.sum(0), y.sum(0)), R(8, 32), R(8, 32)),
    }


CASES = cases()


class Compiled:
    """What the backend reported, each graph once, and its functions."""

    def __init__(self) -> None:
        self.backend = Backend(self._learn)
        self.graphs: dict[tuple[int, str], Lowered] = {}

    def _learn(self, event: object) -> None:
        if isinstance(event, Lowered):
            self.graphs[event.graph, event.phase.value] = event

    def compile(self, call: Callable[..., Any], dynamic: bool | None = None) -> Callable[..., Any]:
        compiled: Callable[..., Any] = torch.compile(call, backend=self.backend, dynamic=dynamic)
        return compiled

    @property
    def failures(self) -> list[str]:
        return [failure for graph in self.graphs.values() for failure in graph.failures]

    @property
    def native(self) -> int:
        return sum(graph.mlir_ops for graph in self.graphs.values())


@pytest.fixture
def mlir() -> Iterator[Compiled]:
    torch._dynamo.reset()
    yield Compiled()
    torch._dynamo.reset()


def assert_equal(got: Any, wanted: Any) -> None:
    if not isinstance(wanted, torch.Tensor):
        assert got == wanted
        return
    tolerance = TOLERANCE.get(wanted.dtype, 0.0)
    torch.testing.assert_close(got, wanted, rtol=tolerance, atol=tolerance, equal_nan=True)
    assert got.stride() == wanted.stride()


@pytest.mark.parametrize("name", CASES)
def test_gives_what_eager_gives(name: str, mlir: Compiled) -> None:
    case = CASES[name]
    compiled = mlir.compile(case.call, case.dynamic)
    for arguments in case.calls:
        wanted, got = case.call(*arguments), compiled(*arguments)
        for pair in zip(*(value if isinstance(value, tuple) else (value,) for value in (got, wanted)), strict=True):
            assert_equal(*pair)
    assert mlir.failures == []
    assert (mlir.native > 0) == case.native


def test_writes_to_an_input_as_eager_does(mlir: Compiled) -> None:
    def double(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        x.mul_(2)
        return x + y

    theirs, other = R(4, 4), R(4, 4)
    ours = theirs.clone()
    assert_equal(mlir.compile(double)(ours, other), double(theirs, other))
    assert_equal(ours, theirs)
    assert mlir.native > 0


def test_outputs_that_share_memory_in_eager_share_it_here(mlir: Compiled) -> None:
    compiled = mlir.compile(lambda x: ((y := x + 1), y.t(), y[0]))
    y, transposed, row = compiled(R(4, 4))
    y.fill_(7)
    assert transposed.eq(7).all()
    assert row.eq(7).all()


def test_draws_the_random_numbers_that_eager_draws(mlir: Compiled) -> None:
    def noisy(x: torch.Tensor) -> torch.Tensor:
        return F.dropout(x * 2, 0.5, True) + torch.rand_like(x) * torch.randn(x.shape)

    x = R(16, 16)
    torch.manual_seed(3)
    wanted, after = noisy(x), torch.rand(1)
    torch.manual_seed(3)
    assert_equal(mlir.compile(noisy)(x), wanted)
    assert_equal(torch.rand(1), after)


class Training(NamedTuple):
    model: Callable[[], nn.Module]
    batches: tuple[torch.Tensor, ...]
    dynamic: bool | None = None


TRAINING = {
    "mlp": Training(mlp, (R(8, 16),)),
    "mlp resized": Training(
        lambda: nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 4)), (R(8, 16), R(5, 16)), dynamic=True
    ),
    "cnn": Training(
        lambda: nn.Sequential(
            *(nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten()),
            nn.Linear(8 * 64, 4),
        ),
        (R(4, 3, 16, 16),),
    ),
    "transformer": Training(
        lambda: nn.TransformerEncoderLayer(16, 2, 32, dropout=0.0, batch_first=True), (R(2, 5, 16),)
    ),
    "embedding": Training(
        lambda: nn.Sequential(nn.Embedding(10, 8), nn.GELU(), nn.Linear(8, 4)), (torch.randint(0, 10, (3, 4)),)
    ),
}


@pytest.mark.parametrize("name", TRAINING)
def test_trains_with_the_gradients_of_eager(name: str, mlir: Compiled) -> None:
    training = TRAINING[name]
    model = training.model()
    twin = copy.deepcopy(model)
    compiled = mlir.compile(twin, training.dynamic)
    for batch in training.batches:
        losses = [call(batch).square().mean() for call in (model, compiled)]
        for loss, module in zip(losses, (model, twin), strict=True):
            module.zero_grad()
            loss.backward()
        assert_equal(losses[1], losses[0])
        for ours, theirs in zip(twin.parameters(), model.parameters(), strict=True):
            torch.testing.assert_close(ours.grad, theirs.grad, rtol=1e-4, atol=1e-4)
    for ours, theirs in zip(twin.buffers(), model.buffers(), strict=True):
        assert_equal(ours, theirs)
    assert mlir.failures == []
    assert {phase for _, phase in mlir.graphs} == {"forward", "backward"}
    assert all(graph.mlir_ops for graph in mlir.graphs.values())
