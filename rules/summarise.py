"""Evidence of all versions → the packed support table that `support` reads."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Sequence

from .measured import Cell, Evidence, Proven, digest
from .model import Rule
from .support import Support

SHOWN = {
    "break": ("breaks", "skips"),
    "recompile": ("recompiles",),
    "frozen": ("frozen",),
    "raise": ("error", "breaks", "skips"),
}
"""What a bad example must come to, by what proves it."""


def pack(rules: Iterable[Rule], evidence: Sequence[Evidence]) -> str:
    """JSON with a letter for each of these versions, oldest first; of several Pythons the newest counts."""
    evidence = list({_minor(version): version for version in evidence}.values())
    symbols: dict[str, list[str]] = defaultdict(list)
    for name in sorted({name for version in evidence for name in version.symbols}):
        letters = "".join(of_symbol(version, name).value for version in evidence)
        symbols[letters].append(name)
    data = {
        "versions": [_minor(version) for version in evidence],
        "rules": {
            rule.code: "".join(of_rule(rule, version.rules.get(rule.code)).value for version in evidence)
            for rule in rules
        },
        "symbols": {letters: " ".join(names) for letters, names in sorted(symbols.items())},
    }
    return json.dumps(data, indent=1) + "\n"


def _minor(evidence: Evidence) -> str:
    return ".".join(evidence.torch.split(".")[:2])


def of_symbol(evidence: Evidence, name: str) -> Support:
    return _joined(_of_cell(cell, ("breaks", "skips")) for cell in evidence.symbols.get(name, {}).values())


def of_rule(rule: Rule, proven: Proven | None) -> Support:
    """By those of its bad examples that were measured as they are now."""
    if proven is None:
        return Support.UNMEASURED
    found = []
    for example in rule.bad:
        proof, cell = rule.proof(example), proven.bad.get(digest(example))
        if cell is not None and proof in SHOWN:
            found.append(_of_cell(cell, SHOWN[proof]))
    return _joined(found)


def _of_cell(cell: Cell, shown: tuple[str, ...]) -> Support:
    default, fullgraph = cell.default.kind, cell.fullgraph.kind
    if default in shown:
        return Support.DEFAULT_BREAKS if fullgraph == "captured" else Support.BREAKS
    match default:
        case "captured":
            return Support.CAPTURED
        case "frozen":
            return Support.FROZEN
        case "not measured" | "hung" | "crashed" | "error":
            return Support.UNMEASURED
    return Support.MIXED


def _joined(found: Iterable[Support]) -> Support:
    known = {support for support in found if support is not Support.UNMEASURED}
    if known == {Support.BREAKS, Support.DEFAULT_BREAKS}:
        return Support.BREAKS
    if len(known) == 1:
        return known.pop()
    return Support.MIXED if known else Support.UNMEASURED
