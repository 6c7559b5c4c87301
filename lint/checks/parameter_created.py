"""`nn.Parameter(t)` of a tensor that the traced code made; around one handed in it is captured."""

from __future__ import annotations

from collections.abc import Iterator

from fullgraph.rules.model import Rule

from ..emission import Hit
from ..facts import Call, Fact
from ..findings import Confidence
from ..interpret.frame import Frame
from ..values import Tensor, known

FACTS = (Call,)
CALLS = ("torch.nn.Parameter",)


def check(fact: Fact, frame: Frame, rule: Rule) -> Iterator[Hit]:
    if not isinstance(fact, Call) or fact.symbol != "torch.nn.Parameter":
        return
    data = known(fact.arguments.get(0, "data") or Tensor(made_here=True))
    if not isinstance(data, Tensor) or data.made_here:
        yield Hit(rule.code, fact.span, Confidence.CERTAIN if isinstance(data, Tensor) else Confidence.LIKELY)
