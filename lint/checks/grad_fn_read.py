"""`grad_fn` of a tensor that the traced code made; that of one handed in is known while tracing."""

from __future__ import annotations

from collections.abc import Iterator

from fullgraph.rules.model import Rule

from ..emission import Hit
from ..facts import Attribute, Fact
from ..findings import Confidence
from ..interpret.frame import Frame
from ..values import Tensor

FACTS = (Attribute,)


def check(fact: Fact, frame: Frame, rule: Rule) -> Iterator[Hit]:
    match fact:
        case Attribute(symbol="torch.Tensor.grad_fn", receiver=Tensor(made_here=True)):
            yield Hit(rule.code, fact.span, Confidence.LIKELY)
