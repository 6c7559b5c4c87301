"""What the evidence of the target's torch does to findings: rules and symbols that it captures, or breaks on, there."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from project_on_disk import ProjectOnDisk

from fullgraph.cli.main import run
from fullgraph.lint.config import Config
from fullgraph.lint.engine import check
from fullgraph.lint.findings import Finding
from fullgraph.lint.request import CheckRequest
from fullgraph.rules import support
from fullgraph.rules.support import Support, Version

PROGRAM = """\
    import math, os, time
    import torch

    @torch.compile
    def f(x):
        time.time()
        math.sqrt(2.0)
        os.unheard_of()
        if x.sum() > 0:
            x = x * x.max().item()
        return x

    @torch.compile(fullgraph=True)
    def g(x):
        return x * x.max().item()
"""


def findings(
    root: Path,
    monkeypatch: pytest.MonkeyPatch,
    rules: dict[str, Support] | None = None,
    symbols: dict[str, Support] | None = None,
) -> dict[int, Finding]:
    """Of the program, by line, on a version of which this was measured."""
    from fullgraph.lint.ruleset import ruleset

    ruleset.cache_clear()
    monkeypatch.setattr(support, "load", lambda torch: Version(torch, rules or {}, symbols or {}))
    project = ProjectOnDisk(root)
    project.write({"m.py": PROGRAM})
    report = check(CheckRequest((root / "m.py",), Config(root), torch="2.99", use_cache=False))
    ruleset.cache_clear()
    return {finding.span.line: finding for finding in report.findings}


def test_without_evidence_no_symbol_is_certain(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = findings(tmp_path, monkeypatch)
    assert {line: item.confidence.value for line, item in found.items() if item.code == "FG305"} == {6: "likely"}


def test_a_symbol_that_breaks_there_is_certain_where_a_rule_names_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = findings(tmp_path, monkeypatch, symbols={"time.time": Support.BREAKS})
    assert found[6].confidence.value == "certain"


def test_a_symbol_that_is_captured_there_is_not_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert 6 not in findings(tmp_path, monkeypatch, symbols={"time.time": Support.CAPTURED})


def test_a_symbol_that_breaks_only_there_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = findings(tmp_path, monkeypatch, symbols={"math.sqrt": Support.BREAKS, "os.unheard_of": Support.MIXED})
    assert (found[7].code, found[7].confidence.value) == ("FG305", "likely")
    assert 8 not in found


def test_a_rule_that_does_not_hold_there_is_silent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert findings(tmp_path, monkeypatch)[9].code == "FG101"
    assert 9 not in findings(tmp_path, monkeypatch, rules={"FG101": Support.CAPTURED})


def test_a_rule_of_which_some_examples_are_captured_there_is_less_sure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = findings(tmp_path, monkeypatch, rules={"FG101": Support.MIXED})
    assert (found[9].code, found[9].confidence.value) == ("FG101", "likely")


def test_the_modes_are_those_measured_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    newer = findings(tmp_path, monkeypatch, rules={"FG201": Support.DEFAULT_BREAKS})
    assert dict(newer[10].modes) == {"default": "breaks", "fullgraph": "captured"}
    assert 15 not in newer
    older = findings(tmp_path, monkeypatch, rules={"FG201": Support.BREAKS})
    assert dict(older[10].modes) == {"default": "breaks", "fullgraph": "breaks"}
    assert (older[15].code, older[15].modes) == ("FG201", older[10].modes)


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """One that breaks with `fullgraph=True` up to torch 2.9, and is captured from 2.10 on."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    text = "import torch\n\n@torch.compile(fullgraph=True)\ndef f(x):\n    return x * x.max().item()\n"
    (tmp_path / "m.py").write_text(text)
    return tmp_path


def test_comparing_says_what_appears_and_vanishes(program: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["check", "--target-torch", "2.9", "--compare-torch", "2.13"]) == 0
    first, last = capsys.readouterr().out.splitlines()
    assert first.startswith("- m.py:5:16: FG201")
    assert last == "from torch 2.9 to 2.13: 0 findings appear, 1 vanish"
    assert run(["check", "--target-torch", "2.13", "--compare-torch", "2.9", "--output-format", "json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert (found["torch"], found["compare_torch"]) == ("2.13", "2.9")
    assert [item["code"] for item in found["appear"]] == ["FG201"]
    assert found["vanish"] == []


@pytest.mark.parametrize(("asked", "nearest"), [("2.4", 0), ("1.13", 0), ("2.99", -1), ("3.0", -1)])
def test_a_version_that_was_not_measured_is_judged_by_the_nearest(
    program: Path, capsys: pytest.CaptureFixture[str], asked: str, nearest: int
) -> None:
    assert run(["check", "--target-torch", asked]) in (0, 1)
    judged = support.versions()[nearest]
    said = f"fullgraph: torch {asked} was not measured; judged by torch {judged}, the nearest that was\n"
    assert capsys.readouterr().err == said
