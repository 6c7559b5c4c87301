"""A hook registered on a module after compiled code has run."""

from __future__ import annotations

from collections.abc import Iterator

from fullgraph.rules.model import Rule

from ..emission import Hit
from ..facts import Change, Fact, Late
from ..findings import Confidence
from ..interpret.frame import Frame

FACTS = (Late,)


def check(fact: Fact, frame: Frame, rule: Rule) -> Iterator[Hit]:
    if isinstance(fact, Late) and fact.change is Change.HOOK:
        yield Hit(rule.code, fact.span, Confidence.LIKELY)
