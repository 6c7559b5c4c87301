"""A call of an operator of the file's own that has no fake implementation: tracing can't tell what it returns."""

from __future__ import annotations

from collections.abc import Iterator

from fullgraph.rules.model import Rule

from ..emission import Hit
from ..facts import Call, Fact, OpaqueCall
from ..findings import Confidence
from ..interpret.frame import Frame
from ..symbols import FunctionSymbol
from ..values import Function, Opaque

FACTS = (Call, OpaqueCall)
CALLS = ("torch.ops.",)

CUSTOM = "torch.library.custom_op"
FAKES = (
    "register_fake",
    "impl_abstract",
    "Meta",
    "CompositeImplicit",
    "CompositeExplicit",
    "set_module",
    "load_library",
)
"""Words of a file that may give an operator its fake implementation."""


def check(fact: Fact, frame: Frame, rule: Rule) -> Iterator[Hit]:
    match fact:
        case OpaqueCall(function=Opaque(target=Function(symbol=symbol))) if rule.effect == "user-error":
            found = symbol.module is frame.module and _is_custom_op(fact, symbol)
        case Call(symbol=name) if rule.effect == "graph-break":
            found = name.count(".") >= 3 and _is_defined(frame, *name.split(".")[2:4])
        case _:
            return
    # What another file defines may get its fake in a third one.
    if found and not any(word in line for line in frame.module.lines for word in FAKES):
        yield Hit(rule.code, fact.span, Confidence.CERTAIN)


def _is_custom_op(fact: OpaqueCall, symbol: FunctionSymbol) -> bool:
    """An operator that returns nothing needs no fake: it is known that it gives None."""
    returns = symbol.returns
    return fact.function.by == CUSTOM and returns is not None and returns[0:3:2] != ("const", None)


def _is_defined(frame: Frame, namespace: str, name: str) -> bool:
    """Whether the file defines the operator by its schema."""
    starts = (f'define("{name}(', f"define('{name}(", f'define("{namespace}::{name}', f"define('{namespace}::{name}")
    return any(start in line for line in frame.module.lines for start in starts)
