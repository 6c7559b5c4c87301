"""An assert on a tensor that Dynamo can't turn into an operator, for its message or for the `not` in its condition."""

from __future__ import annotations

from collections.abc import Iterator

from fullgraph.rules.model import Rule

from ..emission import Hit
from ..facts import Branch, Fact
from ..findings import Confidence
from ..interpret.frame import Frame
from ..values import NONE, Const, Tensor, known

FACTS = (Branch,)


def check(fact: Fact, frame: Frame, rule: Rule) -> Iterator[Hit]:
    if not isinstance(fact, Branch) or fact.construct != "assert":
        return
    value = known(fact.value)
    plain = fact.message is None or (isinstance(fact.message, Const) and isinstance(fact.message.value, str))
    if not isinstance(value, Tensor) or (plain and not fact.negated):
        return
    confidence = Confidence.CERTAIN if value.sure else Confidence.LIKELY
    if fact.negated:
        yield Hit(rule.code, fact.span, confidence, "`assert not` needs the value of the tensor `{source}`")
    elif fact.message != NONE:
        yield Hit(rule.code, fact.span, confidence)
