"""The rules' symbol lists against what was measured: nothing that Dynamo captures is called a break."""

from __future__ import annotations

import json
from fnmatch import fnmatchcase
from pathlib import Path

import pytest

from fullgraph.rules.model import Rule
from fullgraph.rules.source import read_folder

FOLDER = Path(__file__).parents[2] / "rules"
RULES = [rule for rule in read_folder(FOLDER) if rule.effect in ("graph-break", "skipped-frame")]
CERTAIN = [rule for rule in RULES if rule.confidence == "certain"]
EVIDENCE = sorted((FOLDER / "evidence").glob("torch-*.json"))


def unconditional(rule: Rule) -> list[str]:
    """The symbols that the rule fires on whatever the arguments are."""
    matches = [m for m in rule.match if not m.given and not m.absent and m.arguments is None]
    return [symbol for m in matches for symbol in (*m.call, *m.attribute)]


def fits(pattern: str, symbol: str) -> bool:
    return pattern.count(".") == symbol.count(".") and fnmatchcase(symbol, pattern)


def read(path: Path) -> dict[str, set[str]]:
    """Symbol → everything that happened to it in default mode."""
    symbols = json.loads(path.read_text(encoding="utf-8"))["symbols"]
    return {
        symbol: {outcome if isinstance(outcome, str) else outcome[0] for outcome in found.values()}
        for symbol, found in symbols.items()
    }


@pytest.mark.parametrize("path", EVIDENCE, ids=lambda path: path.stem)
def test_no_rule_names_a_captured_symbol(path: Path) -> None:
    captured = [symbol for symbol, outcomes in read(path).items() if "captured" in outcomes]
    wrong = {
        f"{rule.code} {pattern} {symbol}"
        for rule in CERTAIN
        for pattern in unconditional(rule)
        for symbol in captured
        if fits(pattern, symbol)
    }
    assert wrong == set()


@pytest.mark.parametrize("path", EVIDENCE, ids=lambda path: path.stem)
def test_most_symbols_that_break_belong_to_a_rule(path: Path) -> None:
    broken = [symbol for symbol, outcomes in read(path).items() if all(o.startswith("GB") for o in outcomes)]
    patterns = [pattern for rule in RULES for match in rule.match for pattern in (*match.call, *match.attribute)]
    named = [symbol for symbol in broken if any(fits(pattern, symbol) for pattern in patterns)]
    assert len(named) / len(broken) > 0.8


def test_there_is_evidence() -> None:
    assert EVIDENCE
