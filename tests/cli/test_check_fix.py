"""`fullgraph check --fix` and its siblings: what is written, what is left alone, and what is said."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from in_process import check

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


def test_unsafe_fixes_need_leave(folder: Path) -> None:
    done = check("--fix", "m.py")
    assert (folder / "m.py").read_text(encoding="utf-8") == PRINTS
    assert done.exit_code == 1
    assert "fixed 0, 2 left, of which --unsafe-fixes may fix 2" in done.stderr
    assert check("--unsafe-fixes", "m.py").exit_code == 1
    assert (folder / "m.py").read_text(encoding="utf-8") == PRINTS


def test_what_is_only_to_be_read_is_never_applied(folder: Path) -> None:
    other = "\n\n@torch.compile\ndef other(x):\n    return x\n"
    code = "import torch\n\n\n@torch.compile\ndef run(x: torch.Tensor):\n    return x.nonzero()\n" + other
    (folder / "m.py").write_text(code, encoding="utf-8")
    assert "(display)" in check("m.py").stdout
    (result,) = json.loads(check("--output-format", "sarif", "m.py").stdout)["runs"][0]["results"]
    assert result["fixes"] == []
    done = check("--fix", "--unsafe-fixes", "m.py")
    assert (folder / "m.py").read_text(encoding="utf-8") == code
    assert "fixed 0, 1 left" in done.stderr


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


def test_notebooks_are_left_alone(folder: Path) -> None:
    cell = {"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": None, "source": PRINTS}
    notebook = json.dumps({"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5})
    (folder / "n.ipynb").write_text(notebook)
    done = check("--fix", "--unsafe-fixes", "n.ipynb")
    assert (folder / "n.ipynb").read_text() == notebook
    assert "n.ipynb: notebooks are never edited" in done.stderr


def test_comparing_and_fixing_exclude_each_other(folder: Path) -> None:
    done = check("--fix", "--compare-torch", "2.9", "m.py")
    assert (done.exit_code, "--compare-torch" in done.stderr) == (2, True)


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


CASES = {
    "early": "    if x.sum() > 0:\n        return x.relu() * y\n    return x * y\n",
    "flow": "    if not torch.isfinite(x).all():\n        x = torch.nan_to_num(x)\n    return x * y\n",
    "clamped": "    h = x * y\n    if h.dtype == torch.float32 and not torch.isfinite(h).all():\n"
    "        top = torch.finfo(h.dtype).max - 1000\n        h = torch.clamp(h, -top, top)\n    return h * 2\n",
    "choice": "    z = x * y if (x < 1).any() else x - y\n    return z * 2\n",
    "text": '    z = x * y\n    assert (z < 9).all(), f"large: {z.shape}"\n    return z.exp()\n',
    "negated": '    z = x * y\n    assert not (z > 9).any(), "large"\n    return z.exp()\n',
    "copied": "    z = copy.deepcopy((x * y).detach())\n    return z + x * y\n",
    "item": "    s = x.sum().item()\n    return y * s + x * y\n",
    "mean": "    return y * x[x > 0].mean()\n",
    "selected": "    return y * x.masked_select(x > 0).sum()\n",
    "leaf": "    w = x * 1\n    z = w.detach()\n    z.requires_grad = True\n    return (z * y).sum().detach()\n",
}


def test_what_is_fixed_compiles_whole_and_means_the_same(folder: Path) -> None:
    import torch
    from torch._dynamo.testing import CompileCounter

    functions = "".join(
        f"\n@torch.compile\ndef {name}(x: torch.Tensor, y: torch.Tensor):\n{body}" for name, body in CASES.items()
    )
    before = f"import copy\nimport torch\n{functions}"
    (folder / "m.py").write_text(before)
    assert check("--fix", "--unsafe-fixes", "m.py").exit_code == 0
    after = (folder / "m.py").read_text()

    def called(source: str, name: str, counter: CompileCounter | None) -> tuple[torch.Tensor, torch.Tensor | None]:
        names: dict[str, Any] = {}
        exec(source.replace("@torch.compile\n", ""), names)
        function = names[name] if counter is None else torch.compile(names[name], backend=counter)
        x, y = torch.tensor([-1.0, 0.5, 2.0], requires_grad=True), torch.tensor([1.0, -2.0, 3.0])
        result = function(x, y)
        if result.requires_grad:
            result.sum().backward()
        return result.detach(), x.grad

    for name in CASES:
        torch._dynamo.reset()
        broken, whole = CompileCounter(), CompileCounter()
        called(before, name, broken)
        torch._dynamo.reset()
        torch.testing.assert_close(called(after, name, whole), called(before, name, None), msg=name)
        assert (name, broken.frame_count != 1, whole.frame_count) == (name, True, 1)
