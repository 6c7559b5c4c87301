"""`torch.compile(DistributedDataParallel(model))`: the model inside is what should be compiled."""

from __future__ import annotations

from collections.abc import Iterator

from fullgraph.rules.model import Rule

from ..emission import Hit
from ..facts import CompileCall, Fact
from ..findings import Confidence
from ..interpret.frame import Frame
from ..values import ExternalObject

FACTS = (CompileCall,)

WRAPPER = "torch.nn.parallel.DistributedDataParallel"


def check(fact: Fact, frame: Frame, rule: Rule) -> Iterator[Hit]:
    if isinstance(fact, CompileCall):
        target = fact.compiled.target
        if isinstance(target, ExternalObject) and target.cls == WRAPPER:
            yield Hit(rule.code, fact.span, Confidence.CERTAIN)
