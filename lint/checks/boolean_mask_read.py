"""`x[mask]`: how many elements there are, only the mask's values say. Writing a scalar through a mask is captured."""

from __future__ import annotations

from collections.abc import Iterator

from fullgraph.rules.model import Rule

from ..emission import Hit
from ..facts import Fact, Index
from ..findings import Confidence
from ..interpret.frame import Frame
from ..values import Tensor, Tuple_, Value, known

FACTS = (Index,)


def check(fact: Fact, frame: Frame, rule: Rule) -> Iterator[Hit]:
    if not isinstance(fact, Index) or fact.access == "write" or not isinstance(fact.base, Tensor):
        return
    masks = [part for part in _parts(fact.index) if isinstance(part, Tensor) and part.dtype == "bool"]
    if masks:
        sure = fact.base.sure and all(mask.sure for mask in masks)
        yield Hit(rule.code, fact.span, Confidence.CERTAIN if sure else Confidence.LIKELY)


def _parts(index: Value) -> list[Value]:
    return [known(part) for part in index.items] if isinstance(index, Tuple_) else [known(index)]
