"""An environment variable read in traced code: its value is baked in without a guard.

A warning where the project sets the variable itself, so that the baked value can be stale; else a note.
"""

from __future__ import annotations

from collections.abc import Iterator

from fullgraph.rules.model import Rule

from ..emission import Hit
from ..environment import ANY
from ..facts import Call, Fact
from ..findings import Confidence
from ..interpret.frame import Frame
from ..values import Const, Host, Value

FACTS = (Call,)

READS = {"os.getenv", "os.environ.get", "os.environ.__contains__"}
CALLS = tuple(READS)


def check(fact: Fact, frame: Frame, rule: Rule) -> Iterator[Hit]:
    if not isinstance(fact, Call) or fact.symbol not in READS:
        return
    names = frame.analysis.environment
    written = ANY in names or _name(fact.arguments.positional[:1]) in names
    note = "" if written else "nothing in the project sets it while the program runs"
    yield Hit(rule.code, fact.span, Confidence.CERTAIN if written else Confidence.LIKELY, note=note)


def _name(arguments: tuple[Value, ...]) -> str:
    match arguments:
        case (Const(value=str() as name),):
            return name
        case (Host(),):
            return ANY
    return ""
