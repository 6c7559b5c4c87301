"""An attribute of an `nn.Module` that traced code counts with: guarded by value, so every call compiles again."""

from __future__ import annotations

from collections.abc import Iterator

from fullgraph.rules.model import Rule

from ..emission import Hit
from ..facts import Fact, Store
from ..findings import Confidence
from ..interpret import objects
from ..interpret.frame import Frame
from ..values import Class, Const, Host, Instance, kind_of

FACTS = (Store,)


def check(fact: Fact, frame: Frame, rule: Rule) -> Iterator[Hit]:
    if not isinstance(fact, Store) or not isinstance(fact.receiver, (Instance, Class)):
        return
    if not objects.is_module(frame.analysis, fact.receiver.symbol) or frame.storing:
        return
    kind = kind_of(fact.previous) if isinstance(fact.previous, (Const, Host)) else None
    if not fact.counts or kind_of(fact.value) != kind:
        return
    if kind == "int" or (kind == "float" and frame.settings.lowered):
        confidence = Confidence.CERTAIN if not frame.conditions else Confidence.LIKELY
        yield Hit(rule.code, fact.span, confidence, fixable=kind == "int")
