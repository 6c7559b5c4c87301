"""A compiled function that breaks its graph at so many places that little is left to compile."""

from __future__ import annotations

from collections.abc import Iterator

from fullgraph.rules.model import Rule

from ..emission import Hit
from ..facts import Entered, Fact
from ..findings import Confidence
from ..interpret.frame import Frame

MANY = 5

FACTS = (Entered,)


def check(fact: Fact, frame: Frame, rule: Rule) -> Iterator[Hit]:
    if isinstance(fact, Entered) and fact.breaks >= MANY:
        yield Hit(rule.code, fact.span, Confidence.POSSIBLE)
