"""`fullgraph doctor` says what is there, what is missing and what to do, and fails only for what `check` needs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib import metadata
from typing import Any

import pytest

from fullgraph.cli.main import run

BLOCK = """
import sys
from importlib import metadata, util
original, find = metadata.version, util.find_spec
def version(name):
    if name in {missing!r}:
        raise metadata.PackageNotFoundError(name)
    return {versions!r}.get(name) or original(name)
metadata.version = version
util.find_spec = lambda name, *rest: None if name.replace('_', '-') in {missing!r} else find(name, *rest)
from fullgraph.cli.main import run
code = run(["doctor", *sys.argv[1:]])
assert 'torch' not in sys.modules
sys.exit(code)
"""


def doctor(*arguments: str, missing: tuple[str, ...] = (), **versions: str) -> subprocess.CompletedProcess[str]:
    """In an environment from which packages are missing, or where they are of other versions."""
    program = BLOCK.format(missing=missing, versions=versions)
    return subprocess.run([sys.executable, "-c", program, *arguments], capture_output=True, text=True, check=False)


def diagnoses(*arguments: str, **environment: Any) -> dict[str, dict[str, Any]]:
    done = doctor("--output-format", "json", *arguments, **environment)
    assert done.stderr == ""
    document = json.loads(done.stdout)
    assert document["schema"] == "fullgraph.doctor/1"
    return {item["name"]: item for item in document["diagnoses"]}


@pytest.mark.torch
def test_everything_is_there() -> None:
    done = doctor()
    assert (done.returncode, done.stderr) == (0, "")
    assert "a test region was compiled and loaded" in done.stdout
    assert done.stdout.endswith("\nfullgraph check has all it needs\nfullgraph verify has all it needs\n")


@pytest.mark.torch
def test_versions_are_shown() -> None:
    found = diagnoses()
    for name in ("torch", "torch-mlir", "libcst"):
        assert found[name]["found"] == metadata.version(name)
        assert found[name]["remedy"] is None


def test_without_torch_check_works_and_verify_says_what_it_lacks() -> None:
    done = doctor(missing=("torch", "torch-mlir"))
    assert (done.returncode, done.stderr) == (0, "")
    assert "pip install 'fullgraph[jit]'" in done.stdout
    assert done.stdout.endswith(
        "fullgraph check has all it needs\nfullgraph verify lacks torch, torch-mlir, native code\n"
    )


def test_without_libcst_check_does_not_work() -> None:
    done = doctor(missing=("libcst", "torch-mlir"))
    assert done.returncode == 1
    assert "fullgraph check lacks libcst\n" in done.stdout


def test_a_torch_that_has_not_been_measured() -> None:
    found = diagnoses(missing=("torch-mlir",), torch="2.12.1")
    assert found["torch"]["found"] == "2.12.1; verify has been tested with 2.9, 2.11, 2.13, 2.14"
    assert found["torch"]["remedy"] is None


def test_a_cache_that_cannot_be_written_is_not_needed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "/dev/null/nowhere")
    monkeypatch.setattr("fullgraph.jit.worker.unavailable", lambda: "not here")
    assert run(["doctor"]) == 0
    printed = capsys.readouterr().out
    assert f"{os.sep}dev{os.sep}null" in printed
    assert "XDG_CACHE_HOME" in printed
    assert "check has all it needs" in printed
