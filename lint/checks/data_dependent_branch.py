"""Python needs a tensor's truth: `if`, `while`, ternary, `and`, `not`, comprehension conditions, `in`, `any`, `all`,
`match`.
"""

from __future__ import annotations

from collections.abc import Iterator

from fullgraph.rules.model import Rule

from ..emission import Hit
from ..facts import Branch, Fact
from ..findings import Confidence
from ..interpret.frame import Frame
from ..values import Scalar, Tensor, known

FACTS = (Branch,)

WORDS = {
    "if": "`if`",
    "while": "`while`",
    "ifexp": "a conditional expression",
    "match": "`match`",
    "comprehension": "a comprehension's condition",
    "and": "`and`",
    "or": "`or`",
    "not": "`not`",
    "in": "`in`",
    "any": "`any()`",
    "all": "`all()`",
    "filter": "`filter()`",
    "list": "comparing lists",
    "dict": "comparing dicts",
}


def check(fact: Fact, frame: Frame, rule: Rule) -> Iterator[Hit]:
    if not isinstance(fact, Branch) or fact.construct not in WORDS:
        return
    value = known(fact.value)
    if isinstance(value, (Tensor, Scalar)) and value.random:
        return
    sure = not isinstance(value, Tensor) or value.sure
    message = f"{WORDS[fact.construct]} needs the value of the tensor `{{source}}`"
    gb = _ids(fact, rule)
    yield Hit(rule.code, fact.span, Confidence.CERTAIN if sure else Confidence.LIKELY, message, gb)


def _ids(fact: Branch, rule: Rule) -> tuple[str, ...]:
    """`not t` and `x in t` are operators that read the value, the others are jumps."""
    match fact.construct:
        case "not":
            return ("GB0033",)
        case "in" if isinstance(known(fact.value), Tensor):
            return ("GB0170", "GB0124")
        case "list":
            return ("GB6622",)
    return rule.gb
