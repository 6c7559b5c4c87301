"""`fullgraph cache`: what is kept is told by kind, and goes when asked to."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fullgraph.cli.main import run


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "m.py").write_text("import torch\n\n@torch.compile\ndef f(x):\n    return x.item()\n")
    return tmp_path / "cache" / "fullgraph"


def test_what_is_kept_is_told_and_deleted(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["cache", "info"]) == 0
    assert capsys.readouterr().out == f"{folder}\n  in all     0 files, 0 B\n"
    assert run(["check"]) == 1
    (folder / "objects" / "ab").mkdir(parents=True)
    (folder / "objects" / "ab" / "cd").write_bytes(b"x" * 1234)
    capsys.readouterr()

    assert run(["cache", "info", "--output-format", "json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["schema"], told["folder"]) == ("fullgraph.cache/1", str(folder))
    assert {kept["kind"]: kept["files"] for kept in told["kept"]} == {"objects": 1, "projects": 1, "summaries": 1}
    assert run(["cache", "info"]) == 0
    assert "  objects    1 file, 1.23 kB        native code of the MLIR backend\n" in capsys.readouterr().out

    assert run(["cache", "clear", "objects"]) == 0
    assert capsys.readouterr().out == "deleted 1 file, 1.23 kB\n"
    assert sorted(path.name for path in folder.iterdir()) == ["projects", "summaries"]
    assert run(["cache", "clear"]) == 0
    assert list(folder.iterdir()) == []
    assert run(["check"]) == 1


def test_a_kind_that_does_not_exist(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["cache", "clear", "object"]) == 2
    assert (
        "no kind 'object'; the kinds are summaries, projects, rules, pages, objects, types, prove"
        in capsys.readouterr().err
    )


def test_what_cannot_be_deleted_is_told(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    run(["check"])

    def refuse(path: Path) -> None:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr("shutil.rmtree", refuse)
    assert run(["cache", "clear"]) == 2
    assert f"{folder / 'projects'}" in capsys.readouterr().err
