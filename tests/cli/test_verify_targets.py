"""`fullgraph verify` and what can be a target: each kind of them, how it is called, and the settings that it gets."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import torch

SCHEMA = Path(__file__).parent.parent.parent / "docs/schema/verify.json"

pytestmark = [pytest.mark.torch, pytest.mark.slow]

SCRIPT = """\
import os, sys
import torch

assert __name__ == "__main__"
assert sys.argv[1:] == ["--steps", "3"], sys.argv
assert {argv0}, sys.argv[0]
assert {path0}, sys.path[0]
assert os.path.isabs(__file__)

@torch.compile(backend="eager")
def f(x):
    return x + 1

for n in range(int(sys.argv[2])):
    f(torch.ones(3))
"""
NETS = """\
from __future__ import annotations
import torch

class Config:
    def __init__(self, dim=6):
        self.dim = dim

class Net(torch.nn.Module):
    def __init__(self, config: Config, depth=1):
        super().__init__()
        self.config, self.depth = config, depth
        self.layer = torch.nn.Linear(config.dim, config.dim)

    def forward(self, x: Float[torch.Tensor, "batch dim"], ids: Int[torch.Tensor, "batch"], scale: float = 1.0):
        if self.training:
            if x.sum() > 0:
                x = x + ids[:, None]
        for _ in range(self.depth):
            x = self.layer(x)
        return x * scale

class Plain(torch.nn.Module):
    def __init__(self, dim, depth=1):
        super().__init__()
        self.layers = torch.nn.ModuleList([torch.nn.Linear(dim, dim) for _ in range(depth)])

    def forward(self, x):
        if x.is_cuda:
            print("on a GPU")
        for layer in self.layers:
            x = layer(x)
        return x

def make_plain() -> torch.nn.Module:
    return Plain(4)

def plain():
    return Plain(4)

def repeat(x, n=2):
    for _ in range(n):
        x = x + n
    return x

def inputs():
    return (torch.ones(2, 4),), {"n": 3}

def data(x, mask):
    if x.sum() > 0:
        x = x + 1
    y = x[mask]
    z = torch.nonzero(x)
    n = int(z.max())
    return y * 2, z + n, torch.unique(x) + 1

class Seven(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.empty(1_000_000, 100_000))

    def forward(self, x):
        return x @ self.weight

