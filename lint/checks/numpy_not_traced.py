"""Arrays in traced code although `torch._dynamo.config.trace_numpy` is off."""

from __future__ import annotations

from collections.abc import Iterator

from fullgraph.rules.model import Rule

from ..emission import Hit
from ..facts import Call, Fact
from ..findings import Confidence
from ..interpret.frame import Frame

FACTS = (Call,)

IDS = {"torch.Tensor.numpy": "GB0105", "torch.from_numpy": "GB0231"}
CALLS = tuple(IDS)


def check(fact: Fact, frame: Frame, rule: Rule) -> Iterator[Hit]:
    if isinstance(fact, Call) and fact.symbol in IDS and "trace_numpy=False" in frame.settings.flags:
        yield Hit(rule.code, fact.span, Confidence.CERTAIN, gb=(IDS[fact.symbol],))
