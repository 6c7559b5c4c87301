"""Observing Dynamo in this process: what becomes an event, and that nothing is left behind."""

from __future__ import annotations

import logging
import re
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import pytest

from fullgraph.jit.events import (
    BackendError,
    Break,
    BreakKind,
    Event,
    Failure,
    Frame,
    Graph,
    GuardNode,
    Mismatch,
    Recompile,
    Reuse,
    Traced,
)
from fullgraph.jit.targets import Settings

if TYPE_CHECKING:
    from fullgraph.jit.capture import Paths

pytestmark = pytest.mark.torch
E = TypeVar("E")
Observe = Callable[..., list[Event]]


@pytest.fixture
def observed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Observe]:
    """Runs the text of a program under observation and returns the events; a helper called `library` is installed."""
    import torch

    from fullgraph.jit.backend import overridden
    from fullgraph.jit.capture import Paths, observe

    def run(
        source: str, raises: type[BaseException] | None = None, backend: str | None = "eager", **helpers: str
    ) -> list[Event]:
        for name, text in helpers.items():
            folder = site_packages if name == "library" else tmp_path
            (folder / f"{name}.py").write_text(textwrap.dedent(text))
        program = tmp_path / "program.py"
        program.write_text(textwrap.dedent(source))
        events: list[Event] = []
        namespace: dict[str, Any] = {"__name__": "program"}
        with overridden(Settings(backend=backend), events.append), observe(events.append, Paths(tmp_path, (tmp_path,))):
            code = compile(program.read_bytes(), str(program), "exec")
            if raises is None:
                exec(code, namespace)
            else:
                with pytest.raises(raises):
                    exec(code, namespace)
        return events

    site_packages = tmp_path / "site-packages"
    site_packages.mkdir()
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.syspath_prepend(site_packages)
    torch._dynamo.reset()
    yield run
    torch._dynamo.reset()
    for name in ("library", "helper"):
        sys.modules.pop(name, None)


def torch_before(*version: int) -> bool:
    import torch

    return tuple(int(part) for part in torch.__version__.split(".")[:2]) < version


def only(kind: type[E], events: list[Event]) -> list[E]:
    return [event for event in events if isinstance(event, kind)]


def test_dynamo_is_as_before_afterwards(observed: Observe) -> None:
    import torch
    from torch._dynamo import convert_frame, output_graph, symbolic_convert
    from torch._dynamo.backends import registry
    from torch.fx.experimental.symbolic_shapes import ShapeEnv

    def state() -> list[object]:
        return [
            convert_frame.ConvertFrameAssert.__call__,
            convert_frame.get_and_maybe_log_recompilation_reasons,
            symbolic_convert.InstructionTranslatorBase.step,
            getattr(symbolic_convert.InstructionTranslatorBase, "log_graph_break", None),
            getattr(symbolic_convert, "log_graph_break", None),
            output_graph.OutputGraph.call_user_compiler,
            ShapeEnv.create_symbol,
            ShapeEnv._set_replacement,
            torch._dynamo.optimize,
            dict(torch.compile.__kwdefaults__ or {}),
            getattr(registry, "_default_backend", None),
        ]

    before = state()
    observed("raise ValueError", raises=ValueError)
    assert state() == before


def test_a_break_knows_its_place_its_callers_and_what_to_do(observed: Observe) -> None:
    events = observed(
        """
        import torch

        class Net(torch.nn.Module):
            def forward(self, x):
                return self.scaled(x, "ä")

            def scaled(self, x, _):
                y = "ää"; return x * x.sum().item()

        net = torch.compile(Net())
        net(torch.ones(3))
        """
    )
    item = only(Break, events)[0]
    assert (item.kind, item.path, item.line) == (BreakKind.GRAPH_BREAK, "program.py", 9)
    line = '        y = "ää"; return x * x.sum().item()'
    assert item.column is not None
    assert line[item.column : item.end_column] == "x.sum().item()"
    assert (item.gb, item.root_gb, item.root) == ("GB0124", "GB0124", "program.py:9")
    assert item.function == "Net.scaled"
    assert item.stack[0] == ("program.py", 12, "<module>")
    assert any("capture_scalar_outputs" in hint for hint in item.hints)
    assert not item.in_library


