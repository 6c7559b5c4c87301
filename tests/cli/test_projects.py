"""Repositories with several config files: each file is checked with the settings of its nearest one."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

BREAKS = """\
import torch

@torch.compile
def scale(x):
    print(x)
    return x * x.sum().item()
"""


def check(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "fullgraph.cli", "check", "--no-cache", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=60)


def codes(*arguments: str) -> list[tuple[str, str]]:
    document = json.loads(check("--output-format", "json", *arguments).stdout)
    return [(finding["path"], finding["code"]) for finding in document["findings"]]


@pytest.fixture(autouse=True)
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name, settings in {
        "pyproject.toml": '[tool.fullgraph]\nignore = ["FG2"]\n',
        "a/pyproject.toml": '[tool.fullgraph]\nignore = ["FG3"]\nexclude = ["old.py"]\n',
        "b/pyproject.toml": '[project]\nname = "b"\n',
        "a/deep/fullgraph.toml": "",
    }.items():
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_text(settings)
    for name in ("m.py", "a/m.py", "a/old.py", "a/deep/m.py", "b/m.py"):
        Path(name).write_text(BREAKS)
    return tmp_path


def test_each_file_has_the_settings_of_its_project() -> None:
    assert codes() == [
        ("a/deep/m.py", "FG301"),
        ("a/deep/m.py", "FG201"),
        ("a/m.py", "FG201"),
        ("b/m.py", "FG301"),
        ("m.py", "FG301"),
    ]


def test_files_given_one_by_one_too() -> None:
    assert codes("b/m.py", "a/old.py") == [("a/old.py", "FG201"), ("b/m.py", "FG301")]


def test_the_summary_says_so() -> None:
    summary = check().stdout.splitlines()[-1]
    assert summary.startswith(
        "5 findings in 4 of 4 files of 3 projects, each by its own settings; 4 entries by decorator"
    )
    assert "projects" not in check("a/m.py").stdout


def test_a_config_named_outright_holds_for_all() -> None:
    assert codes("--config", "a/pyproject.toml", "m.py", "b/m.py") == [("b/m.py", "FG201"), ("m.py", "FG201")]


def test_options_hold_in_every_project() -> None:
    assert codes("--select", "FG2") == [("a/deep/m.py", "FG201"), ("a/m.py", "FG201")]


def test_a_mistake_in_one_config_is_named() -> None:
    Path("a/deep/fullgraph.toml").write_text("speed = 1\n")
    done = check()
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("fullgraph: a/deep/fullgraph.toml: `speed` is not a setting")
