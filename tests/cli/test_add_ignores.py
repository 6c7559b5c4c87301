"""`--add-ignores`: a comment at each finding, nothing else changed, and a clean second check."""

from __future__ import annotations

import ast
import json
from pathlib import Path

import pytest
from in_process import check

BEFORE = '''\
import torch

@torch.compile
def f(x):
    print("a", x)
    s = """
    """, x.sum().item(), """
   """
    t = x.sum() \\
        .item()   \n\
    u = [
        x.max().item(),  # why
        x.min().item(),
    ]
    if x.sum() > 0:  # note
        return x.mean().item(); print(x)
    print(x.min().item())  # fullgraph: ignore[FG301] kept
    return f"""{x}
    {x.prod().item()}"""
'''
AFTER = '''\
import torch

@torch.compile
def f(x):
    print("a", x)  # fullgraph: ignore[FG301]
    s = """
    """, x.sum().item(), """
   """  # fullgraph: ignore[FG201]
    t = x.sum() \\
        .item()  # fullgraph: ignore[FG201]
    u = [
        x.max().item(),  # why  # fullgraph: ignore[FG201]
        x.min().item(),  # fullgraph: ignore[FG201]
    ]
    if x.sum() > 0:  # note  # fullgraph: ignore[FG101]
        return x.mean().item(); print(x)  # fullgraph: ignore[FG201]
    print(x.min().item())  # fullgraph: ignore[FG301, FG201] kept
    return f"""{x}
    {x.prod().item()}"""  # fullgraph: ignore[FG201]
'''


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "m.py").write_text(BEFORE)
    return tmp_path


def test_every_finding_gets_a_comment_where_one_can_stand() -> None:
    shown = check("--add-ignores", "--diff")
    assert (shown.exit_code, Path("m.py").read_text()) == (1, BEFORE)
    assert shown.stdout.startswith("--- m.py\n+++ m.py\n")
    done = check("--add-ignores")
    assert (done.exit_code, done.stderr) == (0, "fullgraph: ignored 9, 0 left\n")
    assert Path("m.py").read_text() == AFTER
    assert ast.dump(ast.parse(AFTER)) == ast.dump(ast.parse(BEFORE))
    assert check().exit_code == 0
    assert (check("--add-ignores").exit_code, Path("m.py").read_text()) == (0, AFTER)
    assert check("--add-ignores", "--diff").exit_code == 0


def test_line_ends_and_encoding_stay() -> None:
    Path("m.py").write_bytes(
        "# coding: latin-1\r\n# ä".encode("latin-1") + b"\r\n" + BEFORE.encode().replace(b"\n", b"\r\n")
    )
    assert check("--add-ignores").exit_code == 0
    written = Path("m.py").read_bytes()
    assert written.replace(b"\r\n", b"\n").decode("latin-1") == "# coding: latin-1\n# ä\n" + AFTER
    assert written.count(b"\r\n") == written.count(b"\n")


def test_what_wants_mending_is_left() -> None:
    cell = {"cell_type": "code", "source": BEFORE, "metadata": {}, "outputs": [], "execution_count": None}
    Path("n.ipynb").write_text(json.dumps({"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}))
    before = Path("n.ipynb").read_text()
    Path("broken.py").write_text("import torch\ndef f(:\n")
    done = check("--add-ignores", "--output-format", "concise")
    assert done.exit_code == 1
    assert "fullgraph: n.ipynb: notebooks are never edited\nfullgraph: ignored 9, 10 left\n" in done.stderr
    assert "FG901" in done.stdout
    assert Path("n.ipynb").read_text() == before


@pytest.mark.parametrize("option", ["--fix", "--baseline=b.json", "--changed-since=HEAD", "--compare-torch=2.9"])
def test_other_ways_to_deal_with_findings_are_asked_for_apart(option: str) -> None:
    done = check("--add-ignores", option)
    assert done.exit_code == 2
    assert f"--add-ignores does not go together with {option.partition('=')[0]}" in done.stderr
