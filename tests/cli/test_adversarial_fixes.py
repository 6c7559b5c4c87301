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
SAMPLE = "a_print_that_pops,an_assert_between_floats"
CARELESS = (
    "the_argument_itself",
    "a_deep_copy_keeps_the_class",
    "a_patched_draw",
    "large_integers",
    "a_root_not_taken",
)
REPLACED = ("a_patched_draw: use", "a_patched_clock: use", "a_renamed_draw: use", "a_clock_of_ones_own: use")
"""Callers that put another function in the place of one that is no longer called."""
OTHER_CLASSES = (
    "a_box_with_detach: use",
    "a_subclass_with_a_property: use",
    "a_wrapper_with_operators: use",
    "operators_of_a_subclass: use",
)
"""Callers that pass something else than the tensors that were given."""
OTHER_ERRORS = ("a_deep_copy_that_raises: 1", "a_test_of_one_element: 4", "large_integers: 1")
"""Calls that the program cannot take: a gradient it has none for, two elements for one, integers beyond 64 bits."""
UNSEEN = (*REPLACED, *OTHER_CLASSES, *OTHER_ERRORS)
"""What no run with the given inputs could show. Everything else has to be the same."""


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
def test_the_judge_notices_careless_fixes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And the programs do the same each time."""
    from same_program import differences

    careless = [PROGRAMS[name] for name in CARELESS]
    before, after = (written(tmp_path / name, list(PROGRAMS.values())) for name in ("before", "after"))
    assert _noticed(list(PROGRAMS.values()), before, before, differences) == []
    other = written(tmp_path / "other", careless)
    monkeypatch.chdir(other)
    check("--fix", "--unsafe-fixes", ".")
    missed = [program.name for program in careless if not _noticed([program], after, other, differences)]
    assert missed == []


@pytest.mark.torch
@pytest.mark.slow
def test_accepted_fixes_are_never_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from same_program import differences_as_given, graphs_and_breaks

    wanted = os.environ.get("FULLGRAPH_ADVERSARIAL", SAMPLE)
    chosen = list(PROGRAMS.values()) if wanted == "all" else [PROGRAMS[name] for name in wanted.split(",")]
    before, offered = (written(tmp_path / name, chosen) for name in ("before", "offered"))
    monkeypatch.chdir(offered)
    check("--fix", "--unsafe-fixes", ".")
    tried = changed(before, offered)
    after = written(tmp_path / "after", tried)
    document = verify(after)
    rows = [row for target in document["targets"] for row in target["fixes"]["sites"]]
    assert {Path(row["path"]).stem for row in rows if row["outcome"] != "no-fix"}
    accepted = [program for program in tried if (after / f"{program.name}.py").read_text() != program.text]
    noticed = _noticed(accepted, before, after, differences_as_given)
    assert [line for line in noticed if not line.startswith(UNSEEN)] == []
    for program in accepted:
        old, new = (graphs_and_breaks(program, folder / f"{program.name}.py") for folder in (before, after))
        assert new < old or old == 0, program.name  # 0: it did not compile at all


def verify(folder: Path) -> dict[str, Any]:
    options = ["--fix", "--backend", "eager", "--output-format", "json"]
    command = [sys.executable, "-m", "fullgraph.cli", "verify", *options]
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
