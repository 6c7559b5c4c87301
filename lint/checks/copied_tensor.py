"""`copy.deepcopy` of a tensor or module, or `copy.copy` of one or of a container: Dynamo cannot copy those."""

from __future__ import annotations

from collections.abc import Iterator

from fullgraph.rules.model import Rule

from ..emission import Hit
from ..facts import Call, Fact
from ..findings import Confidence
from ..interpret import objects
from ..interpret.frame import Frame
from ..values import ExternalObject, Instance, Mapping, Sequence, Tensor, Tuple_, Value, element_of, known

FACTS = (Call,)
CALLS = ("copy.copy", "copy.deepcopy")


def check(fact: Fact, frame: Frame, rule: Rule) -> Iterator[Hit]:
    if not isinstance(fact, Call) or fact.symbol not in ("copy.copy", "copy.deepcopy") or not fact.arguments.positional:
        return
    value = known(fact.arguments.positional[0])
    deep = fact.symbol == "copy.deepcopy"
    if deep and (_is_tensor(value) or _is_module(frame, value)):
        yield Hit(rule.code, fact.span, Confidence.CERTAIN, gb=("GB4198",), fixable=isinstance(value, Tensor))
    elif not deep and (_is_module(frame, value) or isinstance(value, (Tensor, Tuple_, Sequence, Mapping))):
        yield Hit(
            rule.code,
            fact.span,
            Confidence.CERTAIN,
            gb=("GB0208",) if isinstance(value, Tensor) else ("GB0007",),
            fixable=False,  # the copy shares its memory, a clone does not
        )


def _is_tensor(value: Value) -> bool:
    inner = element_of(value) if isinstance(value, (Tuple_, Sequence)) else value
    return isinstance(known(inner), Tensor)


def _is_module(frame: Frame, value: Value) -> bool:
    match value:
        case ExternalObject(cls=name):
            return frame.analysis.api.is_module_class(name)
        case Instance(symbol=symbol):
            return objects.is_module(frame.analysis, symbol)
    return False
