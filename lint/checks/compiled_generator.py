"""A generator function that is compiled, which Dynamo does not trace."""

from __future__ import annotations

from collections.abc import Iterator

from fullgraph.rules.model import Rule

from ..emission import Hit
from ..facts import Entered, Fact
from ..findings import Confidence
from ..interpret.frame import Frame

FACTS = (Entered,)


def check(fact: Fact, frame: Frame, rule: Rule) -> Iterator[Hit]:
    if isinstance(fact, Entered) and fact.function.kind == "generator":
        yield Hit(rule.code, fact.span, Confidence.CERTAIN)
