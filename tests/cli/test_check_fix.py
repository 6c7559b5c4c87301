"""`fullgraph check --fix` and its siblings: what is written, what is left alone, and what is said."""

from __future__ import annotations

import subprocess
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from io import StringIO
from pathlib import Path

import pytest

from fullgraph.cli.main import run

SAFE = """\
import torch

@torch.compile
def probe(x):
    y = x.detach()
    y.requires_grad = True  # a leaf
    return (y * y).sum().detach()
"""
PRINTS = """\
import torch

@torch.compile
def shout(x):
    print("größer", x)
    print(x)
    return x
"""
GUARDED = """\
import torch

@torch.compile
def shout(x):
    if not torch.compiler.is_compiling():
        print("größer", x)
    if not torch.compiler.is_compiling():
        print(x)
    return x
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "m.py").write_text(PRINTS, encoding="utf-8")
    return tmp_path


@dataclass(frozen=True)
class Done:
    exit_code: int
    stdout: str
    stderr: str


def check(*arguments: str) -> Done:
    with redirect_stdout(StringIO()) as stdout, redirect_stderr(StringIO()) as stderr:
        code = run(["check", "--no-cache", "--jobs", "1", *arguments])
    return Done(code, stdout.getvalue(), stderr.getvalue())


def test_unsafe_fixes_need_leave(folder: Path) -> None:
    done = check("--fix", "m.py")
    assert (folder / "m.py").read_text(encoding="utf-8") == PRINTS
    assert done.exit_code == 1
    assert "fixed 0, 2 left, of which --unsafe-fixes may fix 2" in done.stderr
    assert check("--unsafe-fixes", "m.py").exit_code == 1
    assert (folder / "m.py").read_text(encoding="utf-8") == PRINTS


def test_all_is_fixed_once(folder: Path) -> None:
    done = check("--fix", "--unsafe-fixes", "m.py")
    assert (folder / "m.py").read_text(encoding="utf-8") == GUARDED
    assert (done.exit_code, done.stderr) == (0, "fullgraph: fixed 2, 0 left\n")
    again = check("--fix", "--unsafe-fixes", "m.py")
    assert (folder / "m.py").read_text(encoding="utf-8") == GUARDED
    assert "fixed 0" in again.stderr


def test_diff_is_a_patch_and_writes_nothing(folder: Path) -> None:
    done = check("--diff", "--unsafe-fixes", "m.py")
    assert (done.exit_code, (folder / "m.py").read_text(encoding="utf-8")) == (1, PRINTS)
    assert "would fix 2" in done.stderr
    subprocess.run(["patch", "-p0", "-s"], input=done.stdout.encode(), cwd=folder, check=True, timeout=30)
    assert (folder / "m.py").read_text(encoding="utf-8") == GUARDED
    assert (check("--diff", "m.py").exit_code, check("--diff", "m.py").stdout) == (0, "")


def test_fix_only_reports_nothing(folder: Path) -> None:
    (folder / "m.py").write_text(PRINTS.replace("return x", "return x * x.sum().tolist()[0]"), encoding="utf-8")
    done = check("--fix-only", "--unsafe-fixes", "m.py")
    assert (done.exit_code, done.stdout) == (0, "")
    assert "is_compiling" in (folder / "m.py").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", ["utf-8", "utf-8-sig", "latin-1", "crlf", "cr", "no last newline"])
def test_bytes_outside_the_edits_stay(folder: Path, name: str) -> None:
    def written(text: str) -> bytes:
        match name:
            case "latin-1":
                return f"# coding: latin-1\n{text}".encode("latin-1")
            case "crlf":
                return text.replace("\n", "\r\n").encode()
            case "cr":
                return text.replace("\n", "\r").encode()
            case "no last newline":
                return text.rstrip("\n").encode()
        return text.encode(name)

    file = folder / "m.py"
    file.write_bytes(written(PRINTS))
    file.chmod(0o750)
    check("--fix", "--unsafe-fixes", "m.py")
    assert file.read_bytes() == written(GUARDED)
    assert file.stat().st_mode & 0o777 == 0o750
    assert [path.name for path in folder.iterdir()] == ["m.py"]
