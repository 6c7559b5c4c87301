"""A `class` statement inside traced code."""

from __future__ import annotations

from collections.abc import Iterator

from fullgraph.rules.model import Rule

from ..emission import Hit
from ..facts import Definition, Fact
from ..findings import Confidence
from ..interpret.frame import Frame

FACTS = (Definition,)


def check(fact: Fact, frame: Frame, rule: Rule) -> Iterator[Hit]:
    if isinstance(fact, Definition) and fact.kind == "class":
        yield Hit(rule.code, fact.span, Confidence.CERTAIN)
