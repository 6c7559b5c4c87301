"""A slice whose bound is a tensor: Python needs the number to know the result's size."""

from __future__ import annotations

from collections.abc import Iterator

from fullgraph.rules.model import Rule

from ..emission import Hit
from ..facts import Fact, Index
from ..findings import Confidence
from ..interpret.frame import Frame
from ..values import Sequence, Tensor, Tuple_, known

FACTS = (Index,)


def check(fact: Fact, frame: Frame, rule: Rule) -> Iterator[Hit]:
    if not isinstance(fact, Index):
        return
    parts = fact.index.items if isinstance(fact.index, Tuple_) else (fact.index,)
    bounds = [part.element for part in parts if isinstance(part, Sequence) and part.kind == "slice"]
    tensors = [bound for bound in map(known, bounds) if isinstance(bound, Tensor)]
    if tensors:
        sure = all(bound.sure for bound in tensors)
        yield Hit(rule.code, fact.span, Confidence.CERTAIN if sure else Confidence.LIKELY)
