"""A message of `torch._check` and its like that Dynamo cannot keep: anything but a function made on the spot that
closes over constants."""

from __future__ import annotations

from collections.abc import Iterator

from fullgraph.rules.model import Rule

from ..emission import Hit
from ..facts import Call, Fact
from ..findings import Confidence
from ..interpret.frame import Frame
from ..symbols import FunctionSymbol, all_statements, expressions_of
from ..values import Const, Function, Host, Instance, Tensor, known

FACTS = (Call,)
POSITIONS = {
    "torch._check": 1,
    "torch._check_index": 1,
    "torch._check_not_implemented": 1,
    "torch._check_type": 1,
    "torch._check_value": 1,
    "torch._check_with": 2,
}
CALLS = tuple(POSITIONS)


def check(fact: Fact, frame: Frame, rule: Rule) -> Iterator[Hit]:
    if not isinstance(fact, Call) or fact.symbol not in POSITIONS:
        return
    match known(fact.arguments.get(POSITIONS[fact.symbol], "message") or Const(None)):
        case Function(symbol=symbol, scope=Frame()):
            if any(isinstance(frame.lookup(name), (Tensor, Instance)) for name in _names(symbol)):
                yield Hit(rule.code, fact.span, Confidence.CERTAIN, gb=("GB9158",))
        case Function() | Const(kind="str") | Host(kind="str"):
            message = "the message of `{source}` has to be a function that is made on the spot"
            yield Hit(rule.code, fact.span, Confidence.CERTAIN, message, gb=("GB9840",))


def _names(symbol: FunctionSymbol) -> set[str]:
    """The variables that the function reads."""
    nodes = (node for statement in all_statements(symbol.body) for node in expressions_of(statement))
    return {node[2] for node in nodes if node[0] == "name"}
