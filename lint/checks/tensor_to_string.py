"""A tensor turned into text that the program then uses."""

from __future__ import annotations

from collections.abc import Iterator

from fullgraph.rules.model import Rule

from ..emission import Hit
from ..facts import Fact, Format
from ..findings import Confidence
from ..interpret.frame import Frame
from ..values import Tensor, known

FACTS = (Format,)

IDS = {"str": ("GB0059",), "repr": ("GB0569",), "percent": ("GB0208",), "fstring": ("GB0088",)}
"""`"{}".format(t)` and an f-string are put off until the text is used; only then do they break."""


def check(fact: Fact, frame: Frame, rule: Rule) -> Iterator[Hit]:
    if not isinstance(fact, Format) or fact.how not in IDS:
        return
    value = known(fact.value)
    if isinstance(value, Tensor):
        yield Hit(rule.code, fact.span, Confidence.CERTAIN if value.sure else Confidence.LIKELY, gb=IDS[fact.how])