def test_what_torch_logs_meanwhile_shows_the_programs_own_frames_only(
    observed: Observe, caplog: pytest.LogCaptureFixture
) -> None:
    import torch._logging

    torch._logging.set_logs(graph_breaks=True)
    logger = logging.getLogger("torch._dynamo.symbolic_convert.__graph_breaks")
    logger.addHandler(caplog.handler)
    try:
        observed(
            """
            import torch

            @torch.compile
            def f(x):
                return x * x.sum().item()

            def main():
                f(torch.ones(3))

            main()
            """
        )
    finally:
        logger.removeHandler(caplog.handler)
        torch._logging.set_logs()
    (message,) = {text for text in caplog.messages if text.startswith("Graph break in user code")}
    traceback = message.partition("User code traceback:")[2]
    assert re.findall(r'/(\w+\.py)", line (\d+)', traceback)[-3:] == [
        ("program.py", "11"),
        ("program.py", "9"),
        ("program.py", "6"),
    ]
    assert "recorder.py" not in traceback


def test_a_break_inside_a_library_is_told_at_the_call(observed: Observe) -> None:
    events = observed(
        """
        import torch
        from library import read

        @torch.compile
        def f(x):
            return read(x) + 1

        f(torch.ones(3))
        """,
        library="""
        def read(x):
            return x.sum().item()
        """,
    )
    item = only(Break, events)[0]
    assert (item.path, item.line, item.in_library) == ("program.py", 7, True)
    assert item.root == "site-packages/library.py:3"


def test_a_break_in_another_file_of_the_user_is_told_there(observed: Observe) -> None:
    events = observed(
        """
        import torch
        from helper import read

        @torch.compile
        def f(x):
            return read(x) + 1

        f(torch.ones(3))
        """,
        helper="""
        def read(x):
            return x.sum().item()
        """,
    )
    item = only(Break, events)[0]
    assert (item.path, item.line, item.function) == ("helper.py", 3, "read")
    assert [site[:2] for site in item.stack] == [("program.py", 9), ("program.py", 7)]


def test_a_skipped_frame_keeps_the_first_cause(observed: Observe) -> None:
    events = observed(
        """
        import torch

        @torch.compile
        def f(x):
            for _ in range(2):
                x = x + x.sum().item()
            return x

        f(torch.ones(3))
        """
    )
    item = only(Break, events)[-1]
    assert (item.kind, item.line, item.root_gb) == (BreakKind.SKIPPED_FRAME, 7, "GB0124")
    assert item.gb == ("GB0124" if torch_before(2, 10) else "GB7000")


def test_a_resumed_function_keeps_its_name(observed: Observe) -> None:
    events = observed(
        """
        import torch

        @torch.compile
        def f(x):
            x = x + 1
            print("one")
            x = x + 2
            print("two")
            return x + 3

        f(torch.ones(3))
        """
    )
    breaks = only(Break, events)
    assert [(item.line, item.function) for item in breaks] == [(7, "f"), (9, "f")]
    assert [site for item in breaks for site in item.stack] == [("program.py", 12, "<module>")] * 2
    assert {frame.function for frame in only(Frame, events)} == {"f"}
    assert {frame.graphs for frame in only(Frame, events)} == {1}


def test_frames_graphs_and_guards(observed: Observe) -> None:
    events = observed(
        """
        import torch

        @torch.compile
        def f(x, n):
            return (x * n).cos()

        f(torch.ones(3), 2)
        f(torch.ones(3), 2)
        """
    )
    (frame,), (graph,) = only(Frame, events), only(Graph, events)
    assert (frame.id, frame.path, frame.line, frame.function) == ("0/0", "program.py", 4, "f")
    assert (frame.graphs, frame.ops, graph.ops) == (1, 2, 2)
    assert any("L['n'] == 2" in guard for guard in frame.guards)
    assert 0 <= graph.compile_s <= frame.compile_s
    assert only(Reuse, events) == [Reuse("0")]


