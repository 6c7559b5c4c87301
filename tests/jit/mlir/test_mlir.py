"""The backend in a program: right results whatever happens to the compiler, and one line that says what did."""

from __future__ import annotations

import logging
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import torch

from fullgraph.jit import mlir, region
from fullgraph.jit.events import Lowered, Phase, Stage
from fullgraph.jit.loader import LoadError
from fullgraph.jit.lower.signature import Artifact, Signature
from fullgraph.jit.mlir import Backend
from fullgraph.jit.object_cache import ObjectCache
from fullgraph.jit.runtime import Kernel
from fullgraph.jit.targets import STAGES
from fullgraph.jit.worker import Limits, Worker

pytestmark = pytest.mark.torch


def scaled(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return (x.exp() * y + 1).sin()


class Seen:
    """A backend and what it reported."""

    def __init__(self, **options: Any) -> None:
        self.events: list[Lowered | Stage] = []
        self.backend = Backend(self.events.append, **options)

    def compile(self, call: Callable[..., Any], **options: Any) -> Callable[..., Any]:
        compiled: Callable[..., Any] = torch.compile(call, backend=self.backend, **options)
        return compiled

    @property
    def lowered(self) -> list[Lowered]:
        return [event for event in self.events if isinstance(event, Lowered)]

    @property
    def last(self) -> Lowered:
        return self.lowered[-1]


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    torch._dynamo.reset()
    torch.manual_seed(0)
    yield
    torch._dynamo.reset()


@pytest.fixture
def lines(caplog: pytest.LogCaptureFixture) -> Callable[[], list[str]]:
    caplog.set_level(logging.INFO, "fullgraph.mlir")
    return lambda: [record.getMessage() for record in caplog.records if record.name == "fullgraph.mlir"]


def right(compiled: Callable[..., Any], call: Callable[..., Any] = scaled, *shape: int) -> bool:
    x, y = torch.randn(shape or (4, 8)), torch.randn(shape or (4, 8))
    torch.testing.assert_close(compiled(x, y), call(x, y))
    return True


def test_torch_finds_it_by_its_name() -> None:
    assert "mlir" in torch._dynamo.list_backends()
    assert right(torch.compile(scaled, backend="mlir"))


def test_what_became_of_a_graph(lines: Callable[[], list[str]]) -> None:
    seen = Seen()
    compiled = seen.compile(scaled)
    assert right(compiled)
    before, after = seen.lowered
    assert (before.phase, before.mlir_ops, before.left, before.max_abs_error) == (Phase.INFERENCE, 4, (), None)
    assert (after.mlir_ops, after.failures) == (4, ())
    assert after.max_abs_error is not None
    assert after.max_abs_error < 1e-5
    assert after.compile_s > 0
    assert lines() == []


def test_what_is_left_to_eager_is_told_with_reasons() -> None:
    seen = Seen()
    compiled = seen.compile(lambda x, y: (torch.rand_like(x) * 0 + x) @ y)
    compiled(torch.randn(4, 4), torch.randn(4, 4))
    assert {(item.operator, item.reason) for item in seen.last.left} == {
        ("aten.rand_like.default", "random"),
        ("aten.mm.default", "tuned kernel"),
    }
    assert seen.last.eager_ops == 2


def test_forward_and_backward_are_told_apart() -> None:
    seen = Seen()
    compiled = seen.compile(scaled)
    x, y = torch.randn(4, 8, requires_grad=True), torch.randn(4, 8)
    compiled(x, y).sum().backward()
    got, x.grad = x.grad, None
    scaled(x, y).sum().backward()
    torch.testing.assert_close(got, x.grad)
    assert {item.phase for item in seen.lowered} == {Phase.FORWARD, Phase.BACKWARD}
    assert all(item.mlir_ops for item in seen.lowered)
    assert len({item.graph for item in seen.lowered}) == 1


# --- Differences from eager.


@pytest.fixture
def miscompiling(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[list[int]]:
    """Every native region gives wrong results; the list grows with each call of one.

    What comes of that is kept where it ends with the test.
    """
    calls: list[int] = []

    class Wrong(Kernel):
        def __init__(self, artifact: Artifact, signature: Signature) -> None:
            super().__init__(artifact, signature)
            run = self.call

            def wrong(inputs: Any, shapes: Any) -> tuple[torch.Tensor, ...]:
                calls.append(1)
                return tuple(output + 1 for output in run(inputs, shapes))

            self.call = wrong

    worker = Worker(cache=ObjectCache(tmp_path / "objects"))
    monkeypatch.setattr(mlir, "Kernel", Wrong)
    monkeypatch.setattr(mlir, "shared_worker", lambda: worker)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    yield calls
    worker.close()


def test_a_region_that_differs_is_given_up(
    miscompiling: list[int], lines: Callable[[], list[str]], tmp_path: Path
) -> None:
    seen = Seen()
    compiled = seen.compile(scaled)
    assert all(right(compiled) for _ in range(3))
    assert len(miscompiling) == 1
    assert seen.last.mlir_ops == 0
    assert all(item.reason == "failed" for item in seen.last.left)
    assert seen.last.eager_ops == 4
    (line,) = lines()
    assert re.fullmatch(
        r"graph 1 \(inference\): region_0 runs eagerly: output 0 differs from eager in \d+ of 32 elements, "
        rf"by up to 1; see ({tmp_path}\S+)",
        line,
    )
    (folder,) = (tmp_path / "fullgraph/mismatches").iterdir()
    done = subprocess.run([sys.executable, folder / "reproduce.py"], capture_output=True, text=True, check=False)
    assert done.stdout.startswith("Comparison(max_abs_error="), done.stderr


def test_a_region_that_differed_never_runs_again(miscompiling: list[int], lines: Callable[[], list[str]]) -> None:
    assert right(Seen().compile(scaled))
    for stages in (False, True):
        torch._dynamo.reset()
        seen = Seen(stages=stages)
        assert right(seen.compile(scaled))
        assert (seen.last.mlir_ops, seen.last.eager_ops) == (0, 4)
    assert len(miscompiling) == 1
    assert [line.partition("differs")[0] for line in lines()] == [
        "graph 1 (inference): region_0 runs eagerly: output 0 ",
        *["graph 1 (inference): region_0 runs eagerly: as was seen before, output 0 "] * 2,
    ]


def test_for_want_of_memory_a_region_is_given_up_but_not_for_good(
    lines: Callable[[], list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*arguments: object) -> None:
        raise MemoryError("no room for 8 bytes\nmore of it")

    with monkeypatch.context() as patch:
        patch.setattr(region, "compare", fail)
        seen = Seen()
        compiled = seen.compile(scaled)
        assert all(right(compiled) for _ in range(2))
    compiles_eagerly(lines(), seen, "cannot be compared with eager: no room for 8 bytes")
    torch._dynamo.reset()
    again = Seen()
    assert right(again.compile(scaled))
    assert again.last.mlir_ops == 4


def test_comparing_can_be_switched_off(miscompiling: list[int], lines: Callable[[], list[str]]) -> None:
    seen = Seen()
    compiled, x = seen.compile(scaled, options={"compare": False}), torch.randn(4, 8)
    torch.testing.assert_close(compiled(x, x), scaled(x, x) + 1)
    assert (seen.last.mlir_ops, seen.last.max_abs_error, lines()) == (4, None, [])


def test_there_are_no_other_options() -> None:
    with pytest.raises(Exception, match="the backend mlir has no option 'fast', only 'compare'"):
        torch.compile(scaled, backend="mlir", options={"fast": True})(torch.ones(2), torch.ones(2))


def test_a_reproducer_that_cannot_be_written_does_no_harm(
    miscompiling: list[int], lines: Callable[[], list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", "/dev/null/nowhere")
    assert right(Seen().compile(scaled))
    (line,) = lines()
    assert line.endswith("by up to 1")


def test_the_first_and_the_largest_shapes_of_a_region_with_symbolic_sizes_are_compared(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    compared: list[tuple[int, ...]] = []
    compare = region.compare

    def watch(actual: Any, *others: Any) -> Any:
        compared.append(tuple(actual[0].shape))
        return compare(actual, *others)

    monkeypatch.setattr(region, "compare", watch)
    compiled = Seen().compile(scaled, dynamic=True)
    for rows in (4, 4, 5, 6, 5, 7, 8, 60, 70):
        assert right(compiled, scaled, rows, 8)
    assert compared == [(4, 8), (5, 8), (6, 8), (60, 8)]  # the last because it is so much larger


def test_what_eager_raises_is_raised() -> None:
    def picked(x: torch.Tensor, i: torch.Tensor) -> torch.Tensor:
        return (x * 2)[i] + 1

    compiled = Seen().compile(picked)
    x = torch.randn(4, 3)
    torch.testing.assert_close(compiled(x, torch.tensor([0, 3])), picked(x, torch.tensor([0, 3])))
    with pytest.raises(IndexError):
        compiled(x, torch.tensor([0, 4]))


def test_random_numbers_are_eagers() -> None:
    def noisy(x: torch.Tensor) -> torch.Tensor:
        return (torch.nn.functional.dropout(x * 2, 0.5) + torch.randn(4, 8)).exp()

    x = torch.randn(4, 8)
    torch.manual_seed(3)
    expected, state = noisy(x), torch.get_rng_state()
    torch.manual_seed(3)
    torch.testing.assert_close(Seen().compile(noisy)(x), expected)
    assert torch.equal(torch.get_rng_state(), state)


# --- Aliases and effects.


def test_inputs_are_mutated() -> None:
    def mutating(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        x.mul_(y).add_(1)
        y[0] = 3
        return x.exp()

    x, y = torch.randn(4, 8), torch.randn(4, 8)
    own_x, own_y = x.clone(), y.clone()
    torch.testing.assert_close(Seen().compile(mutating)(own_x, own_y), mutating(x, y))
    torch.testing.assert_close((own_x, own_y), (x, y))


def test_a_mutated_input_that_is_another_ones_view() -> None:
    def mutating(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        x.add_(1)
        return y * 2

    x = torch.randn(4, 8)
    own = x.clone()
    torch.testing.assert_close(Seen().compile(mutating)(own, own[1:]), mutating(x, x[1:]))
    torch.testing.assert_close(own, x)


def test_outputs_alias_what_they_do_in_eager() -> None:
    def views(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        y = x + 1
        return x[1:], x, y, y.t(), y

    x = torch.randn(4, 8)
    part, same, y, transposed, again = Seen().compile(views)(x)
    assert same is x
    assert part.data_ptr() == x[1:].data_ptr()
    assert y is again or y.data_ptr() == again.data_ptr()
    assert transposed.data_ptr() == y.data_ptr()
    y.zero_()
    assert transposed.abs().sum() == 0


def test_inference_mode_and_no_grad() -> None:
    compiled = Seen().compile(scaled)
    with torch.inference_mode():
        assert right(compiled)
    with torch.no_grad():
        assert right(compiled)


def test_autocast() -> None:
    model = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.GELU())
    compiled, x = Seen().compile(model), torch.randn(4, 8)
    with torch.autocast("cpu", torch.bfloat16):
        torch.testing.assert_close(compiled(x), model(x), rtol=4e-2, atol=4e-2)


# --- What can go wrong while compiling.


def compiles_eagerly(lines: list[str], seen: Seen, reason: str) -> None:
    (line,) = lines
    assert re.fullmatch(rf"graph 1 \(inference\): (region_0|all of it) runs eagerly: {reason}", line)
    assert seen.last.mlir_ops == 0
    assert seen.last.eager_ops
    assert len(seen.last.failures) == 1


class Stopped(Worker):
    """A compiler that has come up and does not run."""

    def compile(self, *request: Any) -> Any:
        with self._lock:
            process = self._running().process
        os.kill(process.pid, signal.SIGSTOP)
        return super().compile(*request)


def test_the_compiler_is_killed_while_it_compiles(lines: Callable[[], list[str]]) -> None:
    worker = Stopped()
    seen = Seen(worker=worker)
    worker.start()
    pid = worker.pid
    assert pid is not None
    threading.Timer(4, os.kill, (pid, signal.SIGKILL)).start()
    assert right(seen.compile(scaled))
    compiles_eagerly(lines(), seen, "the compiler's process was killed by SIGKILL")
    worker.close()


def test_the_time_limit_passes(lines: Callable[[], list[str]]) -> None:
    worker = Stopped(Limits(seconds=1))
    seen = Seen(worker=worker)
    assert right(seen.compile(scaled))
    compiles_eagerly(lines(), seen, "compiling took longer than 1 s")
    worker.close()


def test_code_that_cannot_be_loaded(lines: Callable[[], list[str]], monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*arguments: object) -> None:
        raise LoadError("the object calls 'system', which native code may not")

    monkeypatch.setattr(mlir, "Kernel", refuse)
    seen = Seen()
    assert right(seen.compile(scaled))
    compiles_eagerly(lines(), seen, "the object calls 'system', which native code may not")


def never_split(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """No other test may compile it: how a graph was split once is kept."""
    return (x.exp2() * y + 7).cos()


def refuse_to_split(graph: object, choose: object) -> None:
    raise KeyError("val")


def test_a_graph_that_cannot_be_split(lines: Callable[[], list[str]], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fullgraph.jit.lower.plan.plan", refuse_to_split)
    seen = Seen()
    assert right(seen.compile(never_split), never_split)
    compiles_eagerly(lines(), seen, "it cannot be split into regions: KeyError: 'val'")


def test_a_training_graph_that_cannot_be_split(monkeypatch: pytest.MonkeyPatch) -> None:
    """AOTAutograd still reads what it has noted in its own graph."""
    monkeypatch.setattr("fullgraph.jit.lower.plan.plan", refuse_to_split)
    seen = Seen()
    x, y = torch.randn(4, 8, requires_grad=True), torch.randn(4, 8)
    (found,) = torch.autograd.grad(seen.compile(never_split)(x, y).sum(), x)
    (expected,) = torch.autograd.grad(never_split(x, y).sum(), x)
    torch.testing.assert_close(found, expected)
    assert [item.phase for item in seen.lowered] == [Phase.FORWARD, Phase.BACKWARD]


def test_a_graph_that_autograd_cannot_trace(lines: Callable[[], list[str]], monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(**options: object) -> Any:
        raise RuntimeError("not today\nreally")

    monkeypatch.setattr(mlir, "aot_autograd", refuse)
    seen = Seen()
    assert right(seen.compile(scaled))
    compiles_eagerly(lines(), seen, "AOTAutograd raised RuntimeError: not today")


def test_where_nothing_can_be_compiled(lines: Callable[[], list[str]], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mlir, "unavailable", lambda: "torch-mlir is not installed")
    assert right(Seen().compile(scaled))
    assert lines() == ["graph 1 runs eagerly: torch-mlir is not installed"]


def test_arguments_that_the_code_is_not_for_run_eagerly() -> None:
    class Own(torch.Tensor):
        pass

    seen = Seen()
    compiled = seen.compile(scaled)
    x = torch.randn(4, 8).as_subclass(Own)
    torch.testing.assert_close(compiled(x, x).as_subclass(torch.Tensor), scaled(x, x).as_subclass(torch.Tensor))


def test_threads_compile_and_call_at_once() -> None:
    def work(seed: int) -> bool:
        def own(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
            return (x * seed).exp().clamp(max=9) + y

        compiled = torch.compile(own, backend=Seen().backend)
        return all(right(compiled, own) for _ in range(50))

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(work, range(1, 5)))


# --- What can be looked at.


def test_every_stage_can_be_shown() -> None:
    seen = Seen(stages=True)
    assert right(seen.compile(scaled))
    stages = [event for event in seen.events if isinstance(event, Stage)]
    assert tuple(stage.name for stage in stages) == STAGES
    assert all(stage.text.strip() for stage in stages)
    assert {stage.region for stage in stages} == {None, "region_0"}
