"""The backend in programs of their own, on machines that lack something."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from fullgraph.jit.targets import STAGES

pytestmark = pytest.mark.torch

HEAD = """
import os, sys, torch
def f(x): return (x.exp() + 1).sin()
def g(x): return x.sin() * 2
x = torch.randn(4, 8)
from fullgraph.jit.mlir import Backend
from fullgraph.jit.events import Lowered
def native(call):
    seen = []
    torch.testing.assert_close(torch.compile(call, backend=Backend(seen.append))(x), call(x))
    return seen[-1].mlir_ops
def trained(call, dynamic):  # how many graphs there were, and of how many native operators each
    seen = {}
    backend = Backend(lambda event: seen.update({(event.graph, event.phase.value): event.mlir_ops}))
    compiled = torch.compile(call, backend=backend, dynamic=dynamic)
    for rows in (4, 6):
        ours = torch.randn(rows, 8, requires_grad=True)
        theirs = ours.detach().clone().requires_grad_()
        for function, value in ((compiled, ours), (call, theirs)):
            function(value).square().mean().backward()
            torch.optim.SGD([value], 0.1).step()
        torch.testing.assert_close(ours, theirs)
    return len(seen), set(seen.values())
"""


def run(program: str, *wrapper: str, **environment: str) -> str:
    done = subprocess.run(
        [*wrapper, sys.executable, "-c", HEAD + program],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


def test_after_a_fork_both_go_on() -> None:
    printed = run("""
before = native(f)
if (child := os.fork()) == 0:
    code = 7 if native(f) == 3 and native(g) == 2 else 8
    sys.exit(code)