def test_guards_are_a_tree_with_the_lines_that_made_them(observed: Observe) -> None:
    events = observed(
        """
        import torch

        class Net(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.settings = {"scale": 2}

            def forward(self, x):
                x = x + 1
                return x * self.settings["scale"]

        torch.compile(Net())(torch.ones(3))
        """
    )
    (frame,) = only(Frame, events)
    assert frame.guard_tree is not None
    (guard,) = (item for item in frame.guard_tree.walk() if item.expression.endswith("['scale'] == 2"))
    assert (guard.kind, guard.site) == ("EQUALS_MATCH", ("program.py", 11, "forward"))

    def path_to(node: GuardNode) -> list[tuple[str, str]]:
        if guard in node.guards:
            return [(node.source, node.type)]
        return next(([(node.source, node.type), *rest] for child in node.children if (rest := path_to(child))), [])

    path = path_to(frame.guard_tree)
    assert path[-1] == ("L['self'].settings['scale']", "int")
    assert ("L['self'].settings", "dict") in path
    assert any(item.kind == "TENSOR_MATCH" for item in frame.guard_tree.walk())


def test_symbolic_sizes_and_the_line_that_made_one_a_number(observed: Observe) -> None:
    events = observed(
        """
        import torch

        @torch.compile(dynamic=True)
        def f(x, y):
            x = x * 2
            if y.shape[0] == 7:
                return x + 1
            return x

        f(torch.ones(3, 1), torch.ones(7))
        """
    )
    (frame,) = only(Frame, events)
    sizes = {item.source: item for item in frame.symbols}
    first, second = sizes["L['x'].size()[0]"], sizes["L['y'].size()[0]"]
    assert (first.hint, first.value, first.site) == ("3", None, None)
    assert (second.hint, second.value, second.site) == ("7", "7", ("program.py", 7, "f"))
    assert "L['x'].size()[1]" not in sizes


def test_compile_time_is_told_by_phase(observed: Observe) -> None:
    events = observed(
        """
        import time
        import torch
        from torch._dynamo.backends.common import aot_autograd

        def forward_only(graph, inputs):
            time.sleep(0.2)
            return graph

        def slow(graph, inputs):
            time.sleep(0.2)
            return aot_autograd(fw_compiler=forward_only)(graph, inputs)

        @torch.compile(backend=slow)
        def f(x):
            return x + 1

        f(torch.ones(3))
        """,
        backend=None,
    )
    (frame,) = only(Frame, events)
    assert frame.phases is not None
    assert frame.phases.backend_s >= 0.2
    assert frame.phases.aot_s > 0
    assert frame.phases.guards_s > 0
    assert frame.phases.dynamo_s < frame.compile_s
    parts = (frame.phases.dynamo_s, frame.phases.aot_s, frame.phases.backend_s, frame.phases.guards_s)
    assert sum(parts) <= frame.compile_s


def test_a_backend_that_raises_is_told_with_its_name(observed: Observe) -> None:
    from torch._dynamo.exc import BackendCompilerFailed

    events = observed(
        """
        import torch

        def fragile(graph, inputs):
            raise ValueError("no such operator\\nhere")

        @torch.compile(backend=fragile)
        def f(x):
            return x + 1

        f(torch.ones(3))
        """,
        raises=BackendCompilerFailed,
        backend=None,
    )
    (error,) = only(BackendError, events)
    assert (error.frame, error.backend, error.kind) == ("0/0", "fragile", "ValueError")
    assert error.reason == "no such operator"
    assert error.site == ("program.py", 9, "f")
    assert not only(Failure, events)
    assert not only(Break, events)


def test_recompiles_name_the_failed_guard_and_where_it_was_made(observed: Observe) -> None:
    events = observed(
        """
        import torch

        @torch.compile
        def f(x, name):
            if name == "a":
                return x + 1
            return x + 2

        for name in "abc":
            f(torch.ones(3), name)
        """
    )
    first, second = only(Recompile, events)
    assert (first.frame, first.function, first.line, first.limit_hit) == ("0/1", "f", 4, False)
    assert "name == 'a'" in first.failed_guards[0]
    assert first.guard_sites == (("program.py", 6, "f"),)
    assert [guard.partition(":")[0] for guard in second.failed_guards] == ["0/1", "0/0"]
    assert second.mismatches == (Mismatch("name == 'b'", "'b'", "'c'"), Mismatch("name == 'a'", "'a'", "'c'"))


def test_a_failed_guard_of_a_tensor_says_what_came(observed: Observe) -> None:
    events = observed(
        """
        import torch

        @torch.compile(dynamic=False)
        def f(x):
            return x + 1

        f(torch.ones(3))
        f(torch.ones(4))
        """
    )
    (recompile,) = only(Recompile, events)
    assert [(item.expected, item.actual) for item in recompile.mismatches] == [("3", "4")]


