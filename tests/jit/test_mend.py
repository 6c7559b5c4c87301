"""Fixes that are wrong in one way each: one is accepted only if nothing but the break is gone, else it is said why.

Most fixes are made up: each replaces a text of the program. What is run and compared is real.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from mend_bench import Bench, bench_in, mended

from fullgraph.jit.kept import Kept
from fullgraph.jit.mend.report import Outcome

pytestmark = [pytest.mark.torch, pytest.mark.slow]

BRANCH = """\
import torch

SEEN = []

def f(x: torch.Tensor):
    y = x * 2
    if y.sum() > 0:
        y = y + 1
    return y
"""
NET = """\
import torch

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("total", torch.zeros(()))
        self.calls = 0
        self.layer = torch.nn.Linear(3, 3)

    def forward(self, x):
        y = self.layer(x)
        print("step")
        return y
"""
SIZES = """\
import torch

@torch.compile(backend="eager")
def f(x):
    print("size")
    return x + 1

for size in (3, 4, 5, 6):
    f(torch.ones(size))
"""
IF = "    if y.sum() > 0:\n        y = y + 1\n"
WHERE = "    y = torch.where(y.sum() > 0, y + 1, y)\n"
PRINT = '        print("step")\n'


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    with bench_in(tmp_path_factory.mktemp("mend")) as made:
        yield made


REFUSED = {
    "other_values": (WHERE.replace("> 0", "> 1"), r"the result differs .* \(with negated, times 0.01\)"),
    "one_side_only": ("    y = y + 1\n", r"the result differs in 6 of 6 elements, by up to 1"),
    "not_for_nan": ("    y = torch.where(y.sum() <= 0, y, y + 1)\n", r"the result .*\(with NaN among them\)"),
    "negative_zero": (WHERE.replace(", y)", ", y + 0)"), r"in the sign of zero \(with negative zeros\)"),
    "another_type": (WHERE + "    y = y.double()\n", r"the result is float64\[6\].*, not float32\[6\]"),
    "another_shape": (WHERE + "    y = y[None]\n", r"the result is float32\[1, 6\].*, not float32\[6\]"),
    "no_gradient": (
        "    y = torch.where(y.sum() > 0, y + 1, y).detach()\n",
        r"the result is float32\[6\], not .* with gradi",
    ),
    "another_gradient": (
        WHERE + "    y = y * 2 - y.detach()\n",
        r"the gradient of argument x differs",
    ),
    "changes_its_input": (WHERE + "    x.add_(0)\n    x.mul_(2)\n", r"argument x differs in 6 of 6 elements"),
    "changes_a_variable": (WHERE + "    SEEN.append(1)\n", r"m: SEEN is list of 1, not list of 0"),
    "draws": (WHERE + "    torch.rand(1)\n", r"random numbers are drawn otherwise"),
    "raises": (
        WHERE + '    if x.isnan().any():\n        raise ValueError("no")\n',
        "raises ValueError: no, not",
    ),
    "gives_its_input": ("    y = torch.where(y.sum() > 0, y + 1, y)\n    return x.mul_(1)\n", r"differs|shares"),
    "still_breaks": ("    if bool(y.sum() > 0):\n        y = y + 1\n", r"the graph"),
    "breaks_elsewhere": (WHERE + "    SEEN.count(id(y.tolist()))\n", r"the graph.*, and no fix is known for that$"),
    "does_not_parse": ("    y = (\n", r"SyntaxError"),
    "kills_itself": (WHERE + "    import os\n    os.kill(os.getpid(), 9)\n", r"killed by SIGKILL"),
    "compiles_nothing": ("    torch._dynamo.skip_frame()\n" + IF, r"break|nothing"),
}


@pytest.fixture(scope="module")
def refused(bench: Bench) -> dict[str, str]:
    """One search in which all of them are tried."""
    mending = bench.tried(BRANCH, IF, *(new for new, _ in REFUSED.values()), inputs=("f32[6]",), memory_mb=16000)
    assert mending.changed == ()
    rows = {row.title: row for row in mended(mending).rows}
    assert {row.outcome for row in rows.values()} == {Outcome.REJECTED}
    return {title: row.reason for title, row in rows.items()}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_other_than_before_is_refused(refused: dict[str, str], case: str) -> None:
    new, reason = REFUSED[case]
    assert re.search(reason, refused[new]), refused[new]


def test_one_that_holds_is_accepted_and_its_figures_are_told(bench: Bench) -> None:
    mending = bench.tried(BRANCH, IF, WHERE, inputs=("f32[6]",))
    (row,) = mended(mending).rows
    assert row.outcome is Outcome.VERIFIED, row.reason
    assert row.after is not None
    assert (row.before.breaks, row.after.breaks, row.after.recompiles) == (1, 0, 0)
    assert (row.difference, row.gradient_difference) == (0.0, 0.0)
    assert row.inputs > 10
    assert mending.changed == (("m.py", BRANCH.encode(), BRANCH.replace(IF, WHERE).encode()),)
    assert (bench.folder / "m.py").read_text() == BRANCH, "nothing is written here"


STATE = {
    "": "it prints something else",
    "        self.total += 1\n": r"Net\.total differs",
    "        self.calls += 1\n": r"Net\.calls is int 1, not int 0",
    "        if self.training:\n            y = y + 1\n": "the result differs in 6 of 6 elements, by up to 1",
}


def test_the_state_of_modules_counts_in_both_modes(bench: Bench) -> None:
    silent = f"        if not torch.compiler.is_compiling():\n    {PRINT}"
    fixes = ["", *(silent + text for text in STATE if text)]
    found = mended(bench.tried(NET, PRINT, *fixes, target="m.py::Net", inputs=("f32[2,3]",)))
    assert found.modes == ("evaluation", "training")
    for row, reason in zip(found.rows, STATE.values(), strict=True):
        assert row.outcome is Outcome.REJECTED
        assert re.match(reason, row.reason), row.reason


def test_a_new_recompile_is_refused_and_so_is_what_hangs(bench: Bench) -> None:
    index = "    [3, 4, 5, 6].index(x.shape[0])\n"
    hang = "    while not torch.compiler.is_compiling():\n        pass\n"
    silent = '    if not torch.compiler.is_compiling():\n        print("size")\n'
    good = silent + 3 * "    # the shortest one is tried first\n"
    mending = bench.tried(SIZES, '    print("size")\n', silent + index, silent + hang, good, target="m.py")
    reasons = [row.reason for row in mended(mending).rows]
    assert reasons[0] == "f is compiled again 3 times, not 1"
    assert reasons[1] == "eagerly it does not come to an end: killed after 8 s"
    assert reasons[2] == ""
    assert len(mending.changed) == 1


PARTS = """\
import torch

