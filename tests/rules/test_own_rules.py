"""A project's own rule files: found through the config, used by `check`, and every mistake told in one line."""

from __future__ import annotations

from pathlib import Path

import pytest

from fullgraph.cli.main import run

RULE = """\
code: ACME101
name: house-timer
effect: graph-break
message: "`{source}` is the house timer"
advice: time outside
match:
  - call: [house.timer]
what: Finds the house timer.
why: It breaks.
use_instead: Nothing.
fix_safety: No automatic fix.
bad:
  - code: |
      import house
      house.timer()  # ACME101
    run: [f(1)]
good:
  - code: pass
"""
PROGRAM = """\
import house
import torch

@torch.compile
def f(x):
    house.timer()
    return x + 1
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "fullgraph.toml").write_text('rules = ["lint-rules"]\n')
    (tmp_path / "lint-rules").mkdir()
    (tmp_path / "lint-rules" / "timer.yaml").write_text(RULE)
    (tmp_path / "m.py").write_text(PROGRAM)
    return tmp_path


def output(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = run(list(arguments))
    said = capsys.readouterr()
    return code, said.out, said.err


def test_check_uses_them_from_the_cache_too_until_they_change(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for _ in range(2):
        code, out, _ = output(capsys, "check", "--output-format", "concise")
        assert (code, out) == (1, "m.py:6:5: ACME101 [likely] `house.timer()` is the house timer\n")
    (project / "lint-rules" / "timer.yaml").write_text(RULE.replace("house.timer]", "house.clock]"))
    assert output(capsys, "check", "--output-format", "concise")[:2] == (0, "")


def test_a_cache_that_cannot_be_written_costs_only_time(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(project / "m.py"))
    code, out, err = output(capsys, "check", "--output-format", "concise")
    assert (code, out.count("ACME101"), err) == (1, 1, "")


def test_they_are_selected_ignored_and_suppressed_by_their_codes(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert output(capsys, "check", "--select", "ACME")[0] == 1
    assert output(capsys, "check", "--ignore", "ACME101")[0] == 0
    (project / "m.py").write_text(PROGRAM.replace("timer()", "timer()  # fullgraph: ignore[ACME101]"))
    code, _, err = output(capsys, "check")
    assert (code, err) == (0, "")


def test_they_are_listed_and_explained(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert output(capsys, "rules", "list")[1].startswith("ACME101  house-timer")
    assert output(capsys, "rules", "explain", "house-timer")[1].startswith("# ACME101: house-timer\n")


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("code: ACME101", "- 1", "lint-rules/timer.yaml:2: not valid YAML"),
        (RULE, "- 1\n", "lint-rules/timer.yaml:1: file: must be of type object, not [1]"),
        ("ACME101", "FG101", "lint-rules/timer.yaml:1: code: there is a rule FG101 already, built in"),
        ("house-timer", "print", "lint-rules/timer.yaml:2: name: there is a rule print already, built in"),
        (
            "match:\n  - call: [house.timer]",
            "check: nosuch",
            "lint-rules/timer.yaml:6: check: there is no check 'nosuch'",
        ),
        (
            "house.timer()  #",
            "house.timer(  #",
            "lint-rules/timer.yaml:13: bad.0.code: not valid Python: '('",
        ),
        ("f(1)", "f(", "lint-rules/timer.yaml:16: bad.0.run.0: not valid Python"),
        ("advice", "advise", "lint-rules/timer.yaml:5: advise: unknown key"),
    ],
)
def test_a_mistake_in_them_is_told_by_file_line_and_key(
    project: Path, capsys: pytest.CaptureFixture[str], old: str, new: str, said: str
) -> None:
    assert old in RULE
    (project / "lint-rules" / "timer.yaml").write_text(RULE.replace(old, new))
    code, out, err = output(capsys, "check")
    assert (code, out) == (2, "")
    assert said in err
    assert "Traceback" not in err


def test_a_code_that_two_files_use_is_told(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (project / "lint-rules" / "zweite.yaml").write_text(RULE)
    code, _, err = output(capsys, "check")
    assert code == 2
    assert "lint-rules/zweite.yaml:1: code: there is a rule ACME101 already, in lint-rules/timer.yaml" in err


@pytest.mark.parametrize(
    ("setting", "said"),
    [
        ('rules = ["nowhere"]', "fullgraph.toml: `rules`: there is no file or folder 'nowhere'"),
        ('rules = ["empty"]', "fullgraph.toml: `rules`: no rule file (*.yaml) lies in 'empty'"),
        ('rules = "lint-rules"', "fullgraph.toml: `rules` must be a list of strings"),
        ('rules = ["binary.yaml"]', "binary.yaml: not a text file in UTF-8"),
    ],
)
def test_a_wrong_setting_is_told(project: Path, capsys: pytest.CaptureFixture[str], setting: str, said: str) -> None:
    (project / "empty").mkdir()
    (project / "binary.yaml").write_bytes(b"\xff\xfe\x00")
    (project / "fullgraph.toml").write_text(f"{setting}\n")
    code, _, err = output(capsys, "check")
    assert (code, err) == (2, f"fullgraph: {said}\n")
