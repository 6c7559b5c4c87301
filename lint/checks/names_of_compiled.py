"""An object that was made with a module's parameter names gets the compiled module, whose names have a prefix."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from fullgraph.rules.model import Rule

from ..emission import Hit
from ..facts import Fact, HandedOver
from ..findings import Confidence
from ..interpret import calls, objects
from ..interpret.frame import Frame
from ..keeping import known_by_name
from ..values import Compiled, ExternalObject, Function, Instance, Value, known

FACTS = (HandedOver,)


def check(fact: Fact, frame: Frame, rule: Rule) -> Iterator[Hit]:
    if not isinstance(fact, HandedOver):
        return
    constructor = objects.find_method(frame.analysis, fact.receiver.symbol, "__init__")
    if constructor is None or constructor is fact.function or fact.receiver.arguments is None:
        return
    given = fact.receiver.arguments
    given = replace(given, positional=(fact.receiver, *given.positional))
    made_of = calls.bind_arguments(frame.analysis, Function(constructor), given)
    if made_of is None:
        return
    before = [known(made_of[name]) for name in known_by_name(constructor)]
    passed = dict(fact.passed)
    for name in sorted(known_by_name(fact.function)):
        if any(_differ(known(passed[name]), module) for module in before):
            yield Hit(rule.code, fact.span, Confidence.LIKELY)
            return


def _differ(one: Value, other: Value) -> bool:
    """Whether one of the two is the other, compiled."""
    match one, other:
        case Compiled(target=target), Instance() | ExternalObject():
            return known(target) == other
        case Instance() | ExternalObject(), Compiled(target=target):
            return known(target) == one
    return False
