"""`fullgraph verify --fix`: what is proven is written, with its package, its data and everything else where it was."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from fullgraph.cli.main import run

SCHEMA = Path(__file__).parent.parent.parent / "docs/schema/verify.json"
PACKAGE = {
    "app/__init__.py": "",
    "app/net.py": '''\
"""A network with three breaks; the data lie beside it."""
from pathlib import Path

import torch
from torch import nn

from .scale import scaled  # relative

SCALE = float((Path(__file__).parent / "scale.txt").read_text())


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 4)

    def forward(self, x):
        if x.sum() > 0:
            x = x * 2
        else:
            x = x - 1
        return scaled(self.layer(x) * SCALE)
''',
    "app/scale.py": """\
import torch


def scaled(y):
    print("scaled")
    factor = y.abs().max().item()
    return y * factor
""",
    "app/scale.txt": "1.5",
    "train.py": """\
import torch
from app.net import Net

torch.manual_seed(0)
net = Net()
step = torch.compile(net)
start = float(open("start.txt").read())
for number in range(3):
    loss = step(torch.full((2, 4), start - number)).sum()
    loss.backward()
with open("done.txt", "a") as file:
    file.write("done")
""",
    "start.txt": "1.0",
}
FIXED = {
    "app/net.py": PACKAGE["app/net.py"].replace(
        """\
        if x.sum() > 0:
            x = x * 2
        else:
            x = x - 1
""",
        "        x = torch.where(x.sum() > 0, x * 2, x - 1)\n",
    ),
    "app/scale.py": """\
import torch


def scaled(y):
    if not torch.compiler.is_compiling():
        print("scaled")
    factor = y.abs().max().detach()
    return y * factor
""",
}


def verify(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "fullgraph.cli", "verify", "--backend", "eager", "--timeout", "60", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300, check=False)


def written(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


def held(folder: Path) -> dict[str, str]:
    """All that lies in the folder but what Python and this program keep for themselves."""
    files = (path for path in folder.rglob("*") if path.is_file() and "cache" not in str(path.relative_to(folder)))
    return {path.relative_to(folder).as_posix(): path.read_text() for path in files}


@pytest.mark.torch
@pytest.mark.slow
def test_a_package_is_fixed_file_by_file(tmp_path: Path) -> None:
    written(tmp_path, PACKAGE)
    done = verify(tmp_path, "--fix", "--output-format", "json", "--report", "page.html", "train.py")
    assert (done.returncode, done.stderr) == (0, "fullgraph: fixed 3 of 3 sites\n")
    page = (tmp_path / "page.html").read_text()
    (tmp_path / "page.html").unlink()
    # Written once by the first run, as always: those for fixes have a working folder of their own.
    assert held(tmp_path) == {**PACKAGE, **FIXED, "done.txt": "done"}
    document: dict[str, Any] = json.loads(done.stdout)
    jsonschema.validate(document, json.loads(SCHEMA.read_text()))
    fixes = document["targets"][0]["fixes"]
    assert [(row["path"], row["line"], row["outcome"]) for row in fixes["sites"]] == [
        ("app/net.py", 18, "verified"),
        ("app/scale.py", 5, "verified"),
        ("app/scale.py", 6, "verified"),
    ]
    assert [row["before"]["breaks"] for row in fixes["sites"]] == [3, 2, 1]
    assert fixes["sites"][-1]["after"]["breaks"] == 0
    assert fixes["diff"].startswith("--- app/net.py\n+++ app/net.py\n")
    assert 'id="target-fixes"' in page
    assert "+        x = torch.where(x.sum() &gt; 0, x * 2, x - 1)" in page


TWO = """\
import torch

@torch.compile
def f(x):
    if x.sum() > 0:
        y = x * 2
    else:
        y = (x * 3).double()
    print("!")
    return y

f(torch.ones(3))
"""


@pytest.mark.torch
@pytest.mark.slow
def test_a_patch_has_stdout_for_itself(tmp_path: Path) -> None:
    """Of two breaks one cannot go: the other way of the branch, which the script does not take, gives another type."""
    written(tmp_path, {"m.py": TWO})
    done = verify(tmp_path, "--diff", "m.py")
    assert done.returncode == 1
    assert held(tmp_path) == {"m.py": TWO}
    guarded = '+    if not torch.compiler.is_compiling():\n+        print("!")\n'
    assert [row for row in done.stdout.splitlines(keepends=True) if row[0] == "+"][1:] == guarded.splitlines(True)
    assert "  verified     m.py:9: FG301 guard with `if not torch.compiler.is_compiling()`\n" in done.stderr
    assert done.stderr.endswith("fullgraph: would fix 1 of 2 sites\n")
    table = done.stderr.partition("compared on")[2].partition("\n\n")[0]
    assert "m.py:9" in table
    assert max(map(len, table.splitlines())) <= 80


CHANGING = """\
import torch

@torch.compile
def f(x):
    print("!")
    return x + 1

f(torch.ones(3))
with open(__file__, "a") as file:
    file.write("# run\\n")
