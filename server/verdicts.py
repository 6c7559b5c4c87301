"""What compiling has shown: the JSON of `fullgraph verify` → verdicts, breaks and guards by function.

They hold for as long as the function's text stays what it was; places are kept relative to its first line.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import msgspec

from fullgraph.lint.findings import Finding

from .checked import Checked
from .outline import Definition, outline
from .text import Text


class VerifiedFinding(msgspec.Struct):
    code: str
    path: str
    line: int
    column: int
    function: str
    verdict: str
    evidence: str


class Break(msgspec.Struct):
    path: str
    line: int
    function: str
    reason: str
    column: int | None = None
    end_column: int | None = None
    gb: str | None = None


class Frame(msgspec.Struct):
    id: str
    path: str
    line: int
    function: str
    graphs: int
    ops: int
    compile_s: float
    guards: list[str]


class Target(msgspec.Struct):
    status: str
    detail: str | None = None
    findings: list[VerifiedFinding] = []
    unpredicted: list[Break] = []
    frames: list[Frame] = []

    @property
    def summary(self) -> str:
        """As a code lens shows it."""
        if self.status != "ok":
            return self.status.replace("-", " ")
        counts = Counter(finding.verdict for finding in self.findings)
        parts = [
            f"{counts[verdict]} {verdict}" for verdict in ("confirmed", "refuted", "not-reached") if counts[verdict]
        ]
        if self.unpredicted:
            parts.append(f"{len(self.unpredicted)} unpredicted")
        return ", ".join(parts) or "compiled without a break"


class Verified(msgspec.Struct):
    """The document of `fullgraph verify --output-format json`, as far as editors show it."""

    torch: str
    targets: list[Target]


def merged(targets: Sequence[Target]) -> Target:
    """One function may be run several times, in training say."""
    worst = next((target for target in targets if target.status != "ok"), targets[0])
    return Target(
        worst.status,
        worst.detail,
        [finding for target in targets for finding in target.findings],
        [item for target in targets for item in target.unpredicted],
        [frame for target in targets for frame in target.frames],
    )


@dataclass(slots=True)
class Proof:
    """What one function did."""

    lines: Sequence[str]
    """Its text."""
    verdicts: dict[tuple[str, int, int], str] = field(default_factory=dict)
    """By code, line within the function, and column."""
    breaks: list[Break] = field(default_factory=list)
    """Those that nobody predicted, lines within the function."""
    frames: list[Frame] = field(default_factory=list)
    summary: str = ""
    """If it was the target."""


class Verdicts:
    def __init__(self) -> None:
        self._proofs: dict[tuple[str, str], Proof] = {}

    def learn(self, path: str, qualname: str, target: Target, root: Path, text_of: Callable[[str], Text]) -> None:
        """Take in what verifying a function has shown, instead of what was known of the functions it reached."""
        fresh: dict[tuple[str, str], Proof] = {}
        text_of = cache(text_of)

        def within(relative: str, function: str) -> tuple[Proof, Definition] | None:
            place = os.path.normpath(root / relative)
            definition = outline(text_of(place).source).get(function)
            if definition is None:
                return None
            lines = text_of(place).lines[definition.first - 1 : definition.last]
            return fresh.setdefault((place, function), Proof(lines)), definition

        if (own := within(path, qualname)) is not None:
            own[0].summary = target.summary
        for finding in target.findings:
            if (at := within(finding.path, finding.function)) is not None:
                key = (finding.code, finding.line - at[1].first, finding.column)
                at[0].verdicts[key] = f"{finding.verdict} by compiling" + (
                    f" ({finding.evidence})" if finding.evidence else ""
                )
        for item in target.unpredicted:
            if (at := within(item.path, item.function)) is not None:
                at[0].breaks.append(msgspec.structs.replace(item, line=item.line - at[1].first))
        for frame in target.frames:
            if (at := within(frame.path, frame.function)) is not None:
                at[0].frames.append(frame)
        self._proofs |= fresh

    def proof(self, checked: Checked, function: str) -> tuple[Proof, Definition] | None:
        """What holds of a function as it stands now."""
        proof = self._proofs.get((checked.path, function))
        definition = (checked.outline or {}).get(function)
        if proof is None or definition is None:
            return None
        lines = checked.lines[definition.first - 1 : definition.last]
        return (proof, definition) if list(lines) == list(proof.lines) else None

    def verdict(self, checked: Checked, finding: Finding) -> str | None:
        if (found := self.proof(checked, finding.function)) is None:
            return None
        proof, definition = found
        return proof.verdicts.get((finding.code, finding.span.line - definition.first, finding.span.column))
