"""`fullgraph run`: programs run as if alone, with all their processes, and are reported on however they end."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from fullgraph.cli.main import run

SCHEMA = Path(__file__).parent.parent.parent / "docs/schema/verify.json"
PROGRAM = """\
import ctypes, os, sys
import torch

@torch.compile(backend="eager")
def f(x):
    if x.sum() > 0:
        return x + 1
    return x

def again(*sizes):
    for size in sizes:
        f(torch.ones(size))

if __name__ == "__main__":
    again(2, 3)
    print(sys.argv[1:], sys.stdin.read(), [name for name in sys.path if "startup" in name])
    print("to stderr", file=sys.stderr)
    match sys.argv[1:]:
        case ["raise"]:
            raise ValueError("no")
        case ["leave"]:
            os._exit(5)
        case ["segfault"]:
            ctypes.string_at(0)
        case ["wait"]:
            os.kill(os.getppid(), 15)
            import time; time.sleep(60)
        case ["processes"]:
            import subprocess, torch.multiprocessing as mp
            for method in ("fork", "spawn"):
                child = mp.get_context(method).Process(target=again, args=((2, 2), (3, 3)))
                child.start()
                child.join()
            subprocess.run([sys.executable, __file__], stdin=subprocess.DEVNULL, env=os.environ | {"RANK": "1"})
"""
pytestmark = [pytest.mark.torch, pytest.mark.slow]


@pytest.fixture
def program(tmp_path: Path) -> Path:
    (tmp_path / "program.py").write_text(PROGRAM)
    return tmp_path


def fullgraph_run(folder: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "fullgraph.cli", "run", *arguments]
    return subprocess.run(
        command,
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
        input="typed",
        env=os.environ | {"PYTHONUNBUFFERED": "1"} | environment,
    )


@pytest.mark.parametrize(
    ("how", "code", "status"),
    [
        ("raise", 1, "failed: exit code 1"),
        ("leave", 5, "failed: exit code 5"),
        ("segfault", 128 + signal.SIGSEGV, "crashed: killed by SIGSEGV"),
        ("wait", 128 + signal.SIGTERM, "crashed: killed by SIGTERM"),
    ],
)
def test_what_was_seen_is_reported_however_the_program_ends(program: Path, how: str, code: int, status: str) -> None:
    done = fullgraph_run(program, "--fail-on", "any", "program.py", how)
    assert done.returncode == code
    assert done.stdout == f"['{how}'] typed []\n"
    assert done.stderr.startswith("to stderr\n")
    assert f"program.py: 4 graphs, 6 operators\n  {status}\n" in done.stderr
    assert "  confirmed    program.py:6:8: FG101 (GB0170: graph break, 2 times)" in done.stderr


def test_options_after_the_script_are_the_programs(program: Path) -> None:
    (program / "sitecustomize.py").write_text("print('their own')")
    done = fullgraph_run(
        program,
        *("--report-file", "report.txt", "--report", "page.html"),
        *("-m", "program", "--notes", "--", "-m"),
        PYTHONPATH=str(program),
    )
    assert done.stdout == "their own\n" * 2 + "['--notes', '--', '-m'] typed []\n", "one of them for this process"
    assert done.stderr == "to stderr\n"
    assert done.returncode == 0, "the program's own, as nothing else is asked for"
    assert (program / "report.txt").read_text().startswith("-m program: 4 graphs, 6 operators\n  confirmed ")
    assert "one fix removes <b>2 breaks</b>" in (program / "page.html").read_text()


def test_a_program_that_compiles_nothing_fails_if_something_is_asked_for(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text("print('fine')")
    done = fullgraph_run(tmp_path, "--fail-on", "any", "program.py")
    assert (done.returncode, done.stdout) == (2, "fine\n")
    assert "nothing-compiled: no call of a compiled function was seen" in done.stderr


def test_processes_of_the_program_are_watched_and_counted_together(program: Path) -> None:
    options = ("--output-format", "json", "--report-file", "report.json", "--collect", "seen")
    done = fullgraph_run(program, *options, "program.py", "processes")
    assert (done.returncode, done.stderr) == (0, "to stderr\nto stderr\n")
    document: dict[str, Any] = json.loads((program / "report.json").read_text())
    jsonschema.validate(document, json.loads(SCHEMA.read_text()))
    (target,) = document["targets"]
    assert [(item["line"], item["count"]) for item in target["breaks"]] == [(6, 2 + 1 + 2 + 2)], (
        "what was compiled before the fork is there"
    )
    processes = target["processes"]
    assert len({item["pid"] for item in processes}) == len(processes) == len(list((program / "seen").iterdir())) == 4
    assert [item["rank"] for item in processes] == [1, None, None, None]
    assert sorted(item["breaks"] for item in processes) == [1, 2, 2, 2]
    assert sum(item["graphs"] for item in processes) == sum(item["graphs"] for item in target["frames"])
    assert len({item["id"] for item in target["frames"]}) == len(target["frames"])


def test_another_backend_is_forced_and_watching_ends_early(program: Path) -> None:
    (program / "program.py").write_text(PROGRAM.replace('"eager"', "lambda graph, inputs: 1 / 0"))
    options = ("--backend", "eager", "--max-calls", "1", "--fail-on", "confirmed")
    assert (done := fullgraph_run(program, *options, "program.py")).returncode == 1
    assert "  note         not watched after 1 calls of compiled functions, as --max-calls says\n" in done.stderr
    assert "(GB0170: graph break) " in done.stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "Missing argument 'SCRIPT': name a script, or a module after -m"),
        (["nothing.py"], "there is no file nothing.py"),
        (["--report-file", "no/such.txt", "x.py"], "--report-file no/such.txt: there is no folder no"),
        (["--report", "no/such.html", "x.py"], "--report no/such.html: there is no folder no"),
        (["-m", "no_such"], "there is no module no_such, neither here nor installed"),
    ],
)
def test_mistakes_are_told_in_a_line(arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["run", *arguments]) == 2
    assert capsys.readouterr().err == f"fullgraph: {said}\n"
