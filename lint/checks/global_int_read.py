"""A global int or string that the program rebinds while it runs: guarded by value, so every new value compiles
again."""

from __future__ import annotations

from collections.abc import Iterator

from fullgraph.rules.model import Rule

from ..emission import Hit
from ..facts import Fact, GlobalRead
from ..findings import Confidence
from ..interpret.frame import Frame
from ..values import Host

FACTS = (GlobalRead,)


def check(fact: Fact, frame: Frame, rule: Rule) -> Iterator[Hit]:
    if isinstance(fact, GlobalRead) and isinstance(fact.value, Host) and fact.value.kind in ("int", "str"):
        yield Hit(rule.code, fact.span, Confidence.LIKELY)
