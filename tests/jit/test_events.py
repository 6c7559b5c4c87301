"""Events survive the way from the child process, and one break is told once."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fullgraph.jit.digest import Digest
from fullgraph.jit.events import (
    BackendError,
    Break,
    BreakKind,
    CallSite,
    CompileTime,
    End,
    Event,
    Extent,
    Failure,
    Frame,
    Graph,
    Guard,
    GuardNode,
    Left,
    Lowered,
    Mismatch,
    Phase,
    Probed,
    Recompile,
    Result,
    Reuse,
    Stage,
    Symbol,
    Traced,
    distinct_breaks,
    latest,
)
from fullgraph.jit.wire import decode, encode

BREAK = Break(
    number=1,
    kind=BreakKind.GRAPH_BREAK,
    path="m.py",
    line=5,
    column=4,
    end_column=12,
    function="Net.forward",
    reason="it reads a value",
    gb="GB0124",
    gb_type="Tensor.item",
    root="m.py:5",
    root_gb="GB0124",
    stack=(CallSite("m.py", 9, "<module>"),),
    hints=("do not",),
)
GUARDS = GuardNode(
    "L",
    "dict",
    (Guard("LAMBDA_GUARD", "2 <= L['x'].size()[0]", None),),
    (GuardNode("L['x']", "int", (Guard("EQUALS_MATCH", "L['x'] == 1", CallSite("m.py", 4, "f")),), ()),),
)
SYMBOLS = (Symbol("s0", "L['x'].size()[0]", "3"), Symbol("s1", "L['n']", "4", "4", CallSite("m.py", 5, "f")))


@pytest.mark.parametrize(
    "event",
    [
        BREAK,
        replace(BREAK, column=None, end_column=None, gb=None, stack=(), hints=()),
        Recompile("0/1", "m.py", 3, "f", ("x == 1",), (CallSite("m.py", 4, "f"),), limit_hit=True),
        Recompile("0/1", "m.py", 3, "f", ("x == 1",), mismatches=(Mismatch("x == 1", "1", None),)),
        Frame("0/0", "m.py", 3, "f", 1, 4, 0.5, ("x == 1",)),
        Frame("0/0", "m.py", 3, "f", 1, 4, 0.5, (), GUARDS, SYMBOLS, CompileTime(0.5, 0.25, 0.125, 0.0)),
        Graph("0/0", 4, 0.25, 3),
        Lowered(3, Phase.BACKWARD, 4, (Left("aten.mm.default", "tuned kernel", 2),), 0.25, 1e-7, ("region_0: no",)),
        Lowered(3, Phase.INFERENCE, 4, (), 0.25),
        Stage(3, Phase.FORWARD, "region_0", "linalg", "module {\n}"),
        Reuse("0"),
        Failure("TorchRuntimeError", "m.py", 4, "f", "sizes differ\nso"),
        BackendError("0/0", "mine", "ValueError", "no", CallSite("m.py", 4, "f")),
        Traced("0", "m.py", "f", (Extent(3, 0, 3, 4), Extent(4, 4, 5, 1))),
        Result("f", Digest("x", (1.0,)), Digest("y", ()), ("'1'",), ("0",)),
        Probed(0, "f", None, "cannot be told"),
        End(None),
        End("ValueError: no", CallSite("m.py", 3, "f")),
    ],
    ids=lambda event: type(event).__name__,
)
def test_an_event_comes_back_from_its_line_of_text(event: Event) -> None:
    line = encode(event)
    assert "\n" not in line
    assert decode(line) == event


def test_a_break_reported_again_by_its_callers_is_counted() -> None:
    again = [replace(BREAK, number=number) for number in (1, 2, 3)]
    assert distinct_breaks(again) == (replace(BREAK, count=3),)


def test_a_break_that_turns_out_to_cost_the_frame_is_one_break() -> None:
    skipped = replace(BREAK, kind=BreakKind.SKIPPED_FRAME)
    assert distinct_breaks([BREAK, skipped]) == (skipped,)


def test_breaks_of_different_kinds_or_lines_stay_apart_in_the_order_of_the_file() -> None:
    later, other = replace(BREAK, number=2, line=8), replace(BREAK, number=3, gb="GB0059", column=0)
    assert distinct_breaks([later, BREAK, other]) == (other, BREAK, later)


def test_of_what_is_known_of_a_graph_the_last_counts() -> None:
    early = Lowered(1, Phase.FORWARD, 4, (), 0.25)
    late = replace(early, max_abs_error=0.0)
    backward = replace(early, phase=Phase.BACKWARD)
    assert latest([early, backward, late]) == (late, backward)
