"""`fullgraph verify` and programs that go wrong: each has a named outcome, keeps what was seen, and harms no other."""

from __future__ import annotations

import importlib.util
import json
import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fullgraph.cli.main import run

BREAKS = """\
import torch

@torch.compile
def f(x):
    print("!")
    return x + 1

f(torch.ones(3))
"""
QUIET = BREAKS.replace('    print("!")\n', "")
QUIET_EAGER = QUIET.replace("@torch.compile", "@torch.compile(backend='eager')")
LINGER = 'subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)", {marker!r}])'

PROGRAMS = {
    "raises": (BREAKS + 'raise ValueError("no\\nreally")', "failed", "ValueError: no (raises.py:9)"),
    "leaves": (BREAKS + "raise SystemExit(3)", "failed", "exit code 3"),
    "leaves_saying_why": ("raise SystemExit('no data')", "failed", "exit code 1: no data"),
    "wants_arguments": (
        "import argparse\nparser = argparse.ArgumentParser()\nparser.add_argument('data')\nparser.parse_args()",
        "failed",
        "exit code 2",
    ),
    "leaves_well": (QUIET + "raise SystemExit(0)", "ok", None),
    "vanishes": (BREAKS + "import os\nos._exit(0)", "crashed", "the process ended itself with exit code 0"),
    "kills_itself": (BREAKS + "import os\nos.kill(os.getpid(), 9)", "crashed", "killed by SIGKILL"),
    "crashes": (BREAKS + "import ctypes\nctypes.string_at(0)", "crashed", "killed by SIGSEGV"),
    "aborts": (
        BREAKS + 'import os, sys\nprint("last words", file=sys.stderr, flush=True)\nos.abort()',
        "crashed",
        "killed by SIGABRT; its last output: last words",
    ),
    "hangs": (BREAKS + "import subprocess, sys, time\n" + LINGER + "\ntime.sleep(600)", "timeout", "killed after 8 s"),
    "spins": (BREAKS + "while True: pass", "timeout", "killed after 8 s"),
    "eats": (BREAKS + "torch.zeros(1 << 33)", "failed", "RuntimeError: "),
    "compiles_nothing": (
        "import torch\ntorch.ones(3) + 1",
        "nothing-compiled",
        "no call of a compiled function was seen",
    ),
    "defines_only": (BREAKS.replace("\nf(torch.ones(3))", ""), "nothing-compiled", "no call of a compiled function"),
    "is_not_python": ("def f(:", "failed", "SyntaxError: invalid syntax (is_not_python.py, line 1)"),
    "lacks_a_module": ("import no_such_module", "failed", "ModuleNotFoundError: No module named 'no_such_module'"),
    "shouts": (BREAKS + 'for _ in range(200): print("x" * 1_000_000)', "ok", None),
    "hides_output": ("import sys\nsys.stdout = sys.stderr = None\n" + BREAKS, "ok", None),
    "closes_everything": ("import os\nos.closerange(0, 1000)\n" + QUIET + "f(torch.ones(4))", "ok", None),
    "moves_away": ('import os\nos.chdir("/")\n' + BREAKS, "ok", None),
    "forks": ("import os\nchild = os.fork()\n" + QUIET_EAGER + "if child: os.waitpid(child, 0)", "ok", None),
    "works_in_a_thread": (
        BREAKS.replace("f(torch.ones(3))\n", "import threading\nthreading.Timer(0.2, f, [torch.ones(3)]).start()\n"),
        "ok",
        None,
    ),
    "resets": (BREAKS + "torch._dynamo.reset()\nf(torch.ones(3))", "ok", None),
    "cleans_up": ("import os\nos.remove(__file__)\n" + BREAKS, "ok", None),
    "logs": ("import logging, torch\ntorch._logging.set_logs(all=50)\nlogging.shutdown()\n" + BREAKS, "ok", None),
}


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """All programs in one command, a good one last; `marker` is an argument of the process that `hangs` leaves."""
    folder = tmp_path_factory.mktemp("faults")
    for name, (source, _, _) in PROGRAMS.items():
        (folder / f"{name}.py").write_text(source.replace("{marker!r}", repr(str(folder))))
    (folder / "good.py").write_text(QUIET)
    (folder / "latin.py").write_bytes(b'x = "\xff"\n')
    names = [f"{name}.py" for name in (*PROGRAMS, "latin", "good")]
    command = [sys.executable, "-m", "fullgraph.cli", "verify", "--output-format", "json"]
    done = subprocess.run(
        [*command, "--jobs", "2", "--timeout", "8", "--memory-mb", "4000", *names],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 2, done.stderr
    targets = {target["target"]: target for target in json.loads(done.stdout)["targets"]}
    assert list(targets) == names
    return targets | {"folder": folder}


@pytest.mark.torch
@pytest.mark.slow
@pytest.mark.parametrize("name", PROGRAMS)
def test_outcome(outcomes: dict[str, Any], name: str) -> None:
    source, status, detail = PROGRAMS[name]
    target = outcomes[f"{name}.py"]
    assert target["status"] == status
    assert (target["detail"] or "").startswith(detail or "")
    expected = ["GB0059"] if 'print("!")' in source and name != "defines_only" else []
    assert [item["gb"] for item in target["breaks"]] == expected


@pytest.mark.torch
@pytest.mark.slow
def test_text_that_is_not_utf8_is_a_syntax_error(outcomes: dict[str, Any]) -> None:
    assert outcomes["latin.py"]["status"] == "failed"
    assert "'utf-8' codec can't decode byte 0xff" in outcomes["latin.py"]["detail"]


@pytest.mark.torch
@pytest.mark.slow
def test_the_target_after_them_is_unharmed(outcomes: dict[str, Any]) -> None:
    good = outcomes["good.py"]
    assert (good["status"], good["breaks"], [frame["graphs"] for frame in good["frames"]]) == ("ok", [], [1])


@pytest.mark.torch
@pytest.mark.slow
def test_remarks_say_what_could_not_be_seen(outcomes: dict[str, Any]) -> None:
    assert [text.partition(",")[0] for text in outcomes["forks.py"]["remarks"]] == [
        "processes that it forked compile too"
    ]


@pytest.mark.torch
@pytest.mark.slow
def test_a_program_that_deletes_itself_is_judged_by_what_it_was(outcomes: dict[str, Any]) -> None:
    target = outcomes["cleans_up.py"]
    assert not (outcomes["folder"] / "cleans_up.py").exists()
    assert (target["remarks"], target["unpredicted"]) == ([], [])
    assert [(item["code"], item["column"], item["verdict"]) for item in target["findings"]] == [
        ("FG301", 4, "confirmed")
    ]


@pytest.mark.torch
@pytest.mark.slow
def test_what_a_failed_program_said_last_is_kept(outcomes: dict[str, Any]) -> None:
    assert outcomes["wants_arguments.py"]["output"][-1] == (
        "wants_arguments.py: error: the following arguments are required: data"
    )
    assert outcomes["raises.py"]["output"][-3:-1] == ['    raise ValueError("no\\nreally")', "ValueError: no"]
    assert outcomes["good.py"]["output"] == []


@pytest.mark.torch
@pytest.mark.slow
def test_what_a_killed_program_started_is_gone(outcomes: dict[str, Any]) -> None:
    assert [command for command in commands() if str(outcomes["folder"]) in command] == []


def commands() -> Iterator[str]:
    """Command lines of all processes."""
    listed = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True)
    yield from listed.stdout.splitlines()


