"""A tensor indexed by an integer tensor of no dimensions that was computed in the graph."""

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
    if not isinstance(fact, Index) or not isinstance(fact.base, Tensor):
        return
    parts = fact.index.items if isinstance(fact.index, Tuple_) else (fact.index,)
    if any(map(_reads, map(known, parts))):
        yield Hit(rule.code, fact.span, Confidence.CERTAIN)


def _reads(part: Value) -> bool:
    """One handed in stays a tensor; one computed in the graph is asked for its value."""
    return isinstance(part, Tensor) and part.sizes == () and part.dtype == "int" and part.made_here
