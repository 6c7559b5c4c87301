"""`out=` of another shape than the result, which eager code resizes, or with gaps in memory: Dynamo takes neither."""

from __future__ import annotations

from collections.abc import Iterator

from fullgraph.rules.model import Rule

from ..emission import Hit
from ..facts import Call, Fact
from ..findings import Confidence
from ..interpret.frame import Frame
from ..interpret.shapes import of_arguments
from ..values import Tensor, Tuple_, Value, known

FACTS = (Call,)
CALLS = ("torch.",)

SCATTERED = {"transposed", "strided", "channels_last", "channels_last_3d"}


def check(fact: Fact, frame: Frame, rule: Rule) -> Iterator[Hit]:
    if not isinstance(fact, Call) or (out := fact.arguments.keyword("out")) is None:
        return
    several = isinstance(out, Tuple_)
    parts = out.items if isinstance(out, Tuple_) else (out,)
    if any(isinstance(part, Tensor) and part.order in SCATTERED for part in parts):
        message = "`{source}` is given an `out=` that is not contiguous in memory"
        yield Hit(rule.code, fact.span, Confidence.CERTAIN, message, ("GB0241" if several else "GB0242",))
        return
    expected = of_arguments(fact.symbol, fact.arguments)
    if expected is None or None in expected or not _same_shape(fact):
        return
    if any(_differs(part, expected) for part in parts):
        yield Hit(rule.code, fact.span, Confidence.LIKELY, gb=("GB0240" if several else "GB0247",))


def _same_shape(fact: Call) -> bool:
    """Whether no argument makes another one broadcast."""
    sizes = {value.sizes for value in map(known, fact.arguments.positional) if isinstance(value, Tensor)}
    return len(sizes) == 1


def _differs(part: Value, expected: tuple[int | None, ...]) -> bool:
    return isinstance(part, Tensor) and part.sizes is not None and None not in part.sizes and part.sizes != expected
