"""`fullgraph check` as people run it: real files, a real process, what is printed and the exit code."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from fullgraph.rules.support import versions

JUDGED = f"judged for torch {versions()[-1]}"
BREAKS = """\
import torch

@torch.compile
def scale(x):
    s = x.sum().item()
    return x * s
"""
CLEAN = BREAKS.replace("x.sum().item()", "x.sum()")


def check(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "fullgraph.cli", "check", "--no-cache", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, env={**os.environ, **environment})


def findings(*arguments: str) -> list[dict[str, Any]]:
    done = check("--output-format", "json", *arguments)
    assert done.returncode in (0, 1), done.stderr
    found: list[dict[str, Any]] = json.loads(done.stdout)["findings"]
    return found


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("m.py").write_text(BREAKS)
    return tmp_path


def test_a_finding_shows_its_source_and_exits_with_1() -> None:
    done = check("m.py")
    assert done.returncode == 1
    assert done.stderr == ""
    lines = done.stdout.splitlines()
    assert re.match(r"m\.py:5:9: FG201 \[(certain|likely)\] `x\.sum\(\)\.item\(\)` ", lines[0])
    assert lines[2:4] == ["5 |     s = x.sum().item()", "  |         ^^^^^^^^^^^^^^"]
    assert lines[-1].startswith("1 finding in 1 of 1 file; 1 entry by decorator")


def test_clean_code_exits_with_0() -> None:
    Path("m.py").write_text(CLEAN)
    done = check()
    assert (done.returncode, done.stdout) == (0, f"no findings in 1 file; 1 entry by decorator; {JUDGED}\n")


def test_output_is_plain_unless_on_a_terminal() -> None:
    assert "\x1b" not in check("m.py").stdout
    assert "\x1b" not in check("m.py", NO_COLOR="1").stdout


def test_json_columns_count_code_points_from_0() -> None:
    Path("m.py").write_text(BREAKS.replace("s = x", "é = '漢'; s = x"))
    (finding,) = findings("m.py")
    assert (finding["line"], finding["column"], finding["end_column"]) == (5, 17, 31)


@pytest.mark.parametrize("comment", ["# fullgraph: ignore", "# fullgraph: ignore[FG201]", "# noqa: FG201"])
def test_a_suppressed_finding_is_gone(comment: str) -> None:
    Path("m.py").write_text(BREAKS.replace(".item()", f".item()  {comment}"))
    assert findings("m.py") == []


def test_selection_and_ignores() -> None:
    assert findings("m.py", "--ignore", "FG2") == []
    assert len(findings("m.py", "--select", "FG201")) == 1


def test_ignores_per_file_come_from_the_config() -> None:
    Path("pyproject.toml").write_text("[tool.fullgraph.per-file-ignores]\n'm.py' = ['FG201']\n")
    assert findings("m.py") == []


def test_the_mode_decides() -> None:
    assert findings("m.py", "--mode", "fullgraph") == []


def test_paths_are_relative_to_the_working_directory(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "elsewhere").mkdir()
    monkeypatch.chdir(folder / "elsewhere")
    assert [finding["path"] for finding in findings("../m.py")] == ["../m.py"]
    assert [finding["path"] for finding in findings(str(folder / "m.py"))] == ["../m.py"]


def test_entries_named_on_the_command_line(folder: Path) -> None:
    Path("plain.py").write_text(BREAKS.replace("@torch.compile\n", ""))
    assert [finding["path"] for finding in findings("plain.py", "--entry", "plain.py::scale")] == ["plain.py"]
    assert check("plain.py", "--assume-compiled", "none").stdout.startswith("no findings in 1 file; ")


@pytest.mark.parametrize(
    "content",
    [
        b"import torch\nx = (\n",
        b"import torch\nx = '\xff'\n",
        b"import torch\n\0",
        b"import torch\n# \xe9\n",
        b"# \xe9\n",
    ],
    ids=["syntax error", "not UTF-8", "null byte", "comment not UTF-8", "first comment not UTF-8"],
)
def test_a_file_that_is_no_python_is_a_finding_and_the_others_are_checked(content: bytes) -> None:
    Path("bad.py").write_bytes(content)
    done = check("--output-format", "json")
    assert done.returncode == 1, done.stderr
    assert [(found["path"], found["code"]) for found in json.loads(done.stdout)["findings"]] == [
        ("bad.py", "FG901"),
        ("m.py", "FG201"),
    ]
    assert "bad.py:" in check("bad.py").stdout


def test_a_declared_encoding_is_respected() -> None:
    Path("m.py").write_bytes(
        b"# -*- coding: latin-1 -*-\n" + BREAKS.replace("s =", "# \xe9\n    s =").encode("latin-1")
    )
    assert [(found["code"], found["line"]) for found in findings("m.py")] == [("FG201", 7)]


def test_windows_line_ends_and_a_byte_order_mark_do_not_move_findings() -> None:
    Path("m.py").write_bytes(b"\xef\xbb\xbf" + BREAKS.replace("\n", "\r\n").encode())
    (finding,) = findings("m.py")
    assert (finding["line"], finding["column"]) == (5, 8)
    assert "5 |     s = x.sum().item()\n" in check("m.py").stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere.py"], "fullgraph: nowhere.py: there is no such file or folder\n"),
        ([""], "fullgraph: an empty PATH names nothing; `.` is the working directory\n"),
        (["--select", "FG777"], "fullgraph: --select: no rule has the code or prefix 'FG777'; "),
        (["--entry", "m.py::nothing"], "fullgraph: "),
    ],
)
def test_a_mistake_is_one_line_and_exit_code_2(arguments: list[str], message: str) -> None:
    done = check(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(message)
    assert done.stderr.count("\n") == 1


def test_the_output_can_be_cut_short() -> None:
    Path("m.py").write_text(BREAKS + "".join(BREAKS.replace("scale", f"scale{n}") for n in range(500)))
    command = f"{sys.executable} -m fullgraph.cli check --no-cache m.py | head -1; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True)
    assert done.stdout.startswith("m.py:5:9:")
    assert done.stderr == ""
    assert done.returncode in (1, 2)  # 1 if it was done before the reader had gone


def test_an_empty_folder_is_clean(folder: Path) -> None:
    Path("m.py").unlink()
    done = check()
    assert (done.returncode, done.stdout) == (0, "no Python files here\n")


def test_codes_may_be_given_in_lower_case() -> None:
    assert [finding["code"] for finding in findings("m.py", "--select", "fg2")] == ["FG201"]
    assert findings("m.py", "--ignore", "fg201") == []


def test_a_code_that_no_rule_has_is_remarked_on_in_an_ignore_comment() -> None:
    Path("m.py").write_text(BREAKS.replace(".item()", ".item()  # fullgraph: ignore[FG201, FG999]  # noqa: FG998"))
    done = check("m.py")
    assert done.returncode == 0
    assert done.stderr == "fullgraph: m.py:5: no rule has the code or prefix 'FG999' of this ignore comment\n"


def test_a_file_name_that_is_no_text_stays_on_its_line(folder: Path) -> None:
    Path("m.py").unlink()
    name = os.fsdecode(b"a\xff\nb.py")
    Path(name).write_text(BREAKS)
    (finding,) = findings(name)
    assert finding["path"] == name
    done = check("--output-format", "concise", name)
    assert done.stdout.startswith("a\\udcff\\nb.py:5:9: FG201 ")
    assert done.stdout.count("\n") == 1
    cached = [sys.executable, "-m", "fullgraph.cli", "check", name]
    for _ in range(2):
        again = subprocess.run(
            cached, capture_output=True, text=True, env={**os.environ, "XDG_CACHE_HOME": str(folder)}
        )
        assert (again.returncode, again.stderr) == (1, "")


def test_a_pipe_is_no_file() -> None:
    os.mkfifo("pipe.py")
    done = check("pipe.py")
    assert (done.returncode, done.stderr) == (2, "fullgraph: pipe.py: neither a file nor a folder\n")
    assert check().stderr == ""


def test_entries_elsewhere_are_counted_apart() -> None:
    Path("n.py").write_text(CLEAN)
    assert check("n.py").stdout == (
        f"no findings in 1 file; 1 entry by decorator, 1 in files not asked about; {JUDGED}\n"
    )


def test_a_file_without_torch_is_clean() -> None:
    Path("m.py").write_text("print(1)\n")
    assert check("m.py").returncode == 0
