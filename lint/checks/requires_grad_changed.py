"""`requires_grad` set on a tensor: by assignment never traced, by `requires_grad_()` not on one from outside, nor on
one that leaves the graph with its gradient."""

from __future__ import annotations

from collections.abc import Iterator

from fullgraph.rules.model import Rule

from ..emission import Hit
from ..facts import Call, Fact, Store
from ..findings import Confidence
from ..interpret.frame import Frame
from ..symbols import all_statements, expressions_of
from ..values import Const, Tensor

FACTS = (Call, Store)
CALLS = ("torch.Tensor.requires_grad_",)


def check(fact: Fact, frame: Frame, rule: Rule) -> Iterator[Hit]:
    match fact:
        case Store(symbol="torch.Tensor.requires_grad", receiver=Tensor(sure=sure)):
            yield Hit(rule.code, fact.span, Confidence.CERTAIN if sure else Confidence.LIKELY, gb=("GB0206",))
        case Call(symbol="torch.Tensor.requires_grad_", receiver=Tensor(made_here=made_here)):
            # a tensor that requires grad already is left alone, so False changes nothing for most
            if fact.arguments.get(0, "requires_grad") in (None, Const(True)) and not (made_here and _detaches(frame)):
                yield Hit(rule.code, fact.span, Confidence.LIKELY, gb=("GB8985" if made_here else "GB0125",))


def _detaches(frame: Frame) -> bool:
    """Whether the compiled function returns nothing but detached tensors, or nothing."""
    while frame.caller is not None and frame.caller.function is not None:
        frame = frame.caller
    statements = () if frame.function is None else all_statements(frame.function.body)
    returns = [node for node in statements if node[0] == "return" and node[2] is not None]
    return all(any(part[0] == "attr" and part[3] == "detach" for part in expressions_of(node)) for node in returns)
