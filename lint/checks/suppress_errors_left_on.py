"""`torch._dynamo.config.suppress_errors = True`: compile errors silently become eager execution."""

from __future__ import annotations

from collections.abc import Iterator

from fullgraph.rules.model import Rule

from ..emission import Hit
from ..facts import Fact, Setting
from ..findings import Confidence
from ..interpret.frame import Frame
from ..values import Const

FACTS = (Setting,)


def check(fact: Fact, frame: Frame, rule: Rule) -> Iterator[Hit]:
    if isinstance(fact, Setting) and fact.symbol.endswith(".suppress_errors") and fact.value == Const(True):
        yield Hit(rule.code, fact.span, Confidence.CERTAIN)
