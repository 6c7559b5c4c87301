"""Verifying from an editor: only in a trusted workspace, with progress, and what it shows until code changes."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from editor import Editor
from lsprotocol import types

VERDICT: dict[str, Any] = {
    "torch": "2.13.0",
    "targets": [
        {
            "target": "m.py::scale",
            "status": "ok",
            "findings": [
                {
                    "code": "FG201",
                    "path": "m.py",
                    "line": 5,
                    "column": 15,
                    "function": "scale",
                    "verdict": "confirmed",
                    "evidence": "GB0124: graph break",
                }
            ],
            "unpredicted": [
                {
                    "path": "m.py",
                    "line": 5,
                    "column": 11,
                    "end_column": 12,
                    "function": "scale",
                    "reason": "odd",
                    "gb": "GB9",
                }
            ],
            "frames": [
                {
                    "id": "0/0",
                    "path": "m.py",
                    "line": 4,
                    "function": "scale",
                    "graphs": 1,
                    "ops": 2,
                    "compile_s": 0.5,
                    "guards": ["global", "check_tensor(L['x'])"],
                }
            ],
        }
    ],
}


@pytest.fixture
def program(tmp_path: Path) -> Callable[[str], str]:
    """An interpreter that does something else instead of verifying."""

    def write(body: str) -> str:
        file = tmp_path / "python"
        file.write_text(f"#!{sys.executable}\nimport json, os, pathlib, signal, sys, time\n{body}\n")
        file.chmod(0o755)
        return str(file)

    return write


def test_code_is_run_only_in_a_trusted_workspace(editor: Editor, project: Path, program: Callable[[str], str]) -> None:
    ran = project / "ran"
    editor.configure(interpreter=program(f"pathlib.Path({str(ran)!r}).touch()"))
    uri = editor.open(project / "m.py")
    (lens,) = editor.lenses(uri)
    assert lens.command is not None
    assert (lens.range.start.line, lens.command.title) == (3, "Verify")
    assert editor.execute(lens.command.command, *lens.command.arguments or ()) is None
    assert "not trusted" in editor.messages[0]
    assert not ran.exists()


def test_verdicts_are_shown_until_the_function_changes(
    editor: Editor, project: Path, program: Callable[[str], str]
) -> None:
    seen = project / "arguments"
    tell = f"pathlib.Path({str(seen)!r}).write_text(json.dumps([os.getcwd(), *sys.argv[1:]]))"
    editor.configure(
        trusted=True,
        interpreter=program(f"{tell}\nprint({json.dumps(VERDICT)!r})"),
        verifyArguments=["--timeout", "60"],
    )
    uri = editor.open(project / "m.py")
    assert [each.message.count("\n") for each in editor.diagnostics(uri)] == [1]
    editor.progress.clear()
    assert editor.execute("fullgraph.verify", uri, "scale") == "1 confirmed, 1 unpredicted"
    where, *arguments = json.loads(seen.read_text())
    assert Path(where) == project
    assert arguments == [
        *("-m", "fullgraph.cli", "verify", f"{project / 'm.py'}::scale", "--timeout", "60", "--output-format=json")
    ]
    assert [getattr(each, "get", str)("kind") for each in editor.progress[1:]] == ["begin", "end"]

    found, odd = editor.wait(lambda: len(editor.pushed[uri].diagnostics) == 2 and editor.pushed[uri].diagnostics)
    assert found.message.endswith("confirmed by compiling (GB0124: graph break)")
    assert (odd.code, odd.range.start, odd.range.end) == ("GB9", types.Position(4, 11), types.Position(4, 12))
    assert "confirmed by compiling" in editor.hover(uri, 5, 16)
    guards = editor.hover(uri, 4, 5)
    assert guards.index("check_tensor(L['x'])") < guards.index("global")

    editor.change(uri, ((0, 0), (0, 0), "\n"))
    assert [each.code for each in editor.diagnostics(uri)] == ["FG201", "GB9"]
    (lens,) = editor.lenses(uri)
    assert (lens.range.start.line, lens.command and lens.command.title) == (
        4,
        "Verify again: 1 confirmed, 1 unpredicted",
    )
    editor.change(uri, ((5, 4), (5, 4), "x = x + 1; "))
    assert [each.message.count("\n") for each in editor.diagnostics(uri)] == [1], "the code is another"
    (lens,) = editor.lenses(uri)
    assert lens.command is not None
    assert lens.command.title == "Verify"
    assert editor.execute("fullgraph.verify", uri, "scale") is None
    assert editor.messages == ["fullgraph: save m.py first: what is on disk is what runs"]


def test_a_target_of_the_project_brings_its_inputs(
    editor: Editor, project: Path, program: Callable[[str], str]
) -> None:
    targets = '[tool.fullgraph.targets.small]\ntarget = "m.py::scale"\ninputs = ["f32[3]"]\n'
    (project / "pyproject.toml").write_text(targets)
    editor.configure(trusted=True, interpreter=program("sys.exit(' '.join(['first line', *sys.argv[3:]]))"))
    uri = editor.open(project / "m.py")
    assert editor.execute("fullgraph.verify", uri, "scale") is None
    assert editor.messages == ["fullgraph: first line verify small --output-format=json"]
    editor.messages.clear()
    editor.configure(trusted=True, interpreter="/no/such/python")
    assert editor.execute("fullgraph.verify", uri, "scale") is None
    assert editor.messages == ["fullgraph: /no/such/python cannot be run: No such file or directory"]


def test_it_can_be_stopped(editor: Editor, project: Path, program: Callable[[str], str]) -> None:
    started = project / "started"
    editor.configure(
        trusted=True,
        interpreter=program(f"pathlib.Path({str(started)!r}).write_text(str(os.getpid()))\ntime.sleep(600)"),
    )
    uri = editor.open(project / "m.py")
    editor.progress.clear()
    params = types.ExecuteCommandParams("fullgraph.verify", [uri, "scale"])
    asked = editor.begin(lambda client: client.workspace_execute_command_async(params))
    editor.wait(lambda: started.exists() and started.read_text())
    editor.wait(lambda: len(editor.progress) == 2)
    assert editor.execute("fullgraph.verify", uri, "scale") is None
    assert editor.messages == ["fullgraph: scale is being verified already"]
    token = types.WorkDoneProgressCancelParams(editor.progress[0])
    editor.tell(lambda client: client.window_work_done_progress_cancel(token))
    assert asked.result(30) is None
    with pytest.raises(ProcessLookupError):
        os.kill(int(started.read_text()), 0)
    assert [getattr(each, "get", str)("kind") for each in editor.progress[1:]] == ["begin", "end"]


@pytest.mark.torch
def test_a_function_is_compiled(editor: Editor, project: Path) -> None:
    editor.configure(trusted=True, verifyArguments=["--input", "f32[3]", "--backend", "eager"])
    uri = editor.open(project / "m.py")
    assert editor.execute("fullgraph.verify", uri, "scale") == "1 confirmed"
    assert "check_tensor(L['x']" in editor.hover(uri, 4, 5)
