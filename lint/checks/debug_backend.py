"""`torch.compile` with a backend that only serves to look for errors."""

from __future__ import annotations

from collections.abc import Iterator

from fullgraph.rules.model import Rule

from ..emission import Hit
from ..facts import CompileCall, Fact
from ..findings import Confidence
from ..interpret.frame import Frame
from ..values import Const

DEBUGGING = ("eager", "aot_eager", "aot_eager_decomp_partition")

FACTS = (CompileCall,)


def check(fact: Fact, frame: Frame, rule: Rule) -> Iterator[Hit]:
    if not isinstance(fact, CompileCall):
        return
    backend = dict(fact.compiled.options).get("backend")
    if isinstance(backend, Const) and backend.value in DEBUGGING:
        yield Hit(rule.code, fact.span, Confidence.POSSIBLE)