def test_the_recompile_limit_is_told(observed: Observe) -> None:
    events = observed(
        """
        import torch

        @torch.compile(dynamic=False)
        def f(x):
            return x + 1

        for n in range(12):
            f(torch.ones(n))
        """
    )
    recompiles = only(Recompile, events)
    assert [item.limit_hit for item in recompiles] == [False] * 7 + [True]
    assert not only(Break, events)


def test_only_lines_that_were_traced_are_told(observed: Observe) -> None:
    events = observed(
        """
        import torch

        @torch.compile
        def f(x, flag):
            if flag:
                return x + 1
            return x + 2

        f(torch.ones(3), True)
        """
    )
    (traced,) = only(Traced, events)
    assert (traced.frame, traced.path, traced.function) == ("0", "program.py", "f")
    assert sorted({extent.line for extent in traced.extents}) == [4, 6, 7]
    assert (7, 15, 7, 20) in traced.extents


def test_of_one_line_only_the_expressions_that_were_traced_are_told(observed: Observe) -> None:
    events = observed(
        """
        import torch

        @torch.compile
        def f(x, flag):
            return x.cos() if flag else "ä" + x.item()

        f(torch.ones(3), True)
        """
    )
    (traced,) = only(Traced, events)
    assert {(11, 18)} <= {(extent.column, extent.end_column) for extent in traced.extents}
    assert max(extent.column for extent in traced.extents) < 30


def test_arrays_and_modules_under_construction_do_no_harm(observed: Observe) -> None:
    events = observed(
        """
        import numpy as np
        import torch

        bias = np.ones(2, dtype=np.float32)

        class Net(torch.nn.Module):
            @torch.compile
            def __init__(self):
                super().__init__()

        @torch.compile
        def f(x):
            return x + torch.from_numpy(bias)

        Net()
        for _ in range(3):
            f(torch.ones(2))
        """
    )
    assert [frame.function for frame in only(Frame, events) if frame.graphs] == ["f"]


def test_an_error_of_the_compilers_is_no_break(observed: Observe) -> None:
    from torch._dynamo.exc import TorchRuntimeError

    events = observed(
        """
        import torch

        @torch.compile
        def f(x, y):
            return x @ y

        f(torch.ones(2, 3), torch.ones(2, 3))
        """,
        raises=TorchRuntimeError,
    )
    (failure,) = only(Failure, events)
    assert (failure.kind, failure.path, failure.line, failure.function) == ("TorchRuntimeError", "program.py", 6, "f")
    assert "[2, 3]" in failure.reason
    assert not only(Break, events)


def test_a_break_under_fullgraph_is_a_break_and_an_error(observed: Observe) -> None:
    from torch._dynamo.exc import Unsupported

    events = observed(
        """
        import torch

        @torch.compile(fullgraph=True)
        def f(x):
            if x.sum() > 0:
                return x
            return -x

        f(torch.ones(3))
        """,
        raises=Unsupported,
    )
    assert [(item.kind, item.line, item.gb) for item in only(Break, events)] == [(BreakKind.GRAPH_BREAK, 6, "GB0170")]
    assert [(item.kind, item.line) for item in only(Failure, events)] == [("Unsupported", 6)]


@pytest.fixture
def paths(tmp_path: Path) -> Paths:
    from fullgraph.jit.capture import Paths

    return Paths(tmp_path, (tmp_path,))


def test_first_party_is_what_lies_under_a_root_and_in_no_library(paths: Paths, tmp_path: Path) -> None:
    assert paths.first_party(str(tmp_path / "a/b.py"))
    assert not paths.first_party(str(tmp_path / ".venv/lib/python3.11/site-packages/a.py"))
    assert not paths.first_party("/elsewhere/a.py")
    assert not paths.first_party("<string>")
    assert not paths.first_party(str(Path(textwrap.__file__)))


def test_paths_are_shown_from_the_working_directory(paths: Paths, tmp_path: Path) -> None:
    assert paths.shown(str(tmp_path / "a/b.py")) == "a/b.py"
    assert paths.shown("/elsewhere/a.py") == "/elsewhere/a.py"
