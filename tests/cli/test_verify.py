"""`fullgraph verify` on labelled programs: the breaks and recompiles reported are the ones that torch is known to make.

`corpus/verify` has a script for each of many kinds of break, `corpus/guide` the situations that PyTorch's
troubleshooting guide describes. The labels were made by running torch 2.13 and are compared whole.
"""

from __future__ import annotations

import json
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import pytest

CORPUS = Path(__file__).parent.parent / "corpus"
SCHEMA = Path(__file__).parent.parent.parent / "docs/schema/verify.json"
LABELS = {name: json.loads((CORPUS / name / "labels.json").read_text()) for name in ("verify", "guide")}
OTHERWISE = {
    # The label was made with a function of another signature in the place of `torch.compile`. Torch's own log says
    # what is reported, see tests/jit/test_capture_log.py.
    "GB7312_compile_inside.py": {"GB7312": "GB0223"},
}
MORE_GRAPHS = {
    # The label was made with one backend in the place of all, so that the second one had nothing to compile.
    "several_backends.py": 1,
}

pytestmark = [pytest.mark.torch, pytest.mark.slow]


def verify(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "fullgraph.cli", "verify", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=500, check=False)


@cache
def sweep(corpus: str) -> dict[str, Any]:
    """One command over all scripts of a corpus."""
    done = verify(CORPUS / corpus, "--output-format", "json", "--timeout", "60", *sorted(LABELS[corpus]))
    assert done.stderr == ""
    assert done.returncode == 2, "some of these programs raise"
    document: dict[str, Any] = json.loads(done.stdout)
    return document


def seen(corpus: str, script: str) -> dict[str, Any]:
    return next(target for target in sweep(corpus)["targets"] if target["target"] == script)


def scripts(corpus: str) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("script", sorted(LABELS[corpus]))


def places(script: str, label: dict[str, Any]) -> list[tuple[Any, ...]]:
    ids = OTHERWISE.get(script, {})
    return sorted(
        (item["line"], ids.get(item["gb_id"], item["gb_id"]), item["frame_skipped"], item["in_library"])
        for item in label["breaks"]
    )


def reported(target: dict[str, Any]) -> list[tuple[Any, ...]]:
    assert {item["path"] for item in target["breaks"]} <= {target["target"]}
    return sorted(
        (item["line"], item["gb"], item["kind"] == "skipped-frame", item["in_library"]) for item in target["breaks"]
    )


@scripts("verify")
def test_kinds_of_breaks(script: str) -> None:
    target, label = seen("verify", script), LABELS["verify"][script]
    assert reported(target) == places(script, label)
    ids = OTHERWISE.get(script, {})
    assert sorted(item["root_gb"] for item in target["breaks"]) == sorted(
        ids.get(item["root_gb_id"], item["root_gb_id"]) for item in label["breaks"]
    )
    assert len(target["recompiles"]) == len(label["recompiles"])
    assert sum(frame["graphs"] for frame in target["frames"]) == label["n_graphs"]
    assert target["status"] == ("failed" if label["raises"] else "ok")
    assert (target["detail"] or "").partition(":")[0] == (label["raises"] or "")


@scripts("guide")
def test_situations_of_the_troubleshooting_guide(script: str) -> None:
    target, label = seen("guide", script), LABELS["guide"][script]
    assert reported(target) == places(script, label)
    assert len(target["recompiles"]) == label["recompiles"]
    assert sum(frame["graphs"] for frame in target["frames"]) == label["graphs"] + MORE_GRAPHS.get(script, 0)
    assert any(item["limit_hit"] for item in target["recompiles"]) == label["limit_hit"]
    assert target["status"] == ("failed" if label["raises"] else "ok")


@pytest.mark.parametrize("corpus", LABELS)
def test_the_document_follows_its_schema(corpus: str) -> None:
    jsonschema.validate(sweep(corpus), json.loads(SCHEMA.read_text()))


@pytest.mark.parametrize("corpus", LABELS)
def test_every_break_is_either_predicted_or_listed_as_not(corpus: str) -> None:
    for target in sweep(corpus)["targets"]:
        confirmed = [item for item in target["findings"] if item["verdict"] == "confirmed"]
        listed = [item["line"] for item in target["unpredicted"]]
        for item in target["breaks"]:
            assert item["line"] in listed or any(
                finding["line"] <= item["line"] <= finding["end_line"] for finding in confirmed
            )


