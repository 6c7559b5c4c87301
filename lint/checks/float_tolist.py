"""`.tolist()` of a tensor that is known to hold something else than integers: Dynamo never captures it."""

from __future__ import annotations

from collections.abc import Iterator

from fullgraph.rules.model import Rule

from ..emission import Hit
from ..facts import Call, Fact
from ..findings import Confidence
from ..interpret.frame import Frame
from ..values import Tensor

FACTS = (Call,)
CALLS = ("torch.Tensor.tolist",)


def check(fact: Fact, frame: Frame, rule: Rule) -> Iterator[Hit]:
    if not isinstance(fact, Call) or fact.symbol != "torch.Tensor.tolist" or not isinstance(fact.receiver, Tensor):
        return
    if fact.receiver.dtype not in (None, "int"):
        yield Hit(rule.code, fact.span, Confidence.CERTAIN if fact.receiver.sure else Confidence.LIKELY)
