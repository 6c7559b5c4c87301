"""A first-party function called with arguments that its parameters do not take."""

from __future__ import annotations

from collections.abc import Iterator

from fullgraph.rules.model import Rule

from ..emission import Hit
from ..facts import Fact, UserCall
from ..findings import Confidence
from ..interpret.frame import Frame

FACTS = (UserCall,)


def check(fact: Fact, frame: Frame, rule: Rule) -> Iterator[Hit]:
    if isinstance(fact, UserCall) and not fact.binds and not fact.arguments.open_ended:
        message = f"the arguments do not fit the parameters of `{fact.function.qualname}`"
        yield Hit(rule.code, fact.span, Confidence.LIKELY, message)
