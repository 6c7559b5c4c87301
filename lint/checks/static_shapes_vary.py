"""`dynamic=False` on code that is called with tensors of many sizes: each size compiles again, up to the limit."""

from __future__ import annotations

from collections.abc import Iterator

from fullgraph.rules.model import Rule

from ..emission import Hit
from ..facts import CallsSeen, Fact
from ..findings import Confidence
from ..interpret.frame import Frame
from ..values import Const, Tensor, Value

FACTS = (CallsSeen,)

MANY = 3
"""Two sizes cost one recompile, which every program with a smaller last batch has."""


def check(fact: Fact, frame: Frame, rule: Rule) -> Iterator[Hit]:
    if not isinstance(fact, CallsSeen) or dict(fact.compiled.options).get("dynamic") != Const(False):
        return
    if any(_sizes(values) >= MANY for _, values in fact.values):
        yield Hit(rule.code, fact.span, Confidence.CERTAIN)


def _sizes(values: tuple[Value, ...]) -> int:
    return len({value.sizes for value in values if isinstance(value, Tensor) and value.sizes is not None})
