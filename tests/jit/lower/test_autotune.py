"""A matrix product goes where it was measured to be faster, with what follows it, and gives what eager gives."""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("torch_mlir")

from torch import nn  # noqa: E402
from torch.nn import functional as F  # noqa: E402

from fullgraph.jit.autotune import Medians, Tuner, Way, measured  # noqa: E402
from fullgraph.jit.events import Lowered, Stage  # noqa: E402
from fullgraph.jit.mlir import Backend  # noqa: E402
from fullgraph.jit.object_cache import ObjectCache  # noqa: E402
from fullgraph.jit.worker import Worker  # noqa: E402

pytestmark = pytest.mark.torch
R = torch.randn
MLIR_WINS, ATEN_WINS = Medians(aten=2.0, mlir=1.0), Medians(aten=1.0, mlir=2.0)


class Decided:
    """A measure whose outcome is known beforehand."""

    def __init__(self, outcome: Medians | Exception) -> None:
        self.outcome = outcome
        self.asked = 0

    def __call__(self, aten: Way, mlir: Way) -> Medians:
        self.asked += 1
        if isinstance(self.outcome, Exception):
            raise self.outcome
        return self.outcome


class Seen:
    """A backend that keeps its choices in a folder, and what it reports."""

    def __init__(self, worker: Worker, folder: Path, measure: Decided) -> None:
        self.events: list[Lowered | Stage] = []
        self.measure = measure
        tuner = Tuner(worker, ObjectCache(folder), measure)
        self._backend = Backend(self.events.append, stages=True, worker=worker, tuner=tuner)

    def compile(self, call: Callable[..., Any], max_autotune: bool = True, dynamic: bool = False) -> Callable[..., Any]:
        torch._dynamo.reset()
        compiled: Callable[..., Any] = torch.compile(
            call, backend=self._backend, dynamic=dynamic, options={"max_autotune": max_autotune}
        )
        return compiled

    def stage(self, name: str) -> str:
        return "\n".join(item.text for item in self.events if isinstance(item, Stage) and item.name == name)

    @property
    def failures(self) -> list[str]:
        return [text for event in self.events if isinstance(event, Lowered) for text in event.failures]

    @property
    def left(self) -> set[str]:
        return {item.operator for event in self.events if isinstance(event, Lowered) for item in event.left}


@pytest.fixture(scope="module")
def worker() -> Iterator[Worker]:
    worker = Worker()
    yield worker
    worker.close()


@pytest.fixture
def seen(worker: Worker, tmp_path: Path) -> Callable[..., Seen]:
    def make(outcome: Medians | Exception, folder: Path = tmp_path / "objects") -> Seen:
        return Seen(worker, folder, Decided(outcome))

    return make


