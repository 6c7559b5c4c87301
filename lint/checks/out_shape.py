"""`out=` of another shape than the result: eager code resizes it, Dynamo does not."""

from __future__ import annotations

from collections.abc import Iterator

from fullgraph.rules.model import Rule

from ..emission import Hit
from ..facts import Call, Fact
from ..findings import Confidence
from ..interpret.frame import Frame
from ..interpret.results import sizes_of
from ..values import Tensor, Tuple_, Value, known

FACTS = (Call,)
CALLS = ("torch.",)


def check(fact: Fact, frame: Frame, rule: Rule) -> Iterator[Hit]:
    if not isinstance(fact, Call) or (out := fact.arguments.keyword("out")) is None:
        return
    expected = sizes_of(fact.symbol, fact.arguments)
    if expected is None or None in expected or not _same_shape(fact):
        return
    parts, gb = (out.items, "GB0240") if isinstance(out, Tuple_) else ((out,), "GB0247")
    if any(_differs(part, expected) for part in parts):
        yield Hit(rule.code, fact.span, Confidence.LIKELY, gb=(gb,))


def _same_shape(fact: Call) -> bool:
    """Whether no argument makes another one broadcast."""
    sizes = {value.sizes for value in map(known, fact.arguments.positional) if isinstance(value, Tensor)}
    return len(sizes) == 1


def _differs(part: Value, expected: tuple[int | None, ...]) -> bool:
    return isinstance(part, Tensor) and part.sizes is not None and None not in part.sizes and part.sizes != expected
