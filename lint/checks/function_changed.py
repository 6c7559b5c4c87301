"""An attribute set on a function that was made outside, or an object given another class."""

from __future__ import annotations

from collections.abc import Iterator

from fullgraph.rules.model import Rule

from ..emission import Hit
from ..facts import Fact, Store
from ..findings import Confidence
from ..interpret.frame import Frame
from ..values import Bound, Function, Instance, Partial

FACTS = (Store,)


def check(fact: Fact, frame: Frame, rule: Rule) -> Iterator[Hit]:
    match fact:
        case Store(receiver=Function(scope=Frame(traced=True))):
            return  # made in the traced code itself
        case Store(receiver=Function() | Bound() | Partial()):
            yield Hit(rule.code, fact.span, Confidence.CERTAIN, gb=("GB0467",))
        case Store(receiver=Instance(), name="__class__"):
            message = "`{source}` gives the object another class, which Dynamo does not trace"
            yield Hit(rule.code, fact.span, Confidence.CERTAIN, message, ("GB4271",))
