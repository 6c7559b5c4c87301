"""A Python list, dict or ModuleList indexed by a tensor: Python needs the number."""

from __future__ import annotations

from collections.abc import Iterator

from fullgraph.rules.model import Rule

from ..emission import Hit
from ..facts import Fact, Index
from ..findings import Confidence
from ..interpret.frame import Frame
from ..values import ExternalObject, Sequence, Tensor, Tuple_, known

FACTS = (Index,)


def check(fact: Fact, frame: Frame, rule: Rule) -> Iterator[Hit]:
    if not isinstance(fact, Index):
        return
    index = known(fact.index)
    listed = isinstance(fact.base, (Tuple_, Sequence)) or (
        isinstance(fact.base, ExternalObject) and fact.base.cls in ("torch.nn.ModuleList", "torch.nn.Sequential")
    )
    if listed and isinstance(index, Tensor):
        yield Hit(rule.code, fact.span, Confidence.CERTAIN if index.sure else Confidence.LIKELY)
