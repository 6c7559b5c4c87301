"""`fullgraph verify` on the MLIR backend: what ran natively is told, and Dynamo's part of the report stays the same."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from fullgraph.jit.targets import STAGES

SCHEMA = Path(__file__).parent.parent.parent / "docs/schema/verify.json"

pytestmark = [pytest.mark.torch, pytest.mark.slow]

PROGRAM = """\
import torch

@torch.compile
def f(x, w):
    y = (x.exp() + 1) * 2
    print("!")
    return (y @ w).exp().sum()

for rows in (3, 4, 5):
    w = torch.randn(4, 4, requires_grad=True)
    f(torch.randn(rows, 4), w).backward()

@torch.compile(backend="mlir")
def g(x):
    return x * 2 + 1

@torch.compile(backend="aot_eager")
def h(x):
    return x * 2 + 1

g(torch.ones(3))
h(torch.ones(3))
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("program")
    (folder / "m.py").write_text(PROGRAM)
    return folder


def verify(folder: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "fullgraph.cli", "verify", "m.py", *arguments]
    env = {**os.environ, **environment}
    return subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, timeout=300, check=False)


def target(folder: Path, *arguments: str, **environment: str) -> dict[str, Any]:
    done = verify(folder, "--output-format", "json", *arguments, **environment)
    assert done.stderr == ""
    document = json.loads(done.stdout)
    jsonschema.validate(document, json.loads(SCHEMA.read_text()))
    (found,) = document["targets"]
    assert isinstance(found, dict)
    return found


@pytest.fixture(scope="module")
def seen(folder: Path) -> dict[str, Any]:
    return target(folder)


def test_calls_that_name_no_backend_run_natively(seen: dict[str, Any]) -> None:
    assert (seen["status"], seen["no_mlir"]) == ("ok", None)
    first = seen["graphs"][0]
    assert (first["mlir_ops"], first["eager_ops"]) == (3, 0)
    assert first["max_abs_error"] < 1e-4
    rest = seen["graphs"][1]
    assert {item["phase"] for item in rest["lowered"]} == {"forward", "backward"}
    assert rest["mlir_ops"] > 0
    assert {item["operator"] for lowered in rest["lowered"] for item in lowered["left"]} >= {"aten.mm.default"}
    assert all(not lowered["failures"] for graph in seen["graphs"] for lowered in graph["lowered"])


def test_an_explicit_backend_stays(seen: dict[str, Any]) -> None:
    named, other = seen["graphs"][-2:]
    assert named["mlir_ops"] == 2
    assert (other["lowered"], other["mlir_ops"], other["max_abs_error"]) == ([], 0, None)
    assert other["eager_ops"] == other["ops"]


def test_what_dynamo_did_does_not_depend_on_the_backend(folder: Path, seen: dict[str, Any]) -> None:
    eager = target(folder, "--backend", "eager")
    assert eager["breaks"] == seen["breaks"]
    assert eager["recompiles"] == seen["recompiles"]
    for one, other in zip(eager["frames"], seen["frames"], strict=True):
        assert one["guards"] == other["guards"]
    assert [graph["ops"] for graph in eager["graphs"]] == [graph["ops"] for graph in seen["graphs"]]


def test_two_lines_tell_it(folder: Path) -> None:
    lines = verify(folder).stdout.splitlines()
    (told,) = [i for i, line in enumerate(lines) if line.startswith("  mlir ")]
    assert re.search(r"\d+ of \d+ ATen operators native, at most \S+ from eager, \S+ s$", lines[told])
    assert lines[told + 1].strip().startswith("eager: ")


@pytest.mark.parametrize("stage", ["aten", "linalg", "llvm"])
def test_a_stage_is_shown(folder: Path, stage: str) -> None:
    done = verify(folder, "--show-ir", stage)
    marks = {"aten": "torch.ops.aten.exp.default", "linalg": "linalg.generic", "llvm": "llvm.func @region"}
    assert f"// graph 1, inference{'' if stage == 'aten' else ', region_0'}: {stage}\n" in done.stdout
    for name, mark in marks.items():
        assert (mark in done.stdout) == (name == stage)


def test_a_stage_is_in_the_document_and_more_of_them_on_the_page(folder: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    found = target(folder, "--show-ir", "memref", "--report", str(page))
    stages = [item for graph in found["graphs"] for item in graph["ir"]]
    assert {item["name"] for item in stages} == {"memref"}
    assert all("memref<" in item["text"] for item in stages)
    shown = set(re.findall(r'<details class="stage">\s*<summary>(\S+)', page.read_text()))
    assert shown == {"aten", "partition", "linalg", "loops", "memref"}


def test_a_stage_that_does_not_exist(folder: Path) -> None:
    done = verify(folder, "--show-ir", "nothing")
    assert done.returncode == 2
    assert all(stage in done.stderr for stage in STAGES)


def test_the_memory_limit_of_the_target_is_not_the_compilers(folder: Path) -> None:
    limited = target(folder, "--memory-mb", "600")
    assert limited["status"] == "ok", limited["detail"]
    assert limited["graphs"][0]["mlir_ops"] == 3


def test_without_torch_mlir_eager_stands_in(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(
        "import importlib.util as util\nfind = util.find_spec\n"
        "util.find_spec = lambda name, *rest: None if name == 'torch_mlir' else find(name, *rest)\n"
    )
    found = target(folder, PYTHONPATH=str(tmp_path))
    assert (found["status"], found["no_mlir"]) == (
        "ok",
        "torch-mlir is not installed; pip install 'fullgraph[jit]'",
    )
    assert {graph["mlir_ops"] for graph in found["graphs"]} == {0}
    text = verify(folder, PYTHONPATH=str(tmp_path)).stdout
    assert "eager stands in: torch-mlir is not installed" in text
