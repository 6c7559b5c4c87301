"""The id of an object made in traced code, compared with anything but another id."""

from __future__ import annotations

from collections.abc import Iterator

from fullgraph.rules.model import Rule

from ..emission import Hit
from ..facts import Compared, Fact
from ..findings import Confidence
from ..interpret.frame import Frame
from ..values import IDENTITY, Host, known

FACTS = (Compared,)


def check(fact: Fact, frame: Frame, rule: Rule) -> Iterator[Hit]:
    if not isinstance(fact, Compared):
        return
    sides = [known(side) for side in (fact.left, fact.right)]
    ids = sum(isinstance(side, Host) and side.origin == IDENTITY for side in sides)
    if ids == 1 or (ids == 2 and fact.operator not in ("==", "!=")):
        yield Hit(rule.code, fact.span, Confidence.CERTAIN)
