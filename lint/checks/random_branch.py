"""A branch on a random draw, as layerdrop makes it."""

from __future__ import annotations

from collections.abc import Iterator

from fullgraph.rules.model import Rule

from ..emission import Hit
from ..facts import Branch, Fact
from ..findings import Confidence
from ..interpret.frame import Frame
from ..values import Scalar, Tensor, known

FACTS = (Branch,)


def check(fact: Fact, frame: Frame, rule: Rule) -> Iterator[Hit]:
    if not isinstance(fact, Branch) or fact.construct == "assert":
        return
    value = known(fact.value)
    if isinstance(value, (Tensor, Scalar)) and value.random:
        yield Hit(rule.code, fact.span, Confidence.CERTAIN)