print(before, native(g), os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
""")
    assert printed == "3 2 7\n"


def test_the_end_of_a_program_is_quiet() -> None:
    assert run("print(native(f))\nkeep = torch.compile(g, backend='mlir')\nkeep(x)") == "3\n"


def test_without_a_compiler_it_trains_and_starts_nothing_but_python(tmp_path: Path) -> None:
    printed = run(
        """
import shutil
assert not any(map(shutil.which, ("cc", "gcc", "c++", "g++", "clang", "ld")))
started = set()
sys.addaudithook(lambda event, details: started.add(details[0]) if event == "subprocess.Popen" else None)
print(trained(f, dynamic=False), trained(f, dynamic=True), started == {sys.executable})
""",
        PATH=str(tmp_path),
        XDG_CACHE_HOME=str(tmp_path / "cache"),
        TORCHINDUCTOR_CACHE_DIR=str(tmp_path / "inductor"),
    )
    assert printed == "(4, {3}) (2, {3}) True\n"


FULL = """
import tempfile, torch._dynamo
with open(os.path.join(tempfile.gettempdir(), "fill"), "wb", buffering=0) as file:
    try:
        while True:
            file.write(bytes(4096))
    except OSError as error:
        print(error.strerror)
print(trained(f, dynamic=False))
"""
SMALL_DISK = 'mount -t tmpfs -o size=256k none "$HOME" && cd "$HOME" && exec "$@"'
"""A disk of its own for what lies under the home folder, and for temporary files."""


def test_a_full_disk(tmp_path: Path) -> None:
    places = {"HOME": str(tmp_path), "TMPDIR": str(tmp_path), "XDG_STATE_HOME": str(tmp_path)}
    wrapper = ("unshare", "--user", "--map-root-user", "--mount", "sh", "-c", SMALL_DISK, "sh")
    if subprocess.run([*wrapper, "true"], env=os.environ | places, capture_output=True, check=False).returncode:
        pytest.skip("this system does not let users mount")
    assert run(FULL, *wrapper, **places) == "No space left on device\n(4, {3})\n"


@pytest.mark.parametrize("place", ["/proc", "/dev/null/nowhere"])
def test_a_cache_that_cannot_be_written(place: str) -> None:
    assert run("print(native(f))", XDG_CACHE_HOME=place) == "3\n"


READ_ONLY = 'mount --bind "$HOME" "$HOME" && mount -o remount,bind,ro "$HOME" && exec "$@"'


def test_a_disk_that_can_only_be_read(tmp_path: Path) -> None:
    places = {"HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path)}
    wrapper = ("unshare", "--user", "--map-root-user", "--mount", "sh", "-c", READ_ONLY, "sh")
    if subprocess.run([*wrapper, "true"], env=os.environ | places, capture_output=True, check=False).returncode:
        pytest.skip("this system does not let users mount")
    assert run("print(native(f))", *wrapper, **places) == "3\n"
    assert kept(tmp_path) == []
    assert run("print(native(f))", **places) == "3\n"
    assert sorted(path.suffix for path in kept(tmp_path)) == ["", ".agrees", ".plan"]
    assert run("print(native(f), native(g))", *wrapper, **places) == "3 2\n"


def test_a_process_that_may_not_write_to_files(tmp_path: Path) -> None:
    limit = "import resource\nresource.setrlimit(resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))\n"
    assert run(f"{limit}print(native(f), native(g))", XDG_CACHE_HOME=str(tmp_path)) == "3 2\n"
    assert kept(tmp_path) == []


def test_entries_that_are_damaged(tmp_path: Path) -> None:
    run("native(f), native(g)", XDG_CACHE_HOME=str(tmp_path))
    before = {path: path.read_bytes() for path in kept(tmp_path)}
    for path, content in before.items():
        path.write_bytes(content[:-9] + bytes(9))
    assert run("print(native(f), native(g))", XDG_CACHE_HOME=str(tmp_path)) == "3 2\n"
    assert {path: path.read_bytes() for path in kept(tmp_path)} == before


def kept(folder: Path) -> list[Path]:
    return sorted(path for path in (folder / "fullgraph/objects").rglob("*") if path.is_file())


WRONG = """
from fullgraph.jit import mlir
kernel = mlir.Kernel
def wrong(*arguments):
    made = kernel(*arguments)
    run = made.call
    made.call = lambda inputs, shapes: tuple(output + 1 for output in run(inputs, shapes))
    return made
"""


def test_a_region_that_differed_is_eager_in_later_programs(tmp_path: Path) -> None:
    places = {"XDG_CACHE_HOME": str(tmp_path / "cache"), "XDG_STATE_HOME": str(tmp_path / "state")}
    number, told = run(f"{WRONG}mlir.Kernel = wrong\nprint(native(f))", **places).splitlines()
    assert number == "0"
    assert "region_0 runs eagerly: output 0 differs from eager in 32 of 32 elements" in told
    number, told = run("print(native(f))", **places).splitlines()
    assert number == "0"
    assert "region_0 runs eagerly: as was seen before, output 0 differs from eager in 32 of 32 elements" in told
    (folder,) = (tmp_path / "state/fullgraph/mismatches").iterdir()
    assert told.endswith(f"; see {folder}")
    subprocess.run(
        [sys.executable, "-m", "fullgraph.cli", "cache", "clear", "objects"], env=os.environ | places, check=True
    )
    assert run("print(native(f))", **places) == "3\n"


def test_every_stage_is_written_where_the_user_wants(tmp_path: Path) -> None:
    run("torch.compile(f, backend='mlir')(x)", FULLGRAPH_DUMP=str(tmp_path / "dump"))
    names = sorted(path.name for path in (tmp_path / "dump/graph1-inference").iterdir())
    assert names[:3] == ["000-graph-aten.py", "001-graph-partition.py", "002-region_0-torch.mlir"]
    assert names[-1] == f"{len(STAGES) - 1:03}-region_0-llvm.mlir"


def test_a_dump_that_cannot_be_written_does_no_harm() -> None:
    assert run("print(torch.compile(f, backend='mlir')(x).shape)", FULLGRAPH_DUMP="/dev/null/no") == (
        "torch.Size([4, 8])\n"
    )


def test_what_agreed_in_an_earlier_process_is_not_compared_again(tmp_path: Path) -> None:
    program = """
import fullgraph.jit.region as region
compared, real = [], region.compare
region.compare = lambda *given: compared.append(1) or real(*given)
for dynamic in (False, True):
    torch._dynamo.reset()
    torch.testing.assert_close(torch.compile(f, backend="mlir", dynamic=dynamic)(x), f(x))
native(g)
print(len(compared))
"""
    # fixed sizes, symbolic sizes, and a backend that reports and therefore always compares
    assert [run(program, XDG_CACHE_HOME=str(tmp_path)).strip() for _ in range(2)] == ["3", "2"]