PROGRAM = """\
import torch

class Net(torch.nn.Module):
    def __init__(self, width=4):
        super().__init__()
        self.layer = torch.nn.Linear(width, width)

    def forward(self, x):
        if self.training:
            return self.layer(x)
        if x.sum() > 0:
            return self.layer(x)
        return x

class Wide(Net):
    def __init__(self, width):
        super().__init__(width)

net = Net()

def scale(x, factor):
    return x * factor

def read(x, ids, options):
    return x[ids].sum().item() + options["bias"]

@torch.compile(fullgraph=True)
def whole(x):
    return x + 1

class Plain:
    def __init__(self, k):
        self.k = k

    def run(self, x):
        return x * self.k
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("program")
    (folder / "m.py").write_text(PROGRAM)
    return folder


def many(folder: Path, *arguments: str) -> tuple[int, list[dict[str, Any]]]:
    """Exit code and targets of one command."""
    done = verify(folder, "--output-format", "json", *arguments)
    assert done.stderr == ""
    return done.returncode, json.loads(done.stdout)["targets"]


def test_a_function_is_compiled_and_called_with_the_inputs(program: Path) -> None:
    inputs = ("--input", "f32[8]", "--input", "i64[3]<8", "--input", "{'bias': 1}")
    code, (target,) = many(program, "m.py::read", *inputs)
    assert (target["status"], code) == ("ok", 1)
    assert [(item["line"], item["gb"], item["function"]) for item in target["breaks"]] == [(25, "GB0124", "read")]
    assert [(item["line"], item["verdict"]) for item in target["findings"]] == [(25, "confirmed")]


def test_modules_classes_and_methods_are_verified_in_evaluation_mode(program: Path) -> None:
    code, targets = many(program, "m.py::Net", "m.py::net", "m.py::net.forward", "m.py::whole", "--input", "f32[2,4]")
    assert code == 1
    assert [[item["line"] for item in target["breaks"]] for target in targets] == [[11], [11], [11], []]
    confirmed = [[item["verdict"] for item in target["findings"] if item["line"] == 11] for target in targets[:3]]
    assert confirmed == [["confirmed"]] * 3
    assert [frame["function"] for frame in targets[3]["frames"]] == ["whole"]


def test_modules_can_be_verified_in_training_mode(program: Path) -> None:
    code, (target,) = many(program, "m.py::Net", "--train", "--input", "f32[2,4]")
    assert (code, target["status"], target["breaks"]) == (0, "ok", [])
    assert [(item["line"], item["verdict"]) for item in target["findings"]] == [(11, "not-reached")]


def test_targets_that_cannot_be_called_are_explained(program: Path) -> None:
    details = {
        "m.py::nope": "nope: the module m has no 'nope'",
        "m.py::Net.nope": "Net.nope: a Net has no 'nope'",
        "m.py::Wide": "Wide() needs width; give it with --init 'width=…', or name an instance, or a function that "
        "returns one",
        "m.py::Plain": "Plain is a class and no module; name a method of it, Plain.NAME",
        "m.py::Plain.run": "Plain() needs k; give it with --init 'k=…', or name an instance, or a function that "
        "returns one",
        "m.py::Plain.nope": "Plain.nope: the class Plain has no 'nope'",
        "m.py::torch.float32": "torch.float32 is a dtype, which cannot be called",
        "m.py::scale": "scale: nothing says what 'factor' is; give it with --input 'factor=f32[8,64]', or all inputs "
        "with --input PATH::FUNCTION",
        "m.py::whole": "",
    }
    code, targets = many(program, *details, "--input", "f32[2]")
    assert code == 2
    assert {target["target"]: target["detail"] or "" for target in targets} == details
    told = [
        target["target"] for target in targets if any("--input goes to every" in text for text in target["remarks"])
    ]
    assert told == ["m.py::scale"]


def test_a_file_of_a_package_keeps_its_relative_imports(tmp_path: Path) -> None:
    package = tmp_path / "pkg" / "sub"
    package.mkdir(parents=True)
    for folder in (package, package.parent):
        (folder / "__init__.py").touch()
    (package.parent / "helper.py").write_text("def double(x):\n    print(x.shape)\n    return x * 2\n")
    (package / "m.py").write_text("from ..helper import double\n\ndef f(x):\n    return double(x)\n")
    _, (target,) = many(tmp_path, "pkg/sub/m.py::f", "--input", "f32[2]")
    assert [(item["path"], item["line"]) for item in target["breaks"]] == [("pkg/helper.py", 2)]


def test_settings_outrank_what_the_compile_calls_say(tmp_path: Path) -> None:
    (tmp_path / "m.py").write_text(
        "import torch\n\n@torch.compile(backend='inductor', fullgraph=True, dynamic=True)\ndef f(x):\n"
        "    x = x * 2\n    print('!')\n    return x + 1\n\nfor n in (2, 3, 4):\n    f(torch.ones(n))\n"
    )
    _, (target,) = many(tmp_path, "m.py", "--backend", "eager", "--mode", "default", "--dynamic", "false")
    assert (target["status"], len(target["breaks"])) == ("ok", 1)
    assert len(target["recompiles"]) == 4, "the function and its rest, each for two more sizes"


def test_text_fits_one_screen_and_ends_with_a_table(program: Path) -> None:
    done = verify(program, "m.py::net", "--input", "f32[2,4]")
    lines = done.stdout.splitlines()
    assert done.returncode == 1
    assert lines[0].startswith("m.py::net: ")
    assert lines[1].startswith("  confirmed    m.py:11:")
    assert " ".join(lines[-2].split()) == (
        "target status findings confirmed refuted not reached unpredicted breaks recompiles"
    )
    assert lines[-1].split() == ["m.py::net", "ok", "1", "1", "0", "0", "0", "1", "0"]
    assert len(lines) < 25
    assert max(map(len, lines)) <= 120
