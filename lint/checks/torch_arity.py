"""A torch function or tensor method called with more positional arguments than any of its overloads takes."""

from __future__ import annotations

from collections.abc import Iterator

from fullgraph.rules.model import Rule

from ..emission import Hit
from ..facts import Call, Fact
from ..findings import Confidence
from ..interpret.frame import Frame
from ..values import Tensor

FACTS = (Call,)
CALLS = ("torch.",)


def check(fact: Fact, frame: Frame, rule: Rule) -> Iterator[Hit]:
    if not isinstance(fact, Call) or fact.arguments.open_ended:
        return
    arity = frame.analysis.api.arity(fact.symbol)
    if arity is None or arity.most is None or len(fact.arguments.positional) <= arity.most:
        return
    sure = fact.receiver is None or (isinstance(fact.receiver, Tensor) and fact.receiver.sure)
    given = len(fact.arguments.positional)
    message = f"`{fact.symbol}` takes at most {arity.most} positional arguments, {given} are given"
    yield Hit(rule.code, fact.span, Confidence.CERTAIN if sure else Confidence.LIKELY, message)
