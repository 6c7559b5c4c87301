"""Which rule foresees each kind of graph break in PyTorch's registry, or why none does: a page of Markdown."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from .measured import Evidence
from .model import Rule

REASONS = Path(__file__).with_name("unseen.yaml")
OTHERWISE = "none yet: no example of a rule raises it"
ID = re.compile(r"GB\d{4}")


def coverage(registry: Mapping[str, str], rules: Iterable[Rule], evidence: Sequence[Evidence]) -> str:
    """`registry`: id → type of break."""
    return "\n".join(_lines(registry, _codes(rules, evidence), _symbols(evidence)))


def _lines(
    registry: Mapping[str, str], codes: Mapping[str, set[str]], symbols: Mapping[str, set[str]]
) -> Iterator[str]:
    reasons = yaml.load(REASONS.read_text(encoding="utf-8"), yaml.CSafeLoader)
    rows = []
    for gb, kind in sorted(registry.items()):
        if gb in codes:
            said = ", ".join(f"[{code}](../docs/rules/{code}.md)" for code in sorted(codes[gb]))
        elif gb in symbols:
            said = f"measured for {', '.join(f'`{name}`' for name in sorted(symbols[gb])[:4])}"
        else:
            said = _reason(kind, reasons)
        rows.append(f"| {gb} | {_cell(kind)} | {said} |")
    covered = len(registry.keys() & codes.keys())
    yield "# Graph breaks and rules\n"
    yield f"{covered} of the {len(registry)} kinds of break in PyTorch's registry have a rule. Of every other one this"
    yield "says why not; it is written by `tools/generate.py`.\n"
    yield "| Id | Type of break | Rule, or why there is none |"
    yield "| --- | --- | --- |"
    yield from rows
    yield ""


def _codes(rules: Iterable[Rule], evidence: Sequence[Evidence]) -> dict[str, set[str]]:
    """Id → codes of the rules that name it, or whose bad examples raised it."""
    found: dict[str, set[str]] = defaultdict(set)
    for rule in rules:
        proven = [version.rules[rule.code] for version in evidence if rule.code in version.rules]
        measured = [str(cell) for item in proven for cell in item.bad.values()]
        for gb in (*rule.gb, *ID.findall(" ".join(measured))):
            found[gb].add(rule.code)
    return found


def _symbols(evidence: Sequence[Evidence]) -> dict[str, set[str]]:
    """Id → symbols whose probes raised it."""
    found: dict[str, set[str]] = defaultdict(set)
    for version in evidence:
        for symbol, cells in version.symbols.items():
            for gb in ID.findall(" ".join(map(str, cells.values()))):
                found[gb].add(symbol)
    return found


def _reason(kind: str, reasons: Iterable[Mapping[str, Any]]) -> str:
    return next((item["reason"] for item in reasons if kind.startswith(tuple(item["types"]))), OTHERWISE)


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;").strip()
