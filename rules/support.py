"""What the linter knows of a version of torch: the evidence, packed to a letter for each rule and symbol."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from functools import cache
from pathlib import Path
from typing import Any

FILE = Path(__file__).with_name("support.json")
WRITTEN_FOR = "2.13"
"""The version on which the rules' conditions and examples hold as they are written."""


class Support(str, Enum):
    """How examples and probes ended: all alike, or mixed."""

    BREAKS = "b"
    """Or shows what else its rule says: it is compiled again, it is frozen."""
    DEFAULT_BREAKS = "d"
    """And `fullgraph=True` captures it."""
    CAPTURED = "c"
    FROZEN = "f"
    MIXED = "x"
    UNMEASURED = "-"

    def breaks(self, fullgraph: bool) -> bool:
        return self is Support.BREAKS or (self is Support.DEFAULT_BREAKS and not fullgraph)

    def captured(self, fullgraph: bool) -> bool:
        return self is Support.CAPTURED or (self is Support.DEFAULT_BREAKS and fullgraph)


@dataclass(frozen=True, slots=True)
class Version:
    """What is known of one version of torch; `torch` is its major and minor number."""

    torch: str
    rules: Mapping[str, Support] = field(default_factory=dict)
    symbols: Mapping[str, Support] = field(default_factory=dict)
    changed: frozenset[str] = frozenset()
    """Symbols that fare otherwise than on the version that the rules are written for."""

    def rule(self, code: str) -> Support:
        return self.rules.get(code, Support.UNMEASURED)

    def symbol(self, name: str) -> Support:
        return self.symbols.get(name, Support.UNMEASURED)


def load(torch: str) -> Version:
    """Of a measured version."""
    data = _packed()
    place, written = (data["versions"].index(version) for version in (torch, WRITTEN_FOR))
    letters = {letter.value: letter for letter in Support}
    return Version(
        torch,
        {code: letters[text[place]] for code, text in data["rules"].items()},
        {
            name: letters[text[place]]
            for text, names in data["symbols"].items()
            if text[place] != Support.UNMEASURED.value
            for name in names.split()
        },
        frozenset(
            name for text, names in data["symbols"].items() if text[place] != text[written] for name in names.split()
        ),
    )


def versions() -> tuple[str, ...]:
    """The measured versions of torch, from the oldest to the newest."""
    return tuple(_packed()["versions"])


@cache
def _packed() -> dict[str, Any]:
    data: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))
    return data
