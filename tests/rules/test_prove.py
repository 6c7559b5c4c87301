"""Proving: how tasks end on another interpreter, what is remembered of them, and the commands."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from fullgraph.cli import prove as command
from fullgraph.cli.main import run
from fullgraph.jit.prove import outcomes
from fullgraph.jit.prove.journal import Journal
from fullgraph.jit.prove.pool import NoTorch, Pool, Version
from fullgraph.jit.prove.probes import parse, read
from fullgraph.jit.prove.studies import BatchStudy, ProbeStudy, of_symbols
from fullgraph.jit.prove.tasks import BreakAt, Mode, Seen, Task
from fullgraph.rules import changes
from fullgraph.rules.measured import Cell, Evidence, Proven, read_all

PYTHON = Path(sys.executable)
SHEET = parse("""\
: import time, torch
: def f32(*size): return torch.ones(size)
: state = [0]
torch.sin(f32(2))
torch.nonzero(f32(2))
f32(2).cos()
time.time()
len(x)
nosuch(x)
bump => state[0] += 1
- torch.unheard_of
""")


@pytest.fixture(scope="module")
def pool() -> Iterator[Pool]:
    with Pool(PYTHON, 1, SHEET.prelude, limit_s=20) as pool:
        yield pool


@pytest.mark.torch
def test_probes_come_out_as_dynamo_did(pool: Pool) -> None:
    found = {study.probe.text: str(cell) for item in of_symbols(SHEET) for study, cell in item.run(pool.ask)}
    assert found == {
        "torch.sin(f32(2))": "captured",
        "torch.nonzero(f32(2))": "breaks GB0036 | captured",
        "f32(2).cos()": "captured",
        "time.time()": "breaks GB0007",
        "len(x)": "captured",
        "nosuch(x)": "not measured NameError: name 'nosuch' is not defined",
        "state[0] += 1": "captured",
    }


@pytest.mark.torch
def test_a_task_that_crashes_or_leaves_is_an_answer_and_the_next_one_runs(pool: Pool) -> None:
    assert pool.ask(Task("import os\nos.kill(os.getpid(), 11)", ())).end == "crashed SIGSEGV"
    assert pool.ask(Task("import os\nos._exit(7)", ())).end == "crashed exit 7"
    assert pool.ask(Task("x = 2", ("x + 1",))) == Seen(results=("3",))


@pytest.mark.torch
def test_what_a_task_leaves_behind_is_gone_for_the_next(pool: Pool) -> None:
    pool.ask(Task("import math\nmath.pi = 3", ()))
    assert pool.ask(Task("import math", ("math.pi > 3",))).results == ("True",)


@pytest.mark.torch
def test_a_task_that_hangs_is_an_answer() -> None:
    with Pool(PYTHON, 1, limit_s=1) as impatient:
        assert impatient.ask(Task("while True: pass", ())).end == "hung"
        assert impatient.ask(Task("", ())) == Seen()


def test_an_interpreter_without_torch_is_told(tmp_path: Path) -> None:
    fake = tmp_path / "python"
    fake.write_text("#!/bin/sh\necho 'ModuleNotFoundError: No module named torch' >&2\nexit 1\n")
    fake.chmod(0o755)
    with (
        pytest.raises(NoTorch, match=r"cannot run torch: ModuleNotFoundError: No module named torch"),
        Pool(fake, 1) as pool,
    ):
        pool.version()


def test_what_is_in_the_journal_is_not_asked_again_and_half_a_line_is_ignored(tmp_path: Path) -> None:
    asked: list[Task] = []

    def ask(task: Task) -> Seen:
        asked.append(task)
        return Seen((BreakAt(3, "GB0007", False),), results=(task.code,))

    version, tasks = Version("2.99.0", "3.11"), [Task("a", ()), Task("b", ()), Task("a", (), Mode.FULLGRAPH)]
    first = [Journal(tmp_path, version).asking(ask)(task) for task in tasks[:2]]
    file = next(tmp_path.iterdir())
    file.write_text(file.read_text() + '["half a li')
    again = Journal(tmp_path, version).asking(ask)
    assert [again(task) for task in tasks] == [*first, Seen((BreakAt(3, "GB0007", False),), results=("a",))]
    assert asked == tasks
    Journal(tmp_path, Version("2.98.0", "3.11")).asking(ask)(tasks[0])
    assert asked == [*tasks, tasks[0]]


def test_a_batch_hands_those_that_something_happened_to_over_one_by_one() -> None:
    asked: list[str] = []

    def ask(task: Task) -> Seen:
        asked.append(task.code)
        if "probe1" in task.code:
            return Seen((BreakAt(9, "GB0007", False),), results=("", ""), error="TypeError")
        return Seen(results=("1", "1"))

    probes = parse(": x\n" + "\n".join(f"torch.f{number}(f32(1))" for number in range(4))).probes
    BatchStudy(tuple(ProbeStudy(probe, "") for probe in probes)).run(ask)
    alone = {text for code in asked[1:] for text in ("f0", "f1", "f2", "f3") if f".{text}(" in code}
    assert alone == {"f1", "f2", "f3"}


def test_a_value_that_differs_from_call_to_call_and_is_compiled_in_is_frozen() -> None:
    runs = {Mode.EAGER: Seen(results=("1", "2")), Mode.DEFAULT: Seen(results=("0",))}
    assert str(outcomes.of_probe(runs, Seen(results=("5", "5", "5")))) == "frozen"
    assert str(outcomes.of_probe(runs, Seen(results=("5", "6", "7")))) == "captured"
    assert str(outcomes.of_probe(runs, None)) == "captured"


def test_probe_lists_name_each_call_once() -> None:
    for sheet in read():
        texts = [(probe.symbol, probe.text) for probe in sheet.probes]
        assert len(texts) == len(set(texts))
        assert not {probe.symbol for probe in sheet.probes} & set(sheet.unprobed)


def test_what_changed_is_grouped_by_what_it_was_and_is() -> None:
    def evidence(*symbols: str, bad: str) -> Evidence:
        cells = {name: {name: Cell.parsed(text)} for name, text in zip("abcd", symbols, strict=True)}
        return Evidence("2.99.0", "3.11", {"FG101": Proven({"1": Cell.parsed(bad)})}, cells)

    old = evidence("captured", "breaks GB0007", "not measured no probe", "captured", bad="frozen")
    new = evidence("breaks GB0007", "captured", "captured", "captured", bad="recompiles")
    assert list(changes.render(changes.changes(old, new))) == [
        "Breaks now:",
        "  captured -> breaks GB0007: 1",
        "    a",
        "",
        "Captured now:",
        "  breaks GB0007 -> captured: 1",
        "    b",
        "",
        "Otherwise changed:",
        "  frozen -> recompiles: 1",
        "    FG101 bad 1",
        "",
        "3 changes",
    ]


def test_diff_reads_the_evidence(capsys: pytest.CaptureFixture[str]) -> None:
    old, new = read_all()[0], read_all()[-1]
    assert run(["rules", "diff", old.torch, new.torch]) == 0
    assert capsys.readouterr().out.endswith(" changes\n")
    assert run(["rules", "diff", "1.0", new.torch]) == 2
    assert "there is no evidence for torch 1.0, only for" in capsys.readouterr().err


OWN = """\
code: ACME101
name: house-clock
effect: graph-break
message: m
advice: a
match:
  - call: [time.time]
