"""A question about the process in traced code: the answer is baked in without a guard.

A warning where the program changes the answer after compiled code has run, else a note.
"""

from __future__ import annotations

from collections.abc import Iterator

from fullgraph.rules.model import Rule

from ..emission import Hit
from ..facts import Call, Change, Fact, Late
from ..findings import Confidence
from ..interpret.frame import Frame
from ..vocabulary import ANSWERS

FACTS = (Call, Late)
CALLS = tuple(ANSWERS)


def check(fact: Fact, frame: Frame, rule: Rule) -> Iterator[Hit]:
    match fact:
        case Call():
            yield Hit(rule.code, fact.span, Confidence.CERTAIN, note="nothing is seen to change the answer")
        case Late(change=Change.ANSWER):
            yield Hit(rule.code, fact.span, Confidence.LIKELY)
