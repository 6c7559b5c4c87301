"""The evidence: present and complete for every version, read back as it was written, and agreeing with the rules."""

from __future__ import annotations

from fnmatch import fnmatchcase
from pathlib import Path

import pytest

from fullgraph.rules import support
from fullgraph.rules.measured import Cell, Evidence, Outcome, Proven, digest, read, read_all, render
from fullgraph.rules.model import Rule
from fullgraph.rules.source import read_folder
from fullgraph.rules.summarise import of_rule, of_symbol
from fullgraph.rules.support import Support

FOLDER = Path(__file__).parents[2] / "rules"
RULES = [rule for rule in read_folder(FOLDER) if not rule.code.startswith("FG9")]
BREAKS = [rule for rule in RULES if rule.effect in ("graph-break", "skipped-frame")]
CERTAIN = [rule for rule in BREAKS if rule.confidence == "certain"]
EVIDENCE = {".".join(evidence.torch.split(".")[:2]): evidence for evidence in read_all()}
REFERENCE = EVIDENCE[support.WRITTEN_FOR]
ALL = pytest.mark.parametrize("evidence", EVIDENCE.values(), ids=EVIDENCE.keys())


def fits(pattern: str, symbol: str) -> bool:
    return pattern.count(".") == symbol.count(".") and fnmatchcase(symbol, pattern)


def test_every_version_with_evidence_can_be_asked_for() -> None:
    assert tuple(EVIDENCE) == support.versions()


@ALL
def test_every_example_was_measured_as_it_is_now(evidence: Evidence) -> None:
    missing = [
        f"{rule.code} {kind} {number}"
        for rule in RULES
        for kind, examples in (("bad", rule.bad), ("good", rule.good))
        for number, example in enumerate(examples, 1)
        if digest(example) not in getattr(evidence.rules.get(rule.code, Proven()), kind)
    ]
    assert missing == []


@ALL
def test_every_version_was_asked_about_the_same_symbols(evidence: Evidence) -> None:
    assert evidence.symbols.keys() == REFERENCE.symbols.keys()
    assert len(evidence.symbols) > 2700


def test_the_rules_hold_on_the_version_they_are_written_for() -> None:
    shown = {rule.code: of_rule(rule, REFERENCE.rules[rule.code]) for rule in RULES if rule.effect != "placement"}
    assert {code for code, found in shown.items() if found in (Support.CAPTURED, Support.MIXED)} == set()
    assert {
        rule.code
        for rule in BREAKS
        if (shown[rule.code] is Support.DEFAULT_BREAKS) != (rule.modes.fullgraph == "captured")
    } == set()


def test_no_rule_names_a_captured_symbol() -> None:
    captured = [name for name in REFERENCE.symbols if of_symbol(REFERENCE, name) in (Support.CAPTURED, Support.MIXED)]
    wrong = {
        f"{rule.code} {pattern} {symbol}"
        for rule in CERTAIN
        for match in rule.match
        if match.unconditional
        for pattern in (*match.call, *match.attribute)
        for symbol in captured
        if fits(pattern, symbol)
    }
    assert wrong == set()


def prefixes(rules: list[Rule]) -> tuple[str, ...]:
    return tuple(f"{prefix}." for rule in rules for match in rule.match for prefix in match.measured)


@ALL
def test_what_breaks_belongs_to_a_rule(evidence: Evidence) -> None:
    patterns = [pattern for rule in RULES for match in rule.match for pattern in (*match.call, *match.attribute)]
    broken = [name for name in evidence.symbols if of_symbol(evidence, name) is Support.BREAKS]
    left = [name for name in broken if not name.startswith(prefixes(BREAKS))]
    assert [name for name in left if not any(fits(pattern, name) for pattern in patterns)] == []


def test_a_file_reads_back_as_it_was_written(tmp_path: Path) -> None:
    cells = {
        "captured": Cell(Outcome("captured"), Outcome("captured")),
        "both": Cell(Outcome("skips", "GB0142"), Outcome("breaks", "GB0142")),
        'quoted "x": {y}': Cell(Outcome("not measured", 'TypeError: "1": {2}'), Outcome("error", "TypeError")),
    }
    evidence = Evidence("2.99.0", "3.11", {"FG101": Proven(cells, {})}, {"torch.f": cells})
    path = tmp_path / evidence.name
    path.write_text(render(evidence), encoding="utf-8")
    assert read(path) == evidence


@pytest.mark.parametrize(
    ("was", "expected"),
    [
        (["breaks GB0007"], Support.BREAKS),
        (["skips GB0007 | breaks GB0007"], Support.BREAKS),
        (["breaks GB0124 | captured"], Support.DEFAULT_BREAKS),
        (["breaks GB0124 | captured", "breaks GB0007"], Support.BREAKS),
        (["captured", "breaks GB0007"], Support.MIXED),
        (["captured", "not measured no probe"], Support.CAPTURED),
        (["frozen"], Support.FROZEN),
        (["crashed SIGSEGV", "hung"], Support.UNMEASURED),
        ([], Support.UNMEASURED),
    ],
)
def test_what_the_probes_of_a_symbol_amount_to(was: list[str], expected: Support) -> None:
    probes = {str(number): Cell.parsed(text) for number, text in enumerate(was)}
    assert of_symbol(Evidence("2.99.0", "3.11", {}, {"f": probes}), "f") is expected
