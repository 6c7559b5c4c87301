"""The packed catalogue: all built-in rules in one JSON file, so that a check reads no YAML."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

from .codec import from_plain, to_plain
from .model import Rule

FILE = Path(__file__).with_name("catalogue.json")


def pack(rules: Iterable[Rule]) -> str:
    """The catalogue's text: a JSON list with one rule a line, sorted by code."""
    lines = [json.dumps(to_plain(rule), ensure_ascii=False) for rule in sorted(rules, key=lambda rule: rule.code)]
    return "[\n" + ",\n".join(lines) + "\n]\n"


def unpack(text: str) -> dict[str, Rule]:
    """Rules by code, in order of their codes."""
    rules = [from_plain(Rule, data) for data in json.loads(text)]
    return {rule.code: rule for rule in rules}
