"""An object is made that keeps and calls a module, and only then the module is replaced by a compiled one."""

from __future__ import annotations

from collections.abc import Iterator

from fullgraph.rules.model import Rule

from ..emission import Hit
from ..facts import CompileCall, Fact
from ..findings import Confidence
from ..interpret import expressions, objects
from ..interpret.frame import Frame
from ..ir import POSITIONAL, Block, Node, Span
from ..keeping import keeps_and_calls
from ..symbols import FunctionSymbol, all_statements, expressions_of, nodes_of
from ..values import Class, known

FACTS = (CompileCall,)


def check(fact: Fact, frame: Frame, rule: Rule) -> Iterator[Hit]:
    if not isinstance(fact, CompileCall):
        return
    body = frame.function.body if frame.function else frame.module.body
    replaced = _replaced(body, fact.span)
    if replaced is None:
        return
    compiled, since = fact.span[:2], _last_set(body, replaced, fact.span)
    calls = [node for node in nodes_of(body) if node[0] == "call"]
    later = [*(node for node in calls if node[1][:2] > fact.span[2:]), *_elsewhere(frame)]
    used = any(expressions.path_of(node[2]) == replaced or _places(node, replaced) for node in later)
    for node in calls:
        if since <= node[1][:2] < compiled and any(_keeps(frame, node[2], place) for place in _places(node, replaced)):
            yield Hit(rule.code, node[1], Confidence.POSSIBLE if used else Confidence.LIKELY)


def _replaced(body: Block, compiled: Span) -> str | None:
    """What the result of the compile call, or a list of such results, is assigned to."""
    for statement in all_statements(body):
        if statement[0] == "assign" and any(node[1] == compiled for node in expressions_of(statement)):
            target = statement[2][0]
            return expressions.path_of(target[2] if target[0] == "sub" else target)
    return None


def _last_set(body: Block, path: str, compiled: Span) -> tuple[int, int]:
    """Line and column from which on the path names the module that is compiled."""
    before = [node for node in all_statements(body) if node[0] == "assign" and node[1][2:] < compiled[:2]]
    return max((node[1][2:] for node in before if path in map(expressions.path_of, node[2])), default=(0, 0))


def _places(call: Node, path: str) -> list[int | str]:
    """The positions and names under which the call is passed what the path names."""
    given: list[tuple[int | str, Node]] = [*enumerate(call[3]), *((name, value) for name, value in call[4] if name)]
    return [place for place, value in given if expressions.path_of(value) == path]


def _keeps(frame: Frame, callee: Node, place: int | str) -> bool:
    """Whether a class is called that keeps this argument and calls it."""
    value = known(expressions.peek(frame, callee))
    if not isinstance(value, Class):
        return False
    constructor = objects.find_method(frame.analysis, value.symbol, "__init__")
    parameter = None if constructor is None else _parameter(constructor, place)
    classes = objects.resolution(frame.analysis, value.symbol)[0]
    return constructor is not None and parameter is not None and keeps_and_calls(classes, constructor, parameter)


def _parameter(constructor: FunctionSymbol, place: int | str) -> str | None:
    names = [name for name, kind, *_ in constructor.parameters if kind == POSITIONAL][1:]
    if isinstance(place, int):
        return names[place] if place < len(names) else None
    return place


def _elsewhere(frame: Frame) -> Iterator[Node]:
    """The calls in the file's functions, which a name at the top of the file is known in."""
    symbols = frame.module.symbols() if frame.function is None else ()
    return (node for symbol in symbols for node in nodes_of(symbol.body) if node[0] == "call")
