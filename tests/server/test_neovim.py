"""Neovim, headless, as a client that is not ours: it opens a file, shows what is found and applies a fix."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from editor import COMMAND

NVIM = shutil.which("nvim")
MODEL = """\
import torch

@torch.compile
def scale(x):
    "😀"; return x * x.sum().item()
"""


@pytest.mark.skipif(NVIM is None, reason="Neovim is not installed; Debian's package is `neovim`")
def test_neovim_shows_a_finding_and_applies_its_fix(tmp_path: Path) -> None:
    file, result = tmp_path / "m.py", tmp_path / "result.json"
    (tmp_path / "fullgraph.toml").touch()
    file.write_text(MODEL, encoding="utf-8")
    script = Path(__file__).with_name("neovim.lua")
    environment = {
        **os.environ,
        **{f"XDG_{kind}_HOME": str(tmp_path / kind.lower()) for kind in ("CONFIG", "DATA", "STATE", "CACHE")},
        "COMMAND": json.dumps(COMMAND),
        "PROJECT": str(tmp_path),
        "FILE": str(file),
        "RESULT": str(result),
    }
    command = [str(NVIM), "--headless", "--clean", "-c", f"luafile {script}"]
    done = subprocess.run(
        command, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=200
    )
    assert result.exists(), done.stdout + done.stderr
    assert json.loads(result.read_text()) == {
        "before": [{"code": "FG201", "line": 5, "column": 23}],
        "action": "Keep the value as a tensor (FG201, may change results)",
        "after": [],
    }
    assert file.read_text(encoding="utf-8") == MODEL.replace("item", "detach")
