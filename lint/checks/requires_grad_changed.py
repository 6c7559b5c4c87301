"""`requires_grad` set on a tensor: by assignment never traced, by `requires_grad_()` not on one from outside."""

from __future__ import annotations

from collections.abc import Iterator

from fullgraph.rules.model import Rule

from ..emission import Hit
from ..facts import Call, Fact, Store
from ..findings import Confidence
from ..interpret.frame import Frame
from ..values import Const, Tensor

FACTS = (Call, Store)
CALLS = ("torch.Tensor.requires_grad_",)


def check(fact: Fact, frame: Frame, rule: Rule) -> Iterator[Hit]:
    match fact:
        case Store(symbol="torch.Tensor.requires_grad", receiver=Tensor(sure=sure)):
            yield Hit(rule.code, fact.span, Confidence.CERTAIN if sure else Confidence.LIKELY, gb=("GB0206",))
        case Call(symbol="torch.Tensor.requires_grad_", receiver=Tensor(made_here=False)):
            # a tensor that requires grad already is left alone, so False changes nothing for most
            if fact.arguments.get(0, "requires_grad") in (None, Const(True)):
                yield Hit(rule.code, fact.span, Confidence.LIKELY, gb=("GB0125",))
