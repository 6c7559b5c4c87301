"""Notebooks: their cells are one program, findings are told by cell and line, and what is no Python is left out."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

MODEL = """\
import torch

@torch.compile
def scale(x):
    return x * x.sum().item()
"""


def write(*cells: str, language: str = "python", name: str = "nb.ipynb") -> None:
    """A notebook of code cells; one that begins with `#md` is text."""
    document = {
        "nbformat": 4,
        "nbformat_minor": 5,
        "metadata": {"kernelspec": {"language": language}},
        "cells": [
            {
                "cell_type": "markdown" if text.startswith("#md") else "code",
                "metadata": {},
                "source": text.splitlines(keepends=True),
            }
            for text in cells
        ],
    }
    Path(name).write_text(json.dumps(document), encoding="utf-8")


def check(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "fullgraph.cli", "check", "--no-cache", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=60)


def places(*arguments: str) -> list[tuple[str, int | None, int]]:
    document: dict[str, Any] = json.loads(check("--output-format", "json", *arguments).stdout)
    return [(finding["code"], finding.get("cell"), finding["line"]) for finding in document["findings"]]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_finding_is_told_by_cell_and_line() -> None:
    write("#md A model", "import torch", MODEL, "scale(torch.ones(3))")
    done = check()
    assert done.returncode == 1
    lines = done.stdout.splitlines()
    assert lines[0].startswith("nb.ipynb:cell 3:line 5:16: FG201 ")
    assert lines[2] == "5 |     return x * x.sum().item()"
    assert check("--output-format", "concise", "nb.ipynb").stdout.startswith("nb.ipynb:cell 3:line 5:16: FG201 ")
    assert places("nb.ipynb") == [("FG201", 3, 5)]


def test_cells_are_one_program() -> None:
    write(
        "import torch\ndef helper(x):\n    print(x)\n    return x", "@torch.compile\ndef run(x):\n    return helper(x)"
    )
    (finding,) = json.loads(check("--output-format", "json").stdout)["findings"]
    assert (finding["cell"], finding["line"], finding["via"]) == (1, 3, ["run", "helper"])
    assert finding["root"] == "nb.ipynb:cell 1:line 3"


@pytest.mark.parametrize(
    "magic",
    [
        "%matplotlib inline",
        "!pip install timm",
        "files = !ls",
        "scale?",
        "if True:\n    %time scale\n",
        "%%bash\nls -l | wc",
        "%%html\n<b>bold</b>",
        "print('50 %'\n % ())\n%load_ext x",
    ],
)
def test_what_only_ipython_understands_is_skipped(magic: str) -> None:
    write(magic, MODEL)
    assert places() == [("FG201", 2, 5)]


def test_lines_after_a_magic_stay_where_they_are() -> None:
    write("%%time\n%config x\n" + MODEL)
    assert places() == [("FG201", 1, 7)]


def test_a_cell_that_is_no_python_is_a_finding_and_the_others_are_checked() -> None:
    write(MODEL, "x = 1\ndef broken(:\n")
    assert places() == [("FG201", 1, 5), ("FG901", 2, 2)]


def test_comments_suppress() -> None:
    write("x = 1", MODEL.replace("item()", "item()  # fullgraph: ignore[FG201]"))
    assert places() == []


@pytest.mark.parametrize("content", [b"", b"{", b'{"cells": 3}', b'{"cells": [1]}', b"\xff\xfe", b"[]"])
def test_a_file_that_is_no_notebook_is_a_finding(content: bytes) -> None:
    Path("torch.ipynb").write_bytes(content)
    done = check("--output-format", "concise", "torch.ipynb")
    assert done.returncode == 1, done.stderr
    assert done.stdout.startswith("torch.ipynb:1:1: FG901 [certain] not a notebook: ")
    assert done.stdout.count("\n") == 1


def test_another_languages_notebook_is_left_alone() -> None:
    write("library(torch)\nf <- function(x) x", language="R")
    assert places() == []


def test_a_module_imported_by_a_notebook_is_followed() -> None:
    Path("helpers.py").write_text("def loud(x):\n    print(x)\n    return x\n")
    write("import torch\nfrom helpers import loud", "@torch.compile\ndef run(x):\n    return loud(x)")
    assert places("nb.ipynb") == [("FG301", 2, 3)]
