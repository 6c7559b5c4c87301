"""Making a `TypedDict` that has keys which may be left out."""

from __future__ import annotations

from collections.abc import Iterator

from fullgraph.rules.model import Rule

from ..emission import Hit
from ..facts import Constructed, Fact
from ..findings import Confidence
from ..interpret import objects, usage
from ..interpret.analysis import Analysis
from ..interpret.frame import Frame
from ..ir import Node
from ..symbols import ClassSymbol

FACTS = (Constructed,)
MODULES = ("typing", "typing_extensions")


def check(fact: Fact, frame: Frame, rule: Rule) -> Iterator[Hit]:
    if not isinstance(fact, Constructed):
        return
    symbols, bases = objects.resolution(frame.analysis, fact.symbol)
    if any(f"{module}.TypedDict" in bases for module in MODULES) and any(
        _has_optional_keys(frame.analysis, symbol) for symbol in symbols
    ):
        yield Hit(rule.code, fact.span, Confidence.CERTAIN)


def _has_optional_keys(analysis: Analysis, symbol: ClassSymbol) -> bool:
    total = all(name != "total" or value[0] != "const" or value[2] for name, value in symbol.node[4])
    said = "NotRequired" if total else "Required"
    marked = [_is_marked(analysis, symbol, annotation, said) for annotation in symbol.annotations.values()]
    return any(marked) if total else not all(marked)


def _is_marked(analysis: Analysis, symbol: ClassSymbol, annotation: Node, said: str) -> bool:
    """Whether the annotation is that of `typing`, with something in brackets."""
    if annotation[0] != "sub":
        return False
    return usage.dotted(analysis, symbol.module, annotation[2]) in [f"{module}.{said}" for module in MODULES]
