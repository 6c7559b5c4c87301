"""What goes into, or comes out of, a function that is put into the graph untraced, and can be no part of a graph."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from fullgraph.rules.model import Rule

from ..emission import Hit
from ..facts import Fact, OpaqueCall
from ..findings import Confidence
from ..interpret import objects
from ..interpret.frame import Frame
from ..values import Bound, Const, Function, Host, Instance, Mapping, Tuple_, Value, known

FACTS = (OpaqueCall,)

ALLOW = {"torch.compiler.allow_in_graph"}
NONSTRICT = {"torch._dynamo.nonstrict_trace", "torch.compiler.nonstrict_trace"}
REGISTERS = ("register_pytree", "register_dataclass", "register_constant", "_register_namedtuple")
"""Ways to tell torch how a class is taken apart."""


def check(fact: Fact, frame: Frame, rule: Rule) -> Iterator[Hit]:
    if not isinstance(fact, OpaqueCall):
        return
    arguments = (*fact.arguments.positional, *(value for _, value in fact.arguments.keywords))
    if fact.function.by in ALLOW:
        taken, given = _any(arguments, _unproxied, frame), _no_result(frame, known(fact.result))
        gb_in, gb_out = "GB0055", "GB0208"
    elif fact.function.by in NONSTRICT:
        taken, given = _any(arguments, _no_leaf, frame), _any((fact.result,), _no_leaf_result, frame)
        gb_in, gb_out = "GB0236", "GB0251"
    else:
        return
    if taken:
        message = "`{source}` passes an object that can be no part of the graph to a function that is not traced"
        yield Hit(rule.code, fact.span, Confidence.CERTAIN, message, (gb_in,))
    elif given:
        yield Hit(rule.code, fact.span, Confidence.CERTAIN, gb=(gb_out,))


def _any(values: tuple[Value, ...], refused: Callable[[Frame, Value], bool], frame: Frame) -> bool:
    return any(refused(frame, part) for value in values for part in _leaves(known(value)))


def _leaves(value: Value) -> Iterator[Value]:
    match value:
        case Tuple_(items=items):
            for item in items:
                yield from _leaves(known(item))
        case Mapping(items=pairs):
            for _, item in pairs:
                yield from _leaves(known(item))
    yield value


def _unproxied(frame: Frame, value: Value) -> bool:
    return isinstance(value, (Function, Bound)) or _is_plain_object(frame, value, modules=True)


def _no_leaf(frame: Frame, value: Value) -> bool:
    return value == Const(None) or isinstance(value, (Function, Bound)) or _is_plain_object(frame, value)


def _no_result(frame: Frame, value: Value) -> bool:
    """Numbers may be among what it returns, not all of it."""
    number = isinstance(value, Const) and value.kind in ("int", "bool")
    return number or _is_text(value) or isinstance(value, Mapping) or _is_plain_object(frame, value)


def _no_leaf_result(frame: Frame, value: Value) -> bool:
    return value == Const(None) or _is_text(value) or _is_plain_object(frame, value)


def _is_text(value: Value) -> bool:
    return isinstance(value, (Const, Host)) and value.kind in ("str", "dtype")


def _is_plain_object(frame: Frame, value: Value, modules: bool = False) -> bool:
    """An object of a first-party class that has no base elsewhere and is not registered as a container."""
    if not isinstance(value, Instance) or value.symbol.module is not frame.module:
        return False  # another file may register the class
    if any(word in line for line in frame.module.lines for word in REGISTERS):
        return False
    if objects.is_module(frame.analysis, value.symbol):
        return modules
    return not objects.resolution(frame.analysis, value.symbol)[1]
