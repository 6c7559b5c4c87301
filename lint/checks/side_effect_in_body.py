"""A change of something outside, in a function that an operator (`checkpoint`, `torch.cond`) traces apart."""

from __future__ import annotations

from collections.abc import Iterator

from fullgraph.rules.model import Rule

from ..emission import Hit
from ..facts import Fact, Mutated, Store
from ..findings import Confidence
from ..interpret import objects
from ..interpret.frame import Frame
from ..values import Instance, ModuleRef, Tensor, known

FACTS = (Mutated, Store)

OPERATORS = {
    "graph-break": {"torch.utils.checkpoint.checkpoint"},
    "user-error": {"torch.cond"},
}


def check(fact: Fact, frame: Frame, rule: Rule) -> Iterator[Hit]:
    if frame.settings.body_of not in OPERATORS[rule.effect]:
        return
    match fact:
        case Mutated() | Store(receiver=ModuleRef()):
            yield Hit(rule.code, fact.span, Confidence.CERTAIN)
        case Store(receiver=Instance(symbol=symbol), value=value) if isinstance(known(value), Tensor):
            # objects that the function made itself are its own; modules are not made in one
            if objects.is_module(frame.analysis, symbol):
                yield Hit(rule.code, fact.span, Confidence.CERTAIN)