def relu(x: torch.Tensor, w: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return F.linear(x, w, b).relu()


class Case(NamedTuple):
    call: Callable[..., torch.Tensor]
    inputs: tuple[torch.Tensor, ...]
    choices: tuple[str, ...]


CASES = {
    "terms side by side": Case(relu, (R(16, 64), R(32, 64), R(32)), ("addmm 16x64 @ 64x32ᵀ + relu",)),
    "one row": Case(lambda x, w: torch.tanh(x @ w.t()), (R(1, 256), R(64, 256)), ("mm 1x256 @ 256x64ᵀ + tanh",)),
    "one column": Case(relu, (R(32, 64), R(1, 64), R(1)), ("addmm 32x64 @ 64x1 + relu",)),
    "sizes that make no vectors": Case(
        lambda x, w, b: F.gelu(F.linear(x, w, b)),
        (R(7, 13), R(10, 13), R(10)),
        ("addmm 7x13 @ 13x10ᵀ + mul + mul + erf + add + mul",),
    ),
    "rows side by side": Case(
        lambda x, w, r: x @ w + r, (R(16, 32), R(32, 24), R(16, 24)), ("mm 16x32 @ 32x24 + add",)
    ),
    "first operand transposed": Case(lambda x, w: (x.t() @ w) * 3, (R(8, 16), R(8, 40)), ("mm 16x8ᵀ @ 8x40 + mul",)),
    "scaled": Case(
        lambda b, x, w: torch.addmm(b, x, w, beta=0.5, alpha=2).relu(),
        (R(6, 8), R(6, 16), R(16, 8)),
        ("addmm 6x16 @ 16x8 + relu",),
    ),
    "batches": Case(
        lambda q, k: torch.bmm(q, k.transpose(1, 2)).relu(),
        (R(3, 8, 16), R(3, 12, 16)),
        ("bmm 3x8x16 @ 3x16x12ᵀ + relu",),
    ),
    "seen in three dimensions": Case(
        lambda x, w, b: x + F.linear(x, w, b).sigmoid(),
        (R(2, 5, 16), R(16, 16), R(16)),
        ("addmm 10x16 @ 16x16ᵀ + sigmoid + add",),
    ),
    "blocks of rows, columns and terms": Case(
        relu, (R(48, 1024), R(272, 1024), R(272)), ("addmm 48x1024 @ 1024x272ᵀ + relu",)
    ),
    "a product added to another": Case(
        lambda x, w, v: x @ w + x @ v, (R(4, 8), R(8, 16), R(8, 16)), ("mm 4x8 @ 8x16 + add", "mm 4x8 @ 8x16")
    ),
    "what native code reads again": Case(
        lambda x, w: torch.softmax((x @ w).relu(), -1), (R(4, 8), R(8, 16)), ("mm 4x8 @ 8x16",)
    ),
    "the same product twice": Case(
        lambda x, w: torch.cat([(x @ w).exp(), (w.t() @ x.t()).t()]),
        (R(4, 8), R(8, 8)),
        ("mm 4x8 @ 8x8", "mm 8x8ᵀ @ 8x4ᵀ"),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_native_products_give_what_eager_gives(name: str, seen: Callable[..., Seen]) -> None:
    case, ours = CASES[name], seen(MLIR_WINS)
    compiled = ours.compile(case.call)
    for _ in range(2):  # the first results are those of eager, with which the native ones are compared
        torch.testing.assert_close(compiled(*case.inputs), case.call(*case.inputs), rtol=1e-4, atol=1e-4)
    assert ours.failures == []
    assert not {"aten.mm.default", "aten.addmm.default", "aten.bmm.default"} & ours.left
    assert [line[2:].partition(",")[0] for line in ours.stage("choices").splitlines()] == list(case.choices)


@pytest.mark.parametrize("name", ["terms side by side", "rows side by side"])
def test_sums_are_vectors_that_stay_in_registers(name: str, seen: Callable[..., Seen]) -> None:
    case, ours = CASES[name], seen(MLIR_WINS)
    ours.compile(case.call)(*case.inputs)
    assert any("iter_args" in line and "-> (vector<" in line for line in ours.stage("schedule").splitlines())


def test_gradients_are_those_of_eager(seen: Callable[..., Seen]) -> None:
    model = nn.Sequential(nn.Linear(16, 32), nn.GELU(), nn.Linear(32, 8), nn.ReLU())
    twin, ours = copy.deepcopy(model), seen(MLIR_WINS)
    compiled = ours.compile(twin)
    for batch in (R(8, 16), R(8, 16)):
        for call in (model, compiled):
            call(batch).square().mean().backward()
    for own, theirs in zip(twin.parameters(), model.parameters(), strict=True):
        torch.testing.assert_close(own.grad, theirs.grad, rtol=1e-4, atol=1e-4)
    assert ours.failures == []
    assert ours.measure.asked == 5  # two forward, and all but the one that no parameter needs backward
    assert not {"aten.mm.default", "aten.addmm.default"} & ours.left


def test_a_product_stays_in_aten_unless_clearly_slower_there(seen: Callable[..., Seen], tmp_path: Path) -> None:
    case = CASES["terms side by side"]
    for number, (aten, native) in enumerate([(0.5, False), (1.0, False), (1.04, False), (1.06, True)]):
        ours = seen(Medians(aten=aten, mlir=1.0), tmp_path / str(number))
        torch.testing.assert_close(ours.compile(case.call)(*case.inputs), case.call(*case.inputs))
        assert ("aten.addmm.default" not in ours.left) == native


def test_another_process_does_not_measure_again(seen: Callable[..., Seen]) -> None:
    case, first, second = CASES["terms side by side"], seen(MLIR_WINS), seen(ATEN_WINS)
    for ours in (first, second):
        ours.compile(case.call)(*case.inputs)
        assert "aten.addmm.default" not in ours.left
    assert (first.measure.asked, second.measure.asked) == (1, 0)
    assert first.stage("choices") == second.stage("choices")


@pytest.mark.parametrize("damage", [b"", b"{}" * 40], ids=["emptied", "overwritten"])
def test_a_damaged_choice_is_made_again(damage: bytes, seen: Callable[..., Seen], tmp_path: Path) -> None:
    case, first, second = CASES["terms side by side"], seen(MLIR_WINS), seen(ATEN_WINS)
    first.compile(case.call)(*case.inputs)
    (entry,) = tmp_path.rglob("*.timed*")
    entry.write_bytes(damage)
    second.compile(case.call)(*case.inputs)
    assert second.measure.asked == 1
    assert "aten.addmm.default" in second.left


def test_what_cannot_be_kept_is_measured_once_in_a_process(seen: Callable[..., Seen], tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    case, ours = CASES["terms side by side"], seen(MLIR_WINS, tmp_path / "file" / "objects")
    for _ in range(2):
        ours.compile(case.call)(*case.inputs)
    assert ours.measure.asked == 1
    assert ours.failures == []


def test_what_cannot_be_measured_stays_in_aten_until_the_next_process(seen: Callable[..., Seen]) -> None:
    case, failing, next_one = CASES["terms side by side"], seen(RuntimeError("out of memory")), seen(MLIR_WINS)
    got = failing.compile(case.call)(*case.inputs)
    torch.testing.assert_close(got, case.call(*case.inputs))
    assert "aten.addmm.default" in failing.left
    assert "ATen, because RuntimeError: out of memory" in failing.stage("choices")
    next_one.compile(case.call)(*case.inputs)
    assert next_one.measure.asked == 1


class Negating(Worker):
    """A compiler that takes one operator for another."""

    def compile(self, text: str, *arguments: Any) -> Any:
        return super().compile(text.replace("torch.aten.relu ", "torch.aten.neg "), *arguments)


def test_wrong_results_are_not_measured(tmp_path: Path) -> None:
    worker = Negating()
    ours, case = Seen(worker, tmp_path, Decided(MLIR_WINS)), CASES["terms side by side"]
    ours.compile(case.call)(*case.inputs)
    worker.close()
    assert ours.measure.asked == 0
    assert "ATen, because output 0 differs from eager" in ours.stage("choices")


def test_the_number_of_threads_is_part_of_a_class(seen: Callable[..., Seen]) -> None:
    case, ours, before = CASES["terms side by side"], seen(MLIR_WINS), torch.get_num_threads()
    try:
        for threads in (1, 2):
            torch.set_num_threads(threads)
            ours.compile(case.call)(*case.inputs)
    finally:
        torch.set_num_threads(before)
    assert ours.measure.asked == 2


def test_nothing_is_measured_unless_asked_for(seen: Callable[..., Seen]) -> None:
    case, ours = CASES["terms side by side"], seen(MLIR_WINS)
    ours.compile(case.call, max_autotune=False)(*case.inputs)
    assert ours.measure.asked == 0
    assert "aten.addmm.default" in ours.left
    assert ours.stage("choices") == ""


@pytest.mark.parametrize(
    ("inputs", "dynamic"),
    [((R(4, 8), R(8, 8)), True), ((R(4, 8).double(), R(8, 8).double()), False), ((R(0, 8), R(8, 8)), False)],
    ids=["symbolic sizes", "float64", "no rows"],
)
def test_other_products_stay_in_aten(
    inputs: tuple[torch.Tensor, ...], dynamic: bool, seen: Callable[..., Seen]
) -> None:
    ours = seen(MLIR_WINS)
    got = ours.compile(lambda x, w: (x @ w).relu(), dynamic=dynamic)(*inputs)
    torch.testing.assert_close(got, (inputs[0] @ inputs[1]).relu())
    assert ours.measure.asked == 0
    assert "aten.mm.default" in ours.left


def test_measuring_draws_no_random_numbers(seen: Callable[..., Seen]) -> None:
    case = CASES["terms side by side"]
    torch.manual_seed(0)
    wanted = torch.rand(1)
    torch.manual_seed(0)
    seen(MLIR_WINS).compile(case.call)(*case.inputs)
    assert torch.equal(torch.rand(1), wanted)


def test_both_ways_are_timed_in_bounded_time() -> None:
    started = time.perf_counter()
    medians = measured(lambda: time.sleep(0.002), lambda: None)
    assert medians.mlir < medians.aten
    assert medians.aten >= 0.002
    assert time.perf_counter() - started < 5


def test_an_unknown_option_is_an_error_that_names_the_others() -> None:
    torch._dynamo.reset()
    with pytest.raises(Exception, match="no option 'max_autotun', only 'compare' and 'max_autotune'"):
        torch.compile(torch.relu, backend="mlir", options={"max_autotun": True})(R(2))