what: w
why: w
use_instead: u
fix_safety: f
bad:
  - code: |
      import time, torch
      @torch.compile
      def f(x):
          time.time()  # ACME101
          return x + 1
    run: [f(torch.ones(3))]
good:
  - code: |
      import torch
      @torch.compile
      def f(x):
          return x + 1
    run: [f(torch.ones(3))]
"""


@pytest.mark.torch
@pytest.mark.parametrize(
    ("old", "new", "code", "said"),
    [
        ("", "", 0, ": 1 of 1 rules hold"),
        ("time.time()  #", "len('a')  #", 1, "ACME101: bad example 1 is expected to show a break, and was: captured"),
        (
            "import torch\n",
            "import nosuch\n",
            2,
            "good example 1 cannot run on that interpreter: No module",
        ),
    ],
)
def test_own_rules_are_proven_by_the_same_command(
    old: str,
    new: str,
    code: int,
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "fullgraph.toml").write_text('rules = ["acme.yaml"]\n')
    (tmp_path / "acme.yaml").write_text(OWN.replace(old, new))
    assert run(["rules", "prove", "ACME", "--jobs", "1"]) == code
    output = capfd.readouterr()
    assert said in output.out + output.err


def test_a_code_that_no_rule_has_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["rules", "prove", "FG999"]) == 2
    assert "no rule has the code or prefix 'FG999'" in capsys.readouterr().err
    assert {rule.code for rule in command.selected(("fg101", "FG10"))} == {f"FG10{n}" for n in range(1, 6)}
