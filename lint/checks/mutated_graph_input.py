"""An input that is changed in place under a mode that records CUDA graphs, which cannot take it."""

from __future__ import annotations

import re
from collections.abc import Iterator

from fullgraph.rules.model import Rule

from ..emission import Hit
from ..facts import Call, Fact, Index
from ..findings import Confidence
from ..interpret.frame import Frame
from ..symbols import assigned_names
from ..values import Tensor

FACTS = (Call, Index)

RECORDING = ("reduce-overhead", "max-autotune")
IN_PLACE = re.compile(r"torch\.Tensor\.\w+[a-z0-9]_")
OWNER = re.compile(r"\w+")


def check(fact: Fact, frame: Frame, rule: Rule) -> Iterator[Hit]:
    match fact:
        case Call(symbol=symbol, receiver=Tensor(made_here=False)) if IN_PLACE.fullmatch(symbol):
            changed = frame.settings.mode in RECORDING
        case Index(base=Tensor(made_here=False), access="write" | "update"):
            changed = frame.settings.mode in RECORDING
        case _:
            changed = False
    if changed and _is_input(frame, frame.source(fact.span)):
        yield Hit(rule.code, fact.span, Confidence.LIKELY)


def _is_input(frame: Frame, source: str) -> bool:
    """Whether what is changed is a parameter of the compiled function itself."""
    name = OWNER.match(source)
    if name is None or not frame.is_outermost or frame.function is None:
        return False
    parameters = {parameter for parameter, *_ in frame.function.parameters}
    return name.group() in parameters - {"self"} - set(assigned_names(frame.function.body))
