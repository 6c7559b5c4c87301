"""Every rule's examples, linted: a bad one gets exactly its rule at exactly the marked lines, a good one nothing."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from fullgraph.lint.config import Config
from fullgraph.lint.engine import check
from fullgraph.lint.request import CheckRequest
from fullgraph.rules.model import Example
from fullgraph.rules.source import read_folder

RULES = read_folder(Path(__file__).parents[2] / "rules")
NOTES = {rule.code for rule in RULES if rule.severity == "note"}
BAD = [pytest.param(e, id=f"{r.code}-{i}") for r in RULES for i, e in enumerate(r.bad)]
GOOD = [pytest.param(e, id=f"{r.code}-{i}") for r in RULES for i, e in enumerate(r.good)]


def found(example: Example, folder: Path) -> list[tuple[int, str]]:
    """The program as somebody would run it: the code, then what drives it. Of a rule that warns, its warnings."""
    path = folder / "example.py"
    path.write_text("\n".join([example.code, *example.run, ""]), encoding="utf-8")
    report = check(CheckRequest((path,), Config(folder), use_cache=False, judge_comments=True))
    warnings = [finding for finding in report.findings if finding.severity.value != "note" or finding.code in NOTES]
    return [(finding.span.line, finding.code) for finding in warnings]


def marked(example: Example) -> list[tuple[int, str]]:
    lines = ((number, line) for number, line in enumerate(example.code.splitlines(), 1) if "#" in line)
    return [(number, code) for number, line in lines for code in re.findall(r"FG\d{3}", line.rpartition("#")[2])]


@pytest.mark.parametrize("example", BAD)
def test_bad_example(example: Example, tmp_path: Path) -> None:
    assert found(example, tmp_path) == marked(example)


@pytest.mark.parametrize("example", GOOD)
def test_good_example(example: Example, tmp_path: Path) -> None:
    assert found(example, tmp_path) == []
