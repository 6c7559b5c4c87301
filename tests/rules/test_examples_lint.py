"""Every rule's examples, linted: a bad one gets exactly its rule at exactly the marked lines, a good one nothing."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from fullgraph.lint.config import Config
from fullgraph.lint.engine import check
from fullgraph.lint.findings import Confidence
from fullgraph.lint.request import CheckRequest
from fullgraph.rules.model import Example, Rule
from fullgraph.rules.source import read_folder

RULES = read_folder(Path(__file__).parents[2] / "rules")
BAD = [pytest.param(r, e, id=f"{r.code}-{i}") for r in RULES for i, e in enumerate(r.bad)]
GOOD = [pytest.param(r, e, id=f"{r.code}-{i}") for r in RULES for i, e in enumerate(r.good)]


def found(rule: Rule, example: Example, folder: Path) -> list[tuple[int, str]]:
    """All warnings about the program as somebody would run it; of a rule that makes only notes, or only what is merely
    possible, those too.
    """
    path = folder / "example.py"
    path.write_text("\n".join([example.code, *example.run, ""]), encoding="utf-8")
    lowest = Confidence.POSSIBLE if rule.confidence == "possible" else Confidence.LIKELY
    config = Config(folder, min_confidence=lowest)
    report = check(CheckRequest((path,), config, use_cache=False, judge_comments=True))
    noted = rule.code if rule.severity == "note" else ""
    shown = [finding for finding in report.findings if finding.severity.value != "note" or finding.code == noted]
    return [(finding.span.line, finding.code) for finding in shown]


def marked(example: Example) -> list[tuple[int, str]]:
    lines = ((number, line) for number, line in enumerate(example.code.splitlines(), 1) if "#" in line)
    return [(number, code) for number, line in lines for code in re.findall(r"FG\d{3}", line.rpartition("#")[2])]


@pytest.mark.parametrize(("rule", "example"), BAD)
def test_bad_example(rule: Rule, example: Example, tmp_path: Path) -> None:
    assert found(rule, example, tmp_path) == marked(example)


@pytest.mark.parametrize(("rule", "example"), GOOD)
def test_good_example(rule: Rule, example: Example, tmp_path: Path) -> None:
    assert found(rule, example, tmp_path) == []


def test_a_rule_shows_silence_no_less_often_than_noise() -> None:
    assert [rule.code for rule in RULES if len(rule.good) < len(rule.bad)] == []
