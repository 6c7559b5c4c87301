"""The id of an object made in traced code, compared with anything but another id; a tensor's address, with anything."""

from __future__ import annotations

from collections.abc import Iterator

from fullgraph.rules.model import Rule

from ..emission import Hit
from ..facts import Compared, Fact
from ..findings import Confidence
from ..interpret.frame import Frame
from ..values import IDENTITY, POINTER, Host, Value, known

FACTS = (Compared,)


def check(fact: Fact, frame: Frame, rule: Rule) -> Iterator[Hit]:
    if not isinstance(fact, Compared):
        return
    ids, pointers = _sides(fact, IDENTITY), _sides(fact, POINTER)
    if ids == 1 or (ids == 2 and fact.operator not in ("==", "!=")):
        yield Hit(rule.code, fact.span, Confidence.CERTAIN, gb=("GB9316",))
    elif pointers and not _is_same(frame.source(fact.span)):
        message = "`{source}` compares an address that only the running program has"
        yield Hit(rule.code, fact.span, Confidence.CERTAIN, message, ("GB5976", "GB0088"))


def _sides(fact: Compared, origin: str) -> int:
    sides: list[Value] = [known(side) for side in (fact.left, fact.right)]
    return sum(isinstance(side, Host) and side.origin == origin for side in sides)


def _is_same(comparison: str) -> bool:
    """`x.data_ptr() == x.data_ptr()` is decided while tracing."""
    left, _, right = comparison.partition("==")
    return left.strip() == right.strip()