def part(x):
    return x.sum() * 2

@torch.compile(backend="eager")
def f(x):
    for _ in range(2):
        x = x + part(x).item()
    return x

for size in (3, 4, 5):
    f(torch.ones(size))
"""


def test_what_takes_over_from_its_parts_may_be_compiled_again_as_often_as_they_were(bench: Bench) -> None:
    thrice = ".detach() * (1 if len(x) < 4 else 1.0 if len(x) < 5 else True)"
    mending = bench.tried(PARTS, ".item()", thrice, ".detach()", target="m.py")
    assert [row.reason for row in mended(mending).rows] == ["f is compiled again 2 times, not 1", ""]
    assert len(mending.changed) == 1


TRAIN = """\
import torch

net = torch.nn.Linear(3, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)

@torch.compile(backend="eager")
def step(x):
    loss = net(x).square().mean()
    loss.backward()
    optimizer.step()
    return loss.detach()

for _ in range(2):
    step(torch.ones(2, 3))
"""
WHOLE = TRAIN[TRAIN.index("def step") : TRAIN.index("\nfor")]
SPLIT = "def loss_of(x):\n    return net(x).square().mean()\n\n" + WHOLE.replace("net(x).square().mean()", "loss_of(x)")


def test_what_is_compiled_no_longer_is_compared_all_the_same_and_all_sites_that_go_are_told(bench: Bench) -> None:
    bad = {
        SPLIT.replace(
            "optimizer.step()", "optimizer"
        ): r"the result differs in 1 of 1 elements, by up to 0\.\d+, and \d+",
        SPLIT.replace("loss.detach()", "loss.detach() + 0.5"): "the result differs in 1 of 1 elements, by up to 0.5",
        SPLIT.replace("optimizer.step()", "optimizer.step(), torch.rand(1)"): "random numbers are drawn otherwise",
    }
    found = mended(bench.tried(TRAIN, WHOLE, *bad, SPLIT, target="m.py"))
    refused = {row.title: row.reason for row in found.rows if row.outcome is Outcome.REJECTED}
    assert refused.keys() == bad.keys()
    for title, reason in bad.items():
        assert re.search(reason, refused[title]), refused[title]
    good = [(row.code, row.line, row.title) for row in found.rows if row.outcome is Outcome.VERIFIED]
    assert good == [("FG802", 9, SPLIT), ("FG808", 10, f"{SPLIT}, as for line 9")]


LEFT_OUT = """\
import torch

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.words = torch.nn.Embedding(4, 3)
        self.layer = torch.nn.Linear(3, 3)

    def forward(self, x, drop):
        y = self.words(x)
        if drop.sum() < 0:
            y = self.layer(y)
        return y

