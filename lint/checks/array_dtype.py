"""An array converted to a dtype that no tensor has: Python objects, text, Python's `complex`."""

from __future__ import annotations

from collections.abc import Iterator

from fullgraph.rules.model import Rule

from ..emission import Hit
from ..facts import Call, Fact
from ..findings import Confidence
from ..interpret.frame import Frame
from ..values import Const, External, Value, known

FACTS = (Call,)
CALLS = ("numpy.ndarray.astype",)

OBJECTS = (External("builtins.object"), External("numpy.object_"), Const("O"), Const("object"))
TYPES = (External("builtins.str"), External("builtins.bytes"), External("builtins.complex"))


def check(fact: Fact, frame: Frame, rule: Rule) -> Iterator[Hit]:
    if not isinstance(fact, Call):
        return
    dtype: Value | None = fact.arguments.get(0, "dtype")
    if dtype is not None and known(dtype) in (*OBJECTS, *TYPES):
        message = "`{source}` converts to a dtype that no tensor has"
        yield Hit(
            rule.code, fact.span, Confidence.CERTAIN, message, ("GB0250" if known(dtype) in OBJECTS else "GB0055",)
        )
