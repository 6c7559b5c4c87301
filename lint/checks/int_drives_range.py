"""A Python int that calls pass with different values and that drives a `range()`: the loop is unrolled for each
value."""

from __future__ import annotations

from collections.abc import Iterator

from fullgraph.rules.model import Rule

from ..emission import Hit
from ..facts import Call, Fact
from ..findings import Confidence
from ..interpret.frame import Frame
from ..values import Host, known

FACTS = (Call,)
CALLS = ("builtins.range",)


def check(fact: Fact, frame: Frame, rule: Rule) -> Iterator[Hit]:
    if not isinstance(fact, Call) or fact.symbol != "builtins.range":
        return
    bounds = [known(value) for value in fact.arguments.positional]
    varying = [bound.origin for bound in bounds if isinstance(bound, Host) and bound.origin.startswith("argument ")]
    if varying and frame.settings.varies(varying[0].removeprefix("argument ")):
        yield Hit(rule.code, fact.span, Confidence.LIKELY)
