"""The linter on programs that the evidence has not seen: measured symbols behind aliases, in helpers and loops."""

from __future__ import annotations

import sys
from pathlib import Path

import compositions
import pytest


@pytest.mark.torch
def test_what_breaks_in_a_composition_is_foreseen() -> None:
    items = compositions.compositions(count=2 * len(compositions.FORMS), seed=7)
    assert {item.form for item in items} == set(compositions.FORMS)
    compared, wrong = compositions.disagreements("2.13", Path(sys.executable), items)
    assert compared > len(items) * 0.9
    assert len(wrong) <= 0.07 * compared, [(item.symbol, item.form) for item, _ in wrong]
