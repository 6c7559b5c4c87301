"""A call of a function that is disabled for Dynamo: a break on purpose where a reason is given, and then a note."""

from __future__ import annotations

from collections.abc import Iterator

from fullgraph.rules.model import Rule

from ..emission import Hit
from ..facts import DisabledCall, Fact
from ..findings import Confidence
from ..interpret.frame import Frame

FACTS = (DisabledCall,)


def check(fact: Fact, frame: Frame, rule: Rule) -> Iterator[Hit]:
    if isinstance(fact, DisabledCall):
        gb = ("GB0098",) if fact.recursive else ("GB0099",)
        message = f"`{fact.name}` is disabled for torch.compile: calling it breaks the graph"
        note = "the function says why it is disabled" if fact.reason else ""
        yield Hit(rule.code, fact.span, Confidence.CERTAIN, message, gb, note=note)
