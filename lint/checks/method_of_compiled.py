"""A method other than `forward`, called on a compiled module: it runs as if nothing had been compiled."""

from __future__ import annotations

from collections.abc import Iterator

from fullgraph.rules.model import Rule

from ..emission import Hit
from ..facts import Fact, MethodOfCompiled
from ..findings import Confidence
from ..interpret import modules, objects
from ..interpret.frame import Frame
from ..symbols import FunctionSymbol, nodes_of
from ..values import Instance, known

FACTS = (MethodOfCompiled,)

FORWARD = ("forward", "__call__")


def check(fact: Fact, frame: Frame, rule: Rule) -> Iterator[Hit]:
    if not isinstance(fact, MethodOfCompiled) or fact.function.name in FORWARD or not fact.function.parameters:
        return
    if _computes(frame, fact.receiver, fact.function):
        yield Hit(rule.code, fact.span, Confidence.LIKELY)


def _computes(frame: Frame, receiver: Instance, function: FunctionSymbol) -> bool:
    """Whether the method calls its object, or a module in one of its attributes."""
    own = function.parameters[0][0]
    for node in nodes_of(function.body):
        match node:
            case ("call", _, ("name", _, name), *_) if name == own:
                return True
            case ("call", _, ("attr", _, ("name", _, name), attribute), *_) if name == own:
                held = objects.built(frame, receiver, attribute)
                if attribute == "forward" or (held is not None and modules.is_module(frame, known(held))):
                    return True
    return False
