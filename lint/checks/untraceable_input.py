"""A value from outside whose kind Dynamo refuses as soon as traced code reads it."""

from __future__ import annotations

from collections.abc import Iterator

from fullgraph.rules.model import Rule

from ..emission import Hit
from ..facts import Fact, Loaded
from ..findings import Confidence
from ..interpret.frame import Frame
from ..values import ExternalObject, Sequence, Tensor

FACTS = (Loaded,)

LAYOUTS = {
    "sparse": ("a sparse tensor", "GB0015"),
    "nested": ("a nested tensor without the jagged layout", "GB0016"),
    "quantized": ("a quantized tensor", "GB0064"),
    "text": ("a numpy array of strings", "GB0185"),
}


def check(fact: Fact, frame: Frame, rule: Rule) -> Iterator[Hit]:
    match fact:
        case Loaded(value=Tensor(layout=layout)) if layout in LAYOUTS:
            what, gb = LAYOUTS[layout]
        case Loaded(value=Sequence(kind="set")):
            what, gb = "a set of tensors", "GB0222"
        case Loaded(value=ExternalObject()):
            what, gb = "the handle of a hook", "GB0013"
        case _:
            return
    message = f"`{{source}}` is {what} from outside, which Dynamo refuses"
    yield Hit(rule.code, fact.span, Confidence.CERTAIN, message, (gb,))
