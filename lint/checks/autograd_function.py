"""`apply` of a `torch.autograd.Function` that defines more than `forward` and `backward`, or those not as functions."""

from __future__ import annotations

from collections.abc import Iterator

from fullgraph.rules.model import Rule

from ..emission import Hit
from ..facts import Call, Fact
from ..findings import Confidence
from ..interpret import expressions, objects
from ..interpret.frame import Frame
from ..symbols import ClassSymbol
from ..values import Class, Instance, Partial

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
            for name in (name for name in ("forward", "backward") if _is_object(frame, symbol, name)):
                message = f"`{name}` of `{symbol.name}` is an object, where Dynamo takes functions only"
                yield Hit(rule.code, fact.span, Confidence.CERTAIN, message, ("GB0346",))


def _is_object(frame: Frame, symbol: ClassSymbol, name: str) -> bool:
    nodes = symbol.attributes.get(name)
    if nodes is None:
        return False
    value = expressions.peek(frame.analysis.module_frame(symbol.module), nodes[-1])
    return isinstance(value, (Instance, Partial))
