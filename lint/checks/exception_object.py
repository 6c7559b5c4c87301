"""Exceptions that Dynamo cannot build, in traced code that goes on after them: only inside a `try` does that happen."""

from __future__ import annotations

import builtins
from collections.abc import Iterator

from fullgraph.rules.model import Rule

from ..emission import Hit
from ..facts import Call, Fact, Store
from ..findings import Confidence
from ..interpret.frame import Frame
from ..values import ExternalObject

FACTS = (Call, Store)
CALLS = ("builtins.",)


def check(fact: Fact, frame: Frame, rule: Rule) -> Iterator[Hit]:
    problem = _problem(fact)
    normal = isinstance(fact, Store) and not frame.conditions
    if problem and isinstance(fact, (Call, Store)) and (normal or _caught(frame)):
        yield Hit(rule.code, fact.span, Confidence.LIKELY, gb=(problem,))


def _problem(fact: Fact) -> str:
    """The break's id, empty where there is none."""
    match fact:
        case Store(receiver=ExternalObject(cls=name), name=attribute) if _is_exception(name):
            return "" if attribute.startswith("__") else "GB0135"
        case Call(symbol=symbol) if symbol.endswith(".__init__") and _is_exception(symbol.removesuffix(".__init__")):
            return "GB0006"
        case Call(symbol=symbol, arguments=arguments) if arguments.keywords and _is_exception(symbol):
            return "GB0273"
    return ""


def _is_exception(name: str) -> bool:
    kind = getattr(builtins, name.removeprefix("builtins."), None) if name.startswith("builtins.") else None
    return isinstance(kind, type) and issubclass(kind, BaseException)


def _caught(frame: Frame | None) -> bool:
    while frame is not None:
        if frame.attempts:
            return True
        frame = frame.caller
    return False
