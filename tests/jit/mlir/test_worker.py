"""The compiler's process may fail in any way: native code or a reason comes back, and the next region compiles."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path

import pytest
from mlir_regions import CRASHING, CRASHING_SIGNATURE, HANGING, HANGING_SIGNATURE, SCALED, SCALED_SIGNATURE

from fullgraph.jit.lower.signature import Artifact, Failed
from fullgraph.jit.worker import Limits, Worker

pytestmark = [pytest.mark.torch, pytest.mark.slow]
NUMBERS = count()
SUPPORT = Path(__file__).parents[2] / "support"


@pytest.fixture
def worker() -> Iterator[Worker]:
    worker = Worker(Limits(seconds=20))
    yield worker
    worker.close()


def compiles(worker: Worker) -> bool:
    """Whether a region compiles that is not known from before."""
    return isinstance(worker.compile(f"{SCALED}// {next(NUMBERS)}", SCALED_SIGNATURE), Artifact)


def reason(answer: Artifact | Failed) -> str:
    assert isinstance(answer, Failed)
    return answer.reason


def run(program: str, **environment: str) -> subprocess.CompletedProcess[str]:
    head = (
        "import os, sys, time, threading, subprocess\n"
        "from mlir_regions import *\nfrom fullgraph.jit.lower.signature import Failed\n"
        "from fullgraph.jit.worker import Limits, Worker\n"
    )
    env = {**os.environ, "PYTHONPATH": str(SUPPORT), **environment}
    return subprocess.run(
        [sys.executable, "-c", head + program],
        env=env,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def alive(pid: int) -> bool:
    """Whether there is such a process and it is no zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def gone(pid: int) -> bool:
    deadline = time.monotonic() + 10
    while alive(pid) and time.monotonic() < deadline:
        time.sleep(0.05)
    return not alive(pid)


def test_the_child_is_kept_warm(worker: Worker) -> None:
    assert compiles(worker)
    first = worker.pid
    assert compiles(worker)
    assert worker.pid == first


def test_what_was_compiled_before_needs_no_child(worker: Worker) -> None:
    first = worker.compile(SCALED, SCALED_SIGNATURE)
    worker.close()
    assert worker.compile(SCALED, SCALED_SIGNATURE) is first


def test_text_that_is_no_mlir_is_an_answer_like_any_other(worker: Worker) -> None:
    assert "custom op 'garbage' is unknown" in reason(worker.compile("garbage", SCALED_SIGNATURE))
    first = worker.pid
    assert compiles(worker)
    assert worker.pid == first


def test_a_crash_of_the_compiler(worker: Worker) -> None:
    assert reason(worker.compile(CRASHING, CRASHING_SIGNATURE)) == "the compiler's process was killed by SIGSEGV"
    assert compiles(worker)


def test_a_compilation_that_does_not_end() -> None:
    worker = Worker(Limits(seconds=5))
    assert reason(worker.compile(HANGING, HANGING_SIGNATURE)) == "compiling took longer than 5 s"
    assert compiles(worker)
    worker.close()


def test_a_child_that_no_longer_runs_does_not_hold_up_a_large_request() -> None:
    worker = Worker(Limits(seconds=5))
    assert compiles(worker)
    assert worker.pid is not None
    os.kill(worker.pid, signal.SIGSTOP)
    assert reason(worker.compile(SCALED + " " * 10_000_000, SCALED_SIGNATURE)) == "compiling took longer than 5 s"
    assert compiles(worker)
    worker.close()


def test_killed_while_it_compiles(worker: Worker) -> None:
    answers: list[Artifact | Failed] = []
    thread = threading.Thread(target=lambda: answers.append(worker.compile(HANGING, HANGING_SIGNATURE)))
    thread.start()
    time.sleep(1.5)
    assert worker.pid is not None
    os.kill(worker.pid, signal.SIGKILL)
    thread.join()
    assert reason(answers[0]) == "the compiler's process was killed by SIGKILL"
    assert compiles(worker)


def test_killed_while_idle(worker: Worker) -> None:
    assert compiles(worker)
    assert worker.pid is not None
    os.kill(worker.pid, signal.SIGKILL)
    time.sleep(0.1)
    assert compiles(worker)


def test_too_little_memory() -> None:
    worker = Worker(Limits(seconds=20, memory_mb=30))
    assert reason(worker.compile(SCALED, SCALED_SIGNATURE))
    worker.close()