"""


@pytest.mark.torch
@pytest.mark.slow
def test_a_file_that_has_changed_meanwhile_is_left_alone(tmp_path: Path) -> None:
    written(tmp_path, {"m.py": CHANGING})
    done = verify(tmp_path, "--fix", "m.py")
    assert done.returncode == 2
    assert done.stderr == "fullgraph: Could not open file 'm.py': it has changed meanwhile, so nothing is written\n"
    text = (tmp_path / "m.py").read_text()
    assert text.startswith(CHANGING)
    assert "is_compiling" not in text


@pytest.mark.parametrize("other", ["--watch", "--record=seen"])
def test_fixing_goes_alone(other: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["verify", "--fix", other, __file__]) == 2
    assert "and fixing can't be asked for together" in capsys.readouterr().err


UNFORESEEN = """\
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(3, 3) for _ in range(2))

    def forward(self, x, synced=False):
        for layer in self.layers:
            skip = False
            if self.training:
                skip = torch.rand(()) < 0.5
            if not skip or synced:
                x = layer(x)
        return x
"""


@pytest.mark.parametrize("column", [19, None])
def test_a_break_that_nobody_predicted_gets_the_fixes_of_its_id(tmp_path: Path, column: int | None) -> None:
    from fullgraph.jit.events import Break, BreakKind
    from fullgraph.jit.mend.unforeseen import fixes_of

    end = None if column is None else column + 4
    known = (BreakKind.GRAPH_BREAK, "m.py", 15, column, end, "Net.forward", "")
    broken = Break(1, *known, "GB0170", "Data-dependent branching", "m.py:15", None)
    file, contents = str(tmp_path / "m.py"), {str(tmp_path / "m.py"): UNFORESEEN.encode()}
    (fix,) = fixes_of(broken, file, contents)
    assert (fix.title, fix.edits[0].path) == ("leave the layer out by a mask", "m.py")
    assert fixes_of(replace(broken, gb="GB9999"), file, contents) == ()
    assert fixes_of(broken, file + "i", {}) == ()


@pytest.mark.torch
@pytest.mark.slow
def test_a_break_and_what_follows_from_it_are_one_site(tmp_path: Path) -> None:
    """The branch breaks in a loop, which is a break of its own; the file lies outside the working directory."""
    words = UNFORESEEN.replace("in self.layers:", "in self.layers:\n            x = x.float()")
    words = words.replace("nn.Linear(3, 3)", "nn.Linear(3, 3).requires_grad_(False)")  # none is not zeros
    branch = "\n\ndef g(x):\n    return x + 1 if x.sum() > 0 else x - 1\n"
    written(tmp_path, {"net.py": words + branch, "here/a": ""})
    given = ("--input", "i64[2,3]", "--train", "--diff", "--output-format", "json")
    done = verify(tmp_path / "here", "../net.py::Net()", "../net.py::g", *given)
    sites = [row for target in json.loads(done.stdout)["targets"] for row in target["fixes"]["sites"]]
    assert [(row["line"], row["code"], row["outcome"], row["reason"]) for row in sites] == [
        (16, "GB0170", "verified", ""),
        (22, "FG101", "verified", ""),
    ]


IN_PARTS = {
    "net.py": """\
import torch
from torch import nn


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(4, 4)

    def forward(self, x):
        return torch.tanh(self.inner(x)) + x


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleDict({name: Block() for name in "abc"})

    def forward(self, x):
        scale = float(repr(x.abs().max().item()))
        for layer in self.layers.values():
            x = layer(x / scale)
        return x * scale
""",
    "build.py": """\
import torch
from net import Net


class Run:
    def __init__(self):
        self.net = torch.compile(
            Net().eval(),
            backend="eager",
        )
""",
    "main.py": """\
import torch
from build import Run

run = Run()
with torch.no_grad():
    print(run.net(torch.ones(2, 4)).shape)
""",
}


@pytest.mark.torch
@pytest.mark.slow
def test_a_module_is_compiled_in_parts_in_the_file_that_compiles_it(tmp_path: Path) -> None:
    written(tmp_path, IN_PARTS)
    done = verify(tmp_path, "--fix", "--output-format", "json", "main.py")
    assert (done.returncode, done.stderr) == (0, "fullgraph: fixed 1 of 1 site\n")
    built = IN_PARTS["build.py"].partition("        self.net")[0]
    built += "        self.net = Net().eval()\n"
    built += '        for layer in self.net.layers.values():\n            layer.compile(backend="eager")\n'
    assert held(tmp_path) == {**IN_PARTS, "build.py": built}
    (*_, row) = json.loads(done.stdout)["targets"][0]["fixes"]["sites"]
    assert (row["path"], row["line"], row["outcome"]) == ("net.py", 20, "verified")
    assert row["after"]["breaks"] == 0
    assert 0.5 < row["after"]["elements"] / row["before"]["elements"] < 1
    assert verify(tmp_path, "main.py").returncode == 0, "nothing breaks any more"
