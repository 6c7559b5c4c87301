"""A collective of `torch.distributed` that hands back a handle to wait for."""

from __future__ import annotations

from collections.abc import Iterator

from fullgraph.rules.model import Rule

from ..emission import Hit
from ..facts import Call, Fact
from ..findings import Confidence
from ..interpret.frame import Frame
from ..values import Const

FACTS = (Call,)
CALLS = ("torch.distributed.",)


def check(fact: Fact, frame: Frame, rule: Rule) -> Iterator[Hit]:
    if not isinstance(fact, Call) or any(fact.symbol in match.call for match in rule.match):
        return
    if fact.symbol.startswith("torch.distributed.") and fact.arguments.keyword("async_op") == Const(True):
        yield Hit(rule.code, fact.span, Confidence.CERTAIN, gb=("GB0172",))
