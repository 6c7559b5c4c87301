"""A tenth of torch's own operator tests through the backend: what became of their cases when last listed still does."""

from __future__ import annotations

import json
import random
from collections import Counter
from pathlib import Path

import pytest

pytest.importorskip("torch")
pytest.importorskip("torch_mlir")
pytest.importorskip("expecttest", reason="torch's operator tests need it")

from mlir_operators import MARKS, PAGE, Case, Outcome, cases, result, summary

pytestmark = pytest.mark.torch
LISTED = json.loads(Path(__file__).with_name("opinfo.json").read_text(encoding="utf-8"))
OPERATORS = LISTED["operators"]
CASES_OF_ONE = 2
"""Run of each operator that is chosen: all of them would take several minutes."""


def letters() -> dict[Case, str]:
    """What is listed for each case, in the order of its letters."""
    seen: Counter[tuple[str, str]] = Counter()
    listed = {}
    for case in cases():
        place = case.operator, str(case.dtype)[6:]
        listed[case] = OPERATORS[case.operator][place[1]][seen[place]]
        seen[place] += 1
    return listed


def chosen() -> list[tuple[Case, str]]:
    pick = random.Random(0)
    names = set(pick.sample(sorted(OPERATORS), len(OPERATORS) // 10))
    of: dict[str, list[tuple[Case, str]]] = {}
    for case, letter in letters().items():
        if case.operator in names and letter not in (Outcome.NO_CASE, Outcome.NOT_RUN):
            of.setdefault(case.operator, []).append((case, letter))
    return [item for _, items in sorted(of.items()) for item in pick.sample(items, min(len(items), CASES_OF_ONE))]


@pytest.mark.parametrize(("case", "letter"), chosen(), ids=lambda item: str(item) if isinstance(item, Case) else None)
def test_a_case_is_as_listed(case: Case, letter: str) -> None:
    seen = result(case)
    assert seen.outcome == letter, seen.detail


def test_at_least_450_operators_are_listed_and_nothing_is_wrong() -> None:
    assert len(OPERATORS) >= 450
    assert not LISTED["otherwise"]


def test_four_fifths_of_what_is_not_left_on_purpose_are_native_in_float32() -> None:
    counts = Counter("".join(of["float32"] for of in OPERATORS.values() if "float32" in of))
    native = counts[Outcome.NATIVE] + counts[Outcome.MIXED]
    assert native >= 0.8 * (native + counts[Outcome.ATEN])


def test_the_page_has_the_counts_of_the_table() -> None:
    assert PAGE.read_text(encoding="utf-8").partition(MARKS[0])[2].partition(MARKS[1])[0].strip() == summary(OPERATORS)
