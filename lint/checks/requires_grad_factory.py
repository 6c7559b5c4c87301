"""A tensor made in traced code with `requires_grad=True`."""

from __future__ import annotations

from collections.abc import Iterator

from fullgraph.rules.model import Rule

from ..emission import Hit
from ..facts import Call, Fact
from ..findings import Confidence
from ..interpret.frame import Frame
from ..values import Const

FACTS = (Call,)
CALLS = ("torch.",)


def check(fact: Fact, frame: Frame, rule: Rule) -> Iterator[Hit]:
    if not isinstance(fact, Call) or fact.arguments.keyword("requires_grad") != Const(True):
        return
    if fact.symbol.startswith("torch.") and fact.symbol.count(".") == 1:
        yield Hit(rule.code, fact.span, Confidence.CERTAIN)
