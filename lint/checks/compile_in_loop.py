"""`torch.compile` of one and the same function at every pass of a loop."""

from __future__ import annotations

from collections.abc import Iterator

from fullgraph.rules.model import Rule

from ..emission import Hit
from ..facts import CompileCall, Fact
from ..findings import Confidence
from ..interpret import expressions
from ..interpret.frame import Frame
from ..ir import Node, Span
from ..symbols import all_statements, bound_names, expressions_of, nodes_of, target_names

FACTS = (CompileCall,)


def check(fact: Fact, frame: Frame, rule: Rule) -> Iterator[Hit]:
    if isinstance(fact, CompileCall) and any(_is_same(call, loop) for call, loop in _loops(frame, fact.span)):
        yield Hit(rule.code, fact.span, Confidence.LIKELY)


def _loops(frame: Frame, span: Span) -> Iterator[tuple[Node, Node]]:
    """The call at that place, with each loop around it."""
    body = frame.function.body if frame.function else frame.module.body
    for statement in all_statements(body):
        if statement[0] in ("for", "while"):
            inside = statement[4] if statement[0] == "for" else statement[3]
            yield from ((node, statement) for node in nodes_of(inside) if node[0] == "call" and node[1] == span)


def _is_same(call: Node, loop: Node) -> bool:
    """Whether what is compiled is named by nothing that the loop sets."""
    inside = loop[4] if loop[0] == "for" else loop[3]
    bound = {name for statement in all_statements(inside) for name in bound_names(statement)}
    bound |= {*target_names(loop[2])} if loop[0] == "for" else set()
    target = call[3][0] if call[3] else None
    if target is None or expressions.path_of(target) is None:
        return False
    return all(node[0] != "name" or node[2] not in bound for node in expressions_of(("expr", target[1], target)))
