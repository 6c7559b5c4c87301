"""A context manager that Dynamo cannot enter, by `with` or through an `ExitStack`."""

from __future__ import annotations

from collections.abc import Iterator

from fullgraph.rules.model import Rule

from ..emission import Hit
from ..facts import Call, Enter, Fact, OpaqueCall
from ..findings import Confidence
from ..interpret.frame import Frame
from ..values import External, ExternalObject, Opaque, known
from . import context_entered

FACTS = (Enter, Call, OpaqueCall)
CALLS = ("contextlib.ExitStack.enter_context",)


def check(fact: Fact, frame: Frame, rule: Rule) -> Iterator[Hit]:
    match fact:
        case OpaqueCall(function=Opaque(by="contextlib.contextmanager")):
            message = "`{source}` makes a context manager of a function that is no generator"
            yield Hit(rule.code, fact.span, Confidence.CERTAIN, message, ("GB0221",))
        case Enter():
            yield from context_entered.check(fact, frame, rule)
        case Call(symbol="contextlib.ExitStack.enter_context") if fact.arguments.positional:
            # a library's manager is entered through its type, which Dynamo does not follow; one written here is
            if isinstance(known(fact.arguments.positional[0]), (External, ExternalObject)):
                yield Hit(rule.code, fact.span, Confidence.LIKELY, gb=("GB0066", "GB0007"))
