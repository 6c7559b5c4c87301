"""A `with` statement around a context manager whose `__enter__` the rule lists among its calls."""

from __future__ import annotations

from collections.abc import Iterator

from fullgraph.rules.model import Rule

from ..emission import Hit
from ..facts import Enter, Fact
from ..findings import Confidence
from ..interpret.frame import Frame

FACTS = (Enter,)


def check(fact: Fact, frame: Frame, rule: Rule) -> Iterator[Hit]:
    if isinstance(fact, Enter) and any(f"{fact.symbol}.__enter__" in match.call for match in rule.match):
        yield Hit(rule.code, fact.span, Confidence.CERTAIN)
