"""`apply` of a `torch.autograd.Function` that defines more than `forward` and `backward`."""

from __future__ import annotations

from collections.abc import Iterator

from fullgraph.rules.model import Rule

from ..emission import Hit
from ..facts import Call, Fact
from ..findings import Confidence
from ..interpret import objects
from ..interpret.frame import Frame
from ..values import Class

FACTS = (Call,)
CALLS = ("torch.autograd.Function.apply",)

IDS = {"jvp": "GB0144", "vjp": "GB0145"}


def check(fact: Fact, frame: Frame, rule: Rule) -> Iterator[Hit]:
    match fact:
        case Call(symbol="torch.autograd.Function.apply", receiver=Class(symbol=symbol)):
            defined = [name for name in IDS if objects.find_method(frame.analysis, symbol, name)]
            for name in defined[:1]:
                message = f"`{symbol.name}` defines `{name}`, which Dynamo does not trace"
                yield Hit(rule.code, fact.span, Confidence.CERTAIN, message, (IDS[name],))