class Drawn(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.drawn = float(torch.rand(()))

    def forward(self, x):
        raise ValueError(f"drawn {self.drawn}")
"""
TESTS = """\
import pytest
import torch

@pytest.fixture
def size():
    return 3

@pytest.mark.parametrize("more", [1, 2])
def test_item(size, more):
    torch.compile(lambda x: x.sum().item() + more, backend="eager")(torch.ones(size))

class TestNet:
    def test_wrong(self):
        assert torch.compile(lambda x: x + 1, backend="eager")(torch.ones(2))[0] == 3, "not so"

@pytest.mark.skip(reason="not today")
def test_skipped():
    pass

def test_unknown(no_such_fixture):
    pass
"""
EARLY = """\
import os
os.environ["OMP_NUM_THREADS"] = "1"
os.environ.setdefault("TORCHDYNAMO_DISABLE", "1")
import torch
assert torch.get_num_threads() == 1
torch.compile(lambda x: x + 1, backend="eager")(torch.ones(3))
"""
CONFIG = """\
[targets]
train = { target = "train.py", arguments = ["--steps", "3"] }
module = { target = "-m pkg.train", arguments = ["--steps", "3"] }
early = "early.py"
relative = "pkg/relative.py"
test = "tests/test_nets.py::test_item[2]"
wrong = "tests/test_nets.py::TestNet::test_wrong"
skipped = "tests/test_nets.py::test_skipped"
unknown = "tests/test_nets.py::test_unknown"
nowhere = "tests/test_nets.py::test_nowhere"
net = "pkg.nets:Net"
net-trained = { target = "pkg.nets:Net", train = true }
net-evaluated = { target = "pkg.nets:Net", train = false }
init = { target = "pkg/nets.py::Plain", init = "4, depth=3", inputs = ["x=f32[2,4]"] }
init-wrong = { target = "pkg/nets.py::Plain", init = "4, width=3", inputs = ["f32[2,4]"] }
factory = { target = "pkg.nets:repeat", inputs = ["pkg.nets:inputs"] }
factory-and-more = { target = "pkg/nets.py::repeat", inputs = ["pkg/nets.py::inputs", "n=4"] }
makes = { target = "pkg/nets.py::make_plain", inputs = ["f32[2,4]"] }
called = { target = "pkg/nets.py::plain()", inputs = ["f32[2,4]"] }
not-called = "pkg/nets.py::plain"
drawn = { target = "pkg/nets.py::Drawn", inputs = ["f32[3]"] }
fake = { target = "pkg/nets.py::Seven", fake = true, inputs = ["f32[2,1000000]"] }
data = { target = "pkg/nets.py::data", inputs = ["f32[2,3]", "bool[2,3]"] }
data-wrong = { target = "pkg/nets.py::data", inputs = ["3", "bool[2,3]"] }
data-fake = { target = "pkg/nets.py::data", inputs = ["f32[2,3]", "bool[2,3]"], fake = true }
fake-gpu = { target = "pkg/nets.py::make_plain", fake = true, device = "cuda", inputs = ["f32[2,4]"] }
varied = { target = "pkg/nets.py::repeat", inputs = ["f32[2,4]"], vary = ["batch", "scalars", "strides", "mode"] }
varied-net = { target = "pkg/nets.py::make_plain", inputs = ["f32[2,4]"], vary = ["seq", "mode", "dtype", "grad"] }
"""


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("project")
    (folder / "pkg").mkdir()
    (folder / "tests").mkdir()
    script = SCRIPT.format(argv0="sys.argv[0] == 'train.py'", path0=f"sys.path[0] == {str(folder)!r}")
    module = SCRIPT.format(argv0="sys.argv[0] == __file__", path0="sys.path[0] in ('', os.getcwd())")
    for name, text in {
        "train.py": script,
        "early.py": EARLY,
        "pkg/__init__.py": "",
        "pkg/train.py": module,
        "pkg/relative.py": "from .nets import Plain\n",
        "pkg/nets.py": NETS,
        "tests/test_nets.py": TESTS,
        "fullgraph.toml": CONFIG,
    }.items():
        (folder / name).write_text(text)
    return folder


def verify(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "fullgraph.cli", "verify", "--backend", "eager", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=400, check=False)


@pytest.fixture(scope="module")
def configured(project: Path) -> dict[str, Any]:
    """All targets of the settings file, in one command."""
    done = verify(project, "--jobs", "2", "--output-format", "json")
    assert (done.returncode, done.stderr) == (2, "")
    document = json.loads(done.stdout)
    jsonschema.validate(document, json.loads(SCHEMA.read_text()))
    return {target["target"]: target for target in document["targets"]}


def test_targets_are_reported_in_their_order(configured: dict[str, Any]) -> None:
    assert list(configured) == [line.partition(" ")[0] for line in CONFIG.splitlines()[1:]]


@pytest.mark.parametrize(
    "name", ["train", "module", "early", "test", "net", "init", "factory", "makes", "called", "fake"]
)
def test_what_runs_to_its_end(configured: dict[str, Any], name: str) -> None:
    expected = "nothing-compiled" if name == "early" else "ok"
    assert configured[name]["status"] == expected, configured[name]["detail"]
    assert sum(frame["graphs"] for frame in configured[name]["frames"]) >= (name != "early")


@pytest.mark.parametrize(
    ("name", "detail"),
    [
        ("wrong", "AssertionError: not so"),
        ("skipped", "the test was skipped: Skipped: not today"),
        ("unknown", "setup: fixture 'no_such_fixture' not found"),
        ("nowhere", "pytest finds no test test_nowhere in test_nets.py"),
        (
            "init-wrong",
            "Plain: --init does not fit: got an unexpected keyword argument 'width'; it takes (dim, depth=1)",
        ),
        (
            "relative",
            "ImportError: attempted relative import with no known parent package (pkg/relative.py:1); "
            "run it as what it is, a module: -m pkg.relative",
        ),
        ("not-called", "plain() returned a module: write plain() to verify what it returns"),
    ],
)
def test_what_does_not_says_why(configured: dict[str, Any], name: str, detail: str) -> None:
    target = configured[name]
    assert target["status"] == "failed"
    assert target["detail"].startswith(detail)


def test_random_weights_are_the_same_in_each_run(configured: dict[str, Any]) -> None:
    generator = torch.Generator().manual_seed(0)
    assert f"drawn {float(torch.rand((), generator=generator))}" in configured["drawn"]["detail"]


def test_what_dynamo_makes_of_wrong_inputs_is_nobodys_fault(configured: dict[str, Any]) -> None:
    target = configured["data-wrong"]
    place = f"pkg/nets.py:{target['breaks'][0]['line']}"
    assert (target["status"], target["detail"]) == (
        "failed",
        f"AttributeError: 'int' object has no attribute 'sum' ({place})",
    )
    assert target["remarks"] == [f"{place} raises with these inputs, compiled or not: nobody had to foresee a break"]
    assert target["unpredicted"] == []


def test_a_test_is_observed(configured: dict[str, Any]) -> None:
    assert [(item["path"], item["line"]) for item in configured["test"]["breaks"]] == [("tests/test_nets.py", 10)]
    assert configured["wrong"]["detail"].endswith("(tests/test_nets.py:14)")


def test_what_was_made_up_is_said(configured: dict[str, Any]) -> None:
    assert configured["net-evaluated"]["remarks"] == [
        "Net made with config=Config()",
        "x: f32[2,6], from its annotation 'batch dim'",
        "ids: i64[2], from its annotation 'batch'",
    ]
    assert configured["makes"]["remarks"] == ["make_plain() made a Plain"]


def test_findings_of_the_other_mode_are_tried_in_it(configured: dict[str, Any]) -> None:
    verdicts = {
        name: [item["verdict"] for item in configured[name]["findings"] if item["when"]["training"]]
        for name in ("net", "net-trained", "net-evaluated")
    }
    assert verdicts == {"net": ["confirmed"], "net-trained": ["confirmed"], "net-evaluated": ["not-reached"]}
    assert "run in training mode too, in which some findings hold" in configured["net"]["remarks"]
    ids = [frame["id"] for frame in configured["net"]["frames"]]
    assert len(ids) == len(set(ids))
    assert [item["change"] for item in configured["net"]["calls"]] == ["", ""]


def test_inputs_made_by_a_function_leave_room_for_more(configured: dict[str, Any]) -> None:
    guards = [guard for frame in configured["factory-and-more"]["frames"] for guard in frame["guards"]]
    assert any("== 4" in guard for guard in guards)


def test_without_numbers_a_module_needs_no_memory(configured: dict[str, Any]) -> None:
    assert configured["fake"]["remarks"][0].startswith("traced with tensors that hold no numbers")
    assert configured["fake"]["no_mlir"] is None
    assert [item["line"] for item in configured["fake-gpu"]["breaks"]] == [29]
    assert configured["makes"]["breaks"] == []


def test_without_numbers_a_program_goes_on_after_it_has_read_one(configured: dict[str, Any]) -> None:
    breaks = [
        [(item["line"], item["gb"], item["kind"]) for item in configured[name]["breaks"]]
        for name in ("data", "data-fake")
    ]
    assert [line for line, _, _ in breaks[0]] == [49, 51, 52, 53, 54]
    assert breaks[0] == breaks[1]


def by_variation(target: dict[str, Any]) -> dict[str, int]:
    """Recompiles of each variation that could be called."""
    names = dict.fromkeys(item["variation"] for item in target["calls"] if not item["error"])
    return {name: sum(item["variation"] == name for item in target["recompiles"]) for name in names}


def test_variations_tell_what_recompiles(configured: dict[str, Any]) -> None:
    varied = configured["varied"]
    assert by_variation(varied) == {"": 0, "batch": 1, "strides": 1, "scalars: n": 3}
    assert "--vary mode: nothing in this call that it could change" in varied["remarks"]
    (batch,) = (item for item in varied["recompiles"] if item["variation"] == "batch")
    assert "size mismatch at index 0. expected 2, actual 3" in batch["failed_guards"][0]


def test_a_variation_that_cannot_be_called_is_told_and_leaves_no_trace(configured: dict[str, Any]) -> None:
    varied = configured["varied-net"]
    assert varied["status"] == "ok"
    assert (varied["breaks"], varied["errors"], varied["unpredicted"]) == ([], [], [])
    errors = {item["variation"] for item in varied["calls"] if item["error"]}
    assert errors == {"seq"}
    found = by_variation(varied)
    assert (found["mode"], found["dtype"], found["grad: no_grad"], found["grad: requires_grad"]) == (0, 1, 1, 1)


def test_arguments_follow_two_dashes_and_calls_can_be_limited(project: Path) -> None:
    (project / "long.py").write_text(
        "import sys, torch\nf = torch.compile(lambda x: x + 1)\ntry:\n    for n in range(int(sys.argv[1])):\n"
        "        x = f(torch.ones(3))\nfinally:\n    print(n, file=sys.stderr)\nraise SystemExit(1)\n"
    )
    done = verify(project, "--max-calls", "2", "--output-format", "json", "long.py", "-m", "long", "--", "1000000000")
    assert done.returncode == 0, done.stdout
    for target in json.loads(done.stdout)["targets"]:
        assert (target["status"], len(target["frames"])) == ("ok", 1)
        assert target["remarks"] == ["stopped after 2 calls of compiled functions, as --max-calls says"]


def test_text_is_whole_when_piped_and_shows_the_last_words(project: Path) -> None:
    (project / "loud.py").write_text(
        "import argparse\nparser = argparse.ArgumentParser()\nparser.add_argument('--data', required=True)\n"
        "parser.parse_args()\n"
    )
    inputs = "{'" + "k" * 200 + "': f32[2]}"
    done = verify(project, "loud.py", "varied", "--input", inputs)
    assert done.returncode == 2
    assert done.stderr.startswith("fullgraph: --input is for PATH::QUALNAME; loud.py is a script")
    done = verify(project, "loud.py", "varied", "--fail-on", "unpredicted")
    assert (
        "  failed: exit code 2\n  | usage: loud.py [-h] --data DATA\n  | loud.py: error: the following" in done.stdout
    )
    lines = done.stdout.splitlines()
    assert not [line for line in lines if line.endswith("…")]
    assert [line.split(";")[0] for line in lines if line.startswith("  varied")] == [
        "  varied       batch: 2 → 3, 4, 7: 3 calls, only 1 recompile of pkg/nets.py:40: repeat",
        "  varied       scalars: n: 2 → 3, 4, 5: 3 calls, 3 recompiles of pkg/nets.py:40: repeat",
        "  varied       strides: tensors that are not contiguous: 1 call, 1 recompile of pkg/nets.py:40: repeat",
    ]


def test_what_the_linter_got_wrong_is_recorded_as_small_examples(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(RECORDED)
    (tmp_path / "whole.py").write_text("import torch\n" + RECORDED[RECORDED.index("@torch") :])
    options = ("--ignore", "FG3,FG8", "--record", "cases")
    done = verify(tmp_path, *options, "program.py", "whole.py")
    assert done.returncode == 1
    cut, whole = (tmp_path / "cases" / f"unpredicted-{name}-FG808.yaml" for name in ("program-9", "whole-4"))
    assert cut.read_text().splitlines()[1:] == [
        "# cut out of program.py and compiled once more; the line is 5",
        "gb: [GB0025]",
        "bad:",
        "  - code: |",
        "      import torch",
        "",
        *(f"      {line}".rstrip() for line in RECORDED_CUT.splitlines()),
    ]
    assert whole.read_text().splitlines()[1] == "# all of whole.py: it could not be cut down; the line is 4"


def test_findings_outside_the_working_directory_are_judged_too(tmp_path: Path) -> None:
    (tmp_path / "here").mkdir()
    (tmp_path / "there.py").write_text("def f(x):\n    return x * x.sum().item()\n")
    done = verify(tmp_path / "here", "../there.py::f", "--input", "f32[2]", "--output-format", "json")
    (target,) = json.loads(done.stdout)["targets"]
    place = (tmp_path / "there.py").as_posix()
    assert [(item["path"], item["line"], item["verdict"]) for item in target["findings"]] == [(place, 2, "confirmed")]
    assert target["unpredicted"] == []


def test_what_a_script_compiles_of_a_library_is_judged_too(tmp_path: Path) -> None:
    """No code says which function that is: the run does, also through its decorators, whatever else these call."""
    library = tmp_path / "site-packages/nets.py"
    library.parent.mkdir()
    library.write_text(LIBRARY)
    (tmp_path / "main.py").write_text(
        "import importlib, sys\nimport torch\nsys.path.insert(0, 'site-packages')\n"
        "make = getattr(importlib.import_module('nets'), 'Net')\n"
        "torch.compile(make(), backend='eager')(torch.ones(2))\n"
    )
    done = verify(tmp_path, "main.py", "--first-party", str(library), "--output-format", "json")
    (target,) = json.loads(done.stdout)["targets"]
    assert [(item["line"], item["verdict"]) for item in target["findings"]] == [(26, "confirmed")]
    assert target["unpredicted"] == []


LIBRARY = """\
import functools
import torch

def counts(x):
    return len(x)

def checked(function):
    @functools.wraps(function)
    def wrapper(self, x):
        return function(self, x * counts(x))
    return wrapper

def doubled(function):
    @functools.wraps(function)
    def wrapper(self, x):
        return function(self, x * 2)
    return wrapper

class Net(torch.nn.Module):
    @checked
    @doubled
    def forward(self, x):
        return self.rest(x * 2)

    def rest(self, x):
        return x if x.sum() > 0 else -x

    def unused(self, x):
        return x.item()
"""
RECORDED_CUT = """\
@torch.compile
def f(x):
    torch._dynamo.graph_break()  # FG808
    return x

f(torch.ones(3))
"""
RECORDED = """\
import json
import torch

def unused(x):
    return json.dumps(x)

@torch.compile
def f(x):
    torch._dynamo.graph_break()
    return x

f(torch.ones(3))
"""


def test_annotations_of_a_script_are_what_python_makes_of_them(tmp_path: Path) -> None:
    """Objects, not texts, unless the script asks for texts."""
    (tmp_path / "main.py").write_text(
        "import torch\ndef f(x: int):\n    return x + 1\n"
        "assert f.__annotations__ == {'x': int}\ntorch.compile(f, backend='eager')(torch.ones(2))\n"
    )
    done = verify(tmp_path, "main.py")
    assert done.returncode == 0, done.stdout + done.stderr
