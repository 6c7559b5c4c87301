"""A call that no overload of a torch function or tensor method takes: too many arguments, too few, unknown ones."""

from __future__ import annotations

from collections.abc import Iterator
from keyword import iskeyword

from fullgraph.rules.model import Rule

from ..emission import Hit
from ..facts import Call, Fact
from ..findings import Confidence
from ..interpret.frame import Frame
from ..torch_api import Arity
from ..values import Arguments, Tensor

FACTS = (Call,)
CALLS = ("torch.",)

NUMPY_NAMES = {"axis": "dim", "keepdims": "keepdim", "x": "input", "a": "input", "x1": "input", "x2": "other"}
"""What torch's argument parser takes for its own names; functions written in Python do not."""


def check(fact: Fact, frame: Frame, rule: Rule) -> Iterator[Hit]:
    if not isinstance(fact, Call) or fact.arguments.open_ended:
        return
    arity = frame.analysis.api.arity(fact.symbol)
    problem = None if arity is None else misfit(fact.symbol, arity, fact.arguments)
    if problem is not None:
        sure = fact.receiver is None or (isinstance(fact.receiver, Tensor) and fact.receiver.sure)
        confidence = Confidence.CERTAIN if sure else Confidence.LIKELY
        yield Hit(rule.code, fact.span, confidence, f"`{fact.symbol}` {problem}")


def misfit(symbol: str, arity: Arity, arguments: Arguments) -> str | None:
    """Why no overload takes these arguments; None where one does."""
    given = len(arguments.positional)
    if arity.most is not None and given > arity.most:
        return f"takes at most {arity.most} positional arguments, {given} are given"
    if arity.keywords is None:
        return None
    aliases = {} if symbol.startswith("torch.nn.functional.") else NUMPY_NAMES
    for name, _ in arguments.keywords:
        if not iskeyword(name) and name not in arity.keywords and aliases.get(name) not in arity.keywords:
            return f"takes no argument `{name}`"
    if given + len(arguments.keywords) < arity.least:
        return f"takes at least {arity.least} arguments, {given + len(arguments.keywords)} are given"
    return None
