"""Compile calls of one function that differ in the backend or in its options."""

from __future__ import annotations

from collections.abc import Iterator

from fullgraph.rules.model import Rule

from ..emission import Hit
from ..facts import Fact, Recompiled
from ..findings import Confidence
from ..guards import Kind
from ..interpret.frame import Frame

FACTS = (Recompiled,)


def check(fact: Fact, frame: Frame, rule: Rule) -> Iterator[Hit]:
    if isinstance(fact, Recompiled) and fact.kind is Kind.COMPILER:
        yield Hit(rule.code, fact.span, Confidence.LIKELY, note=fact.note)
