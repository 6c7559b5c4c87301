"""A tensor from outside turned into another view in place, or new `data` for one made in traced code."""

from __future__ import annotations

from collections.abc import Iterator

from fullgraph.rules.model import Rule

from ..facts import Call, Fact, Store
from ..findings import Confidence
from ..interpret.frame import Frame, Hit
from ..values import Tensor

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


def check(fact: Fact, frame: Frame, rule: Rule) -> Iterator[Hit]:
    match fact:
        case Call(symbol=symbol, receiver=Tensor(made_here=False, sure=sure)) if symbol in ON_INPUTS:
            yield Hit(rule.code, fact.span, Confidence.CERTAIN if sure else Confidence.LIKELY, gb=("GB0148",))
        case Store(symbol="torch.Tensor.data", receiver=Tensor(made_here=True, sure=sure)):
            yield Hit(rule.code, fact.span, Confidence.CERTAIN if sure else Confidence.LIKELY, gb=("GB0056",))
