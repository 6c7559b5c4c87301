"""Python's special methods: what an operator, `len`, `str` or a loop runs on an object that is no tensor."""

from __future__ import annotations

from ..facts import Call
from ..ir import Span
from ..values import (
    UNKNOWN,
    Arguments,
    Const,
    External,
    ExternalObject,
    Host,
    Instance,
    Mapping,
    Sequence,
    Tuple_,
    Value,
    element_of,
    known,
)
from . import modules, objects
from .frame import Frame

ITERATOR = "builtins.iterator"
"""An iterator that was made outside of the traced code, whatever it goes over."""
ONE_SHOT = {"iterator", "generator"}
COMPARISONS = {"==": "__eq__", "!=": "__ne__", "<": "__lt__", "<=": "__le__", ">": "__gt__", ">=": "__ge__"}


def special(frame: Frame, span: Span, receiver: Value, name: str, *arguments: Value) -> Value | None:
    """Run the special method of a first-party object, or report that of an external one.

    None where the class has no such method or nothing is known of its result.
    """
    match receiver:
        case Instance(symbol=symbol) if objects.find_method(frame.analysis, symbol, name) is not None:
            return objects.call_method(frame, span, receiver, name, Arguments(arguments))
        case ExternalObject(cls=owner) | External(name=owner):
            frame.observe(Call(span, f"{owner}.{name}", Arguments(arguments), receiver))
    return None


def operate(frame: Frame, span: Span, operator: str, left: Value, right: Value) -> Value | None:
    """`left operator right` where either side is an object that answers for itself."""
    result = special(frame, span, left, f"__{operator}__", right)
    if result is None and isinstance(right, Instance):
        result = special(frame, span, right, f"__r{operator}__", left)
    return result


def truth(frame: Frame, span: Span, receiver: Instance) -> bool | None:
    """`bool(receiver)` where it is decided."""
    for name in ("__bool__", "__len__"):
        if (value := special(frame, span, receiver, name)) is not None:
            return bool(value.value) if isinstance(value, Const) else None
    return None if objects.resolution(frame.analysis, receiver.symbol)[1] else True


def iterate(frame: Frame, span: Span, value: Value) -> Value:
    """One element of `value`, running a first-party `__iter__` or `__getitem__` where there is one."""
    match value:
        case Instance():
            if (iterator := special(frame, span, value, "__iter__")) is not None:
                return advance(frame, span, iterator) if iterator == value else iterate(frame, span, known(iterator))
            if (item := special(frame, span, value, "__getitem__", Host("int"))) is not None:
                return item
            return element_of(modules.as_external(frame, value) or UNKNOWN)
        case ExternalObject():
            special(frame, span, value, "__iter__")
            return element_of(value.arguments[0]) if value.cls == ITERATOR else element_of(value)
    return element_of(value)


def advance(frame: Frame, span: Span, value: Value) -> Value:
    """`next(value)`."""
    match value:
        case Instance():
            return special(frame, span, value, "__next__") or UNKNOWN
        case ExternalObject():
            special(frame, span, value, "__next__")
            return element_of(value.arguments[0]) if value.cls == ITERATOR else UNKNOWN
    return iterate(frame, span, value)


def handed_in(value: Value) -> Value:
    """An iterator as traced code sees it that did not make it."""
    match value:
        case Sequence(kind=kind) if kind in ONE_SHOT:
            return ExternalObject(ITERATOR, (value,))
    return value


def iterator_over(value: Value) -> Value:
    """`iter(value)` outside of traced code; one over a tuple is as good as the tuple."""
    match value:
        case Tuple_(mutable=True) | Sequence(kind="list") | Mapping():
            return Sequence(element_of(value), "iterator")
    return value