def heed_interrupts() -> None:
    """What a shell starts in the background ignores them, and so does all that it starts."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@pytest.mark.torch
@pytest.mark.slow
def test_control_c_reports_what_is_known_and_leaves_nothing_behind(tmp_path: Path) -> None:
    started = tmp_path / "started"
    tell = f"pathlib.Path({str(started)!r}).write_text(str(os.getpid()))"
    (tmp_path / "m.py").write_text(f"{BREAKS}import os, pathlib, time\n{tell}\ntime.sleep(600)\n")
    (tmp_path / "sleeps.py").write_text("import time\ntime.sleep(600)\n")
    (tmp_path / "good.py").write_text(QUIET)
    options = ["--output-format", "json", "--jobs", "2", "sleeps.py", "m.py", "good.py"]
    command = [sys.executable, "-m", "fullgraph.cli", "verify", *options]
    with subprocess.Popen(
        command,
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=heed_interrupts,
    ) as process:
        deadline = time.monotonic() + 90
        while not started.exists() or not started.read_text():
            assert time.monotonic() < deadline
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        output, errors = process.communicate(timeout=60)
    assert (process.returncode, errors) == (2, "")
    targets = json.loads(output)["targets"]
    assert [(item["target"], item["status"], item["detail"]) for item in targets] == [
        ("sleeps.py", "failed", "interrupted"),
        ("m.py", "failed", "interrupted"),
    ]
    assert [item["gb"] for item in targets[1]["breaks"]] == ["GB0059"]
    with pytest.raises(ProcessLookupError):
        os.kill(int(started.read_text()), 0)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "m.py").write_text("def f(x):\n    return x\n")
    (tmp_path / "m.ipynb").write_text("{}")
    return tmp_path


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "Missing argument 'TARGET...': name a script, "),
        (
            ["m.py::f", "--", "--steps", "3"],
            "what follows `--` is for scripts, modules and tests; m.py::f is none of them",
        ),
        (["-m", "no_such_module"], "there is no module no_such_module, neither here nor installed"),
        (["-m", "a b"], "-m a b: not the name of a module"),
        (["no.such:f"], "there is no module no, neither here nor installed"),
        (["test_no.py::test_f"], "there is no file test_no.py"),
        (["m.py::f", "--train", "--eval"], "--train and --eval exclude each other"),
        (["m.py::f", "--vary", "batch,size"], "--vary 'size': it can vary batch, seq, dtype"),
        (["m.py::f", "--device", "tpu"], "--device 'tpu': it can be cpu or cuda"),
        (["m.py::f", "--fake", "--backend", "mlir"], "--fake computes nothing"),
        (["m.py::f", "--init", "dim=f32"], "--init 'dim=f32', column 8: expected '['"),
        (["m.py::f", "--input", "no.py::f"], "there is no file no.py"),
        (["m.py::f", "--input", "x="], "--input 'x=', column 3: expected a tensor"),
        (["m.py", "--vary", "batch"], "--vary is for PATH::QUALNAME; m.py is a script"),
        (["m.ipynb"], "m.ipynb is a notebook; make a script of it: jupyter nbconvert --to script m.ipynb"),
        (["no.py"], "there is no file no.py"),
        (["no.py::f"], "there is no file no.py"),
        (["."], ". is a folder; name a script, or PATH::QUALNAME"),
        (["m.py::"], "'m.py::' is not of the form PATH::QUALNAME"),
        (["m.py::f(1)"], "'m.py::f(1)' is not of the form PATH::QUALNAME"),
        (["m.py::f", "--input", "f32[2"], "--input 'f32[2', column 6: expected ',' or ']', found the end"),
        (["m.py", "--input", "f32[2]"], "--input is for PATH::QUALNAME; m.py is a script, which makes its own inputs"),
        (["m.py", "--backend", "tvm"], "'tvm' is not one of"),
        (["m.py", "--jobs", "0"], "0 is not in the range"),
        (["m.py", "--max-calls", "0"], "0 is not in the range"),
        (["m.py", "--timeout", "0"], "0.0 is not in the range"),
        (["m.py", "--select", "XX"], "no rule has the code or prefix 'XX'"),
    ],
)
def test_wrong_usage_is_one_line(
    folder: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    assert run(["verify", *arguments]) == 2
    output, errors = capsys.readouterr()
    assert output == ""
    assert message in errors
    assert errors.startswith("fullgraph: ")
    assert len(errors.splitlines()) == 1


def test_without_torch_it_says_how_to_get_it(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert run(["verify", "m.py"]) == 2
    assert capsys.readouterr().err == "fullgraph: torch is not installed; pip install 'fullgraph[jit]'\n"


def test_help_imports_no_torch() -> None:
    code = "import sys; from fullgraph.cli.main import run; run(['verify', '--help']); sys.exit('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, check=False)
    assert done.returncode == 0
    assert "TARGET is a script" in done.stdout
