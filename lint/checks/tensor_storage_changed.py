"""A tensor from outside turned into another view in place, or `data` that Dynamo cannot put under a tensor."""

from __future__ import annotations

from collections.abc import Iterator

from fullgraph.rules.model import Rule

from ..emission import Hit
from ..facts import Call, Fact, Store
from ..findings import Confidence
from ..interpret.frame import Frame
from ..values import Tensor, Value, known

FACTS = (Call, Store)

ON_INPUTS = frozenset(
    f"torch.Tensor.{name}"
    for name in (
        "set_",
        "detach_",
        "t_",
        "transpose_",
        "swapaxes_",
        "swapdims_",
        "squeeze_",
        "unsqueeze_",
        "as_strided_",
    )
)
PARTS = {"torch.Tensor.real", "torch.Tensor.imag"}
CALLS = tuple(ON_INPUTS)


def check(fact: Fact, frame: Frame, rule: Rule) -> Iterator[Hit]:
    match fact:
        case Call(symbol=symbol, receiver=Tensor(made_here=False, sure=sure)) if symbol in ON_INPUTS:
            yield Hit(rule.code, fact.span, _confidence(sure), gb=("GB0148",))
        case Call(symbol=symbol, receiver=None) if symbol in ON_INPUTS and fact.arguments.positional:
            match known(fact.arguments.positional[0]):
                case Tensor(made_here=False, sure=sure):
                    yield Hit(rule.code, fact.span, _confidence(sure), gb=("GB0072",))
        case Store(symbol="torch.Tensor.data", receiver=Tensor(made_here=True, sure=sure)):
            yield Hit(rule.code, fact.span, _confidence(sure), gb=("GB0056",))
        case Store(symbol=symbol, receiver=Tensor(sure=sure)) if symbol in PARTS:
            yield Hit(rule.code, fact.span, _confidence(sure), gb=("GB0058",))
        case Store(symbol="torch.Tensor.data", receiver=Tensor() as receiver) if _differ(receiver, known(fact.value)):
            yield Hit(rule.code, fact.span, Confidence.LIKELY, gb=("GB0220",))


def _confidence(sure: bool) -> Confidence:
    return Confidence.CERTAIN if sure else Confidence.LIKELY


def _differ(receiver: Tensor, value: Value) -> bool:
    if not isinstance(value, Tensor):
        return False
    pairs = ((receiver.dtype, value.dtype), (receiver.precision, value.precision))
    return any(None not in pair and pair[0] != pair[1] for pair in pairs)