def test_a_memory_limit_of_the_program_is_not_the_compilers() -> None:
    done = run(
        "import resource\nresource.setrlimit(resource.RLIMIT_DATA, (1 << 28, resource.RLIM_INFINITY))\n"
        "import torch\nworker = Worker()\nprint(type(worker.compile(SCALED, SCALED_SIGNATURE)).__name__)"
    )
    assert done.stdout == "Artifact\n", done.stderr


def test_torch_mlir_missing(tmp_path: Path) -> None:
    package = tmp_path / "torch_mlir"
    package.mkdir()
    (package / "__init__.py").write_text("raise ImportError('no such thing')")
    done = run(
        "print(Worker().compile(SCALED, SCALED_SIGNATURE).reason)", PYTHONPATH=f"{tmp_path}{os.pathsep}{SUPPORT}"
    )
    assert done.stdout == "torch-mlir cannot be imported: no such thing\n", done.stderr


def test_a_child_that_prints_what_it_should_not(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text("print('rubbish' * 100_000, flush=True)")
    done = run(
        "print(type(Worker().compile(SCALED, SCALED_SIGNATURE)).__name__, file=sys.stderr)",
        PYTHONPATH=f"{tmp_path}{os.pathsep}{SUPPORT}",
    )
    assert done.stderr == "Artifact\n"


def test_a_child_that_cannot_be_started(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/no/such/python")
    assert reason(Worker().compile(SCALED, SCALED_SIGNATURE)).startswith("the compiler's process cannot be started")


def test_a_child_that_dies_at_once_tells_its_last_words(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    script = tmp_path / "python"
    script.write_text("#!/bin/sh\necho it is not my day >&2\nexit 3\n")
    script.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(script))
    answer = Worker().compile(SCALED, SCALED_SIGNATURE)
    assert reason(answer) == "the compiler's process ended with exit code 3: it is not my day"


def test_several_threads_share_it(worker: Worker) -> None:
    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(lambda _: compiles(worker), range(8)))


def test_a_fork_gets_a_child_of_its_own_even_while_the_owner_compiles() -> None:
    done = run("""
worker = Worker(Limits(seconds=8))
worker.compile(SCALED, SCALED_SIGNATURE)
thread = threading.Thread(target=worker.compile, args=(HANGING, HANGING_SIGNATURE))
thread.start()
time.sleep(1)
parent = worker.pid
if (child := os.fork()) == 0:
    answer = worker.compile(SCALED + "// again", SCALED_SIGNATURE)
    print(type(answer).__name__, worker.pid != parent, flush=True)
    worker.close()
    os._exit(0)
os.waitpid(child, 0)
print(worker.pid == parent)
thread.join()
""")
    assert done.stdout == "Artifact True\nTrue\n", done.stderr


@pytest.mark.parametrize("end", ["", "os._exit(0)", "os.kill(os.getpid(), 9)", "raise ValueError"])
def test_no_child_outlives_the_program(end: str) -> None:
    done = run(f"worker = Worker()\nworker.compile(SCALED, SCALED_SIGNATURE)\nprint(worker.pid, flush=True)\n{end}")
    assert gone(int(done.stdout))


def test_a_program_that_ends_does_not_wait_for_a_compilation() -> None:
    started = time.monotonic()
    done = run("""
worker = Worker(Limits(seconds=50))
threading.Thread(target=worker.compile, args=(HANGING, HANGING_SIGNATURE), daemon=True).start()
time.sleep(1.5)
print(worker.pid)
""")
    assert time.monotonic() - started < 20
    assert gone(int(done.stdout))


def test_a_child_whose_program_was_killed_ends_by_itself() -> None:
    done = run("""
worker = Worker(Limits(seconds=2))
threading.Thread(target=worker.compile, args=(HANGING, HANGING_SIGNATURE), daemon=True).start()
time.sleep(1)
print(worker.pid, flush=True)
os.kill(os.getpid(), 9)
""")
    assert gone(int(done.stdout))


def test_the_compiler_imports_no_torch(worker: Worker) -> None:
    assert compiles(worker)
    maps = Path(f"/proc/{worker.pid}/maps").read_text()
    assert re.search(r"torch_mlir", maps)
    assert "libtorch" not in maps