net = Net()
compiled = torch.compile(net, backend="eager")
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for drop in (-1.0, 1.0, -1.0):
    compiled(torch.arange(4), torch.tensor(drop)).square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()
"""


def test_gradients_of_zeros_are_not_none(bench: Bench) -> None:
    """An optimizer may move what they are of, by its momentum or by weight decay."""
    old = "        if drop.sum() < 0:\n            y = self.layer(y)\n"
    new = "        y = torch.where(drop.sum() < 0, self.layer(y), y)\n"
    row, *_ = mended(bench.tried(LEFT_OUT, old, new, target="m.py")).rows
    assert re.match(r"the gradient of Net.layer.weight is float32\[3, 3\], not none, and \d+ more", row.reason)


DRAWN = """\
import numpy as np
import torch

def f(x):
    y = x + torch.as_tensor(np.random.rand(6))
    if y.sum() > 0:
        y = y + 1
    return y
"""


def test_a_program_that_compiling_alone_changes_is_not_held_against_the_fix(bench: Bench) -> None:
    """Compiled code takes torch's generator for numpy's."""
    rows = mended(bench.tried(DRAWN, IF, WHERE, inputs=("f32[6]",))).rows
    assert {row.outcome for row in rows} == {Outcome.REJECTED}
    told = "without the fix too, compiled code does otherwise than eager code: the result differs in 6 of 6 elements"
    assert [row.reason[: len(told)] for row in rows if row.line == 6] == [told]


UNSTEADY = """\
import time
import torch

@torch.compile(backend="eager")
def f(x):
    print("!")
    return x * time.perf_counter_ns()

f(torch.ones(2))
"""


def test_programs_that_do_something_else_each_time_prove_nothing(bench: Bench) -> None:
    mending = bench.tried(UNSTEADY, '    print("!")\n', "", target="m.py")
    assert "two eager runs with the same seed differ from each other: the result" in (mended(mending).remark or "")
    assert {row.outcome for row in mended(mending).rows} == {Outcome.NO_FIX}
    assert mending.changed == ()


def test_without_numbers_nothing_is_proven(bench: Bench) -> None:
    mending = bench.tried(BRANCH, IF, WHERE, inputs=("f32[6]",), fake=True)
    assert mended(mending).remark == "--fake computes nothing, so that no fix can be proven"
    assert mending.changed == ()


CAPTURED = """\
import torch

@torch.compile(backend="eager")
def f(x, y):
    n = x.sum().item()
    if n > 0:
        z = y + 1
    else:
        z = {other}
    return z * n

for seed in range(2):
    torch.manual_seed(seed)
    f(torch.randn(5), torch.randn(4))
"""
"""With the number captured, the branch is the first thing that cannot be traced."""


TRACED = """\
import torch

def f(x: torch.Tensor):
    if torch.compiler.is_compiling():
        torch._check_tensor_all((x <= 0) | (x >= 0) | x.isnan())
    return x * 2
"""


def test_a_fix_is_tried_along_with_one_of_the_break_that_it_uncovers(bench: Bench) -> None:
    mending = bench.searched(CAPTURED.format(other="y - 1"), "m.py")
    alone, both = mended(mending).rows
    assert (alone.line, alone.outcome, alone.reason) == (5, Outcome.REJECTED, "a new break, at m.py:6: UserError")
    assert both.outcome is Outcome.VERIFIED, both.reason
    assert (both.line, both.safety) == (5, "unsafe")
    assert both.title == f"{alone.title} and, for line 6, branch in the graph with `torch.cond`"
    assert both.after is not None
    assert (both.before.breaks, both.after.breaks) == (1, 0)
    ((_, _, after),) = mending.changed
    assert b"fullgraph=True" in after
    assert b"torch.cond(n > 0" in after


def test_two_fixes_at_once_have_to_hold_like_one(bench: Bench) -> None:
    mending = bench.searched(CAPTURED.format(other="y.double() - 1"), "m.py")
    _, both = mended(mending).rows
    assert "for line 6" in both.title
    assert both.outcome is Outcome.REJECTED
    assert mending.changed == ()


def test_a_way_that_only_compiled_code_takes_has_been_taken_where_it_broke(bench: Bench) -> None:
    mending = bench.searched(TRACED, "m.py::f", inputs=("f32[3]",))
    (row,) = mended(mending).rows
    assert (row.line, row.outcome) == (5, Outcome.VERIFIED), row.reason


def test_a_file_is_shown_whatever_way_its_path_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "here").mkdir()
    (tmp_path / "net.py").write_text("old = 1\n")
    monkeypatch.chdir(tmp_path / "here")
    shown = Kept.of([]).showing({str(tmp_path / "net.py"): b"new = 2\n"})
    assert {shown.read(path) for path in ("../net.py", str(tmp_path / "net.py"))} == {"new = 2\n"}
