"""Fixes meet programs on which a careless one is wrong: whatever is safe or accepted, no caller can tell.

Two programs are verified as a sample; `FULLGRAPH_ADVERSARIAL=all pytest tests/cli/test_adversarial_fixes.py` verifies
every one that is offered a fix (half an hour on two cores), and one or more names, with commas, verify these.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from adversarial import Program, programs, write
from in_process import check

PROGRAMS = {program.name: program for program in programs()}
SAMPLE = "a_print_that_pops,a_rare_error"


def written(folder: Path, chosen: list[Program]) -> Path:
    folder.mkdir()
    write(folder, chosen)
    return folder


def changed(before: Path, after: Path) -> list[Program]:
    names = (file.name for file in sorted(before.glob("*.py")) if file.read_text() != (after / file.name).read_text())
    return [PROGRAMS[name.removesuffix(".py")] for name in names]


@pytest.mark.torch
def test_safe_fixes_are_never_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from same_program import differences

    before, after = (written(tmp_path / name, list(PROGRAMS.values())) for name in ("before", "after"))
    monkeypatch.chdir(after)
    assert check("--fix", ".").exit_code == 1
    fixed = changed(before, after)
    assert [program.name for program in fixed] == ["directives_in_text"]
    assert _noticed(fixed, before, after, differences) == []


@pytest.mark.torch
def test_other_fixes_would_be_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The judge sees what a careless fix does, and the programs do the same each time."""
    from same_program import differences

    before, after = (written(tmp_path / name, list(PROGRAMS.values())) for name in ("before", "after"))
    monkeypatch.chdir(after)
    check("--fix", "--unsafe-fixes", ".")
    fixed = changed(before, after)
    assert _noticed(list(PROGRAMS.values()), before, before, differences) == []
    assert len({line.partition(": ")[0] for line in _noticed(fixed, before, after, differences)}) >= 40


@pytest.mark.torch
@pytest.mark.slow
def test_accepted_fixes_are_never_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from same_program import compiled_differences, differences, graphs_and_breaks

    wanted = os.environ.get("FULLGRAPH_ADVERSARIAL", SAMPLE)
    chosen = list(PROGRAMS.values()) if wanted == "all" else [PROGRAMS[name] for name in wanted.split(",")]
    before, offered = (written(tmp_path / name, chosen) for name in ("before", "offered"))
    monkeypatch.chdir(offered)
    check("--fix", "--unsafe-fixes", ".")
    after = written(tmp_path / "after", changed(before, offered))
    document = verify(after)
    rows = [row for target in document["targets"] for row in (target["fixes"] or {"sites": []})["sites"]]
    assert rows, "nothing was tried"
    accepted = (
        changed(after.parent / "before", after)
        if wanted == "all"
        else [program for program in chosen if program.text != (after / f"{program.name}.py").read_text()]
    )
    assert _noticed(accepted, before, after, differences) == []
    assert _noticed(accepted, before, after, compiled_differences) == []
    for program in accepted:
        counts = [graphs_and_breaks(program, folder / f"{program.name}.py") for folder in (before, after)]
        assert counts[1] < counts[0], program.name


def verify(folder: Path) -> dict[str, Any]:
    command = [
        sys.executable,
        "-m",
        "fullgraph.cli",
        "verify",
        "--fix",
        "--backend",
        "eager",
        "--output-format",
        "json",
    ]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=7200, check=False)
    assert done.stdout, done.stderr
    document: dict[str, Any] = json.loads(done.stdout)
    return document


def _noticed(chosen: list[Program], before: Path, after: Path, differences: Any) -> list[str]:
    return [
        f"{program.name}: {line}"
        for program in chosen
        for line in differences(program, before / f"{program.name}.py", after / f"{program.name}.py")
    ]
