"""Python's builtin functions on abstract values."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from msgspec.structs import replace

from ..facts import Branch, Call, Format
from ..guards import Kind
from ..ir import Span
from ..values import (
    IDENTITY,
    NONE,
    SIZE,
    UNKNOWN,
    Arguments,
    Const,
    ExternalObject,
    Host,
    Instance,
    Mapping,
    Scalar,
    Sequence,
    SizeInt,
    Tensor,
    Tuple_,
    Value,
    element_of,
    join,
    join_all,
    known,
)
from . import calls, conditions, objects, protocols
from .frame import Frame

NO_ARGUMENTS = Arguments()
MAX_RANGE = 64
"""A `range` of constants up to this long is kept value by value."""


def call_builtin(frame: Frame, span: Span, name: str, arguments: Arguments) -> Value:
    handler = _BUILTINS.get(name)
    if handler is not None:
        return handler(frame, span, arguments)
    return ExternalObject(f"builtins.{name}", arguments.positional) if name[:1].isupper() else UNKNOWN


def _first(arguments: Arguments) -> Value:
    return known(arguments.positional[0]) if arguments.positional else UNKNOWN


def _number(kind: str) -> Callable[[Frame, Span, Arguments], Value]:
    """`int`, `float`, `bool` of a value: a host read when the value is a tensor."""

    def convert(frame: Frame, span: Span, arguments: Arguments) -> Value:
        value = _first(arguments)
        match value:
            case Tensor():
                return read(frame, span, value, f"__{kind}__", kind)
            case Const(value=held) if isinstance(held, (int, float)):
                return (
                    Const({"int": int, "float": float, "bool": bool}[kind](held))
                    if held == held and abs(held) < 1e12
                    else Host(kind)
                )
            case SizeInt():
                return value if kind == "int" else Host(kind)
            case Scalar():
                return Scalar(kind, value.random)
            case Host():
                return Host(kind, value.origin)
        return Const({"int": 0, "float": 0.0, "bool": False}[kind]) if not arguments.positional else Host(kind)

    return convert


def read(frame: Frame, span: Span, value: Tensor, method: str, kind: str, arguments: Arguments = NO_ARGUMENTS) -> Value:
    """A tensor's value read on the host: a break, or a scalar in the graph where scalars are captured."""
    frame.observe(Call(span, f"{'numpy.ndarray' if value.array else 'torch.Tensor'}.{method}", arguments, value))
    if frame.traced and frame.settings.capture_scalars:
        return Scalar(kind, value.random)
    return Host(kind)


def _len(frame: Frame, span: Span, arguments: Arguments) -> Value:
    value = _first(arguments)
    match value:
        case Tuple_(items=items):
            return Const(len(items))
        case Mapping(items=items, rest=None):
            return Const(len(items))
        case Tensor(sizes=(int() as size, *_)) if frame.following:
            return Const(size)
        case Tensor():
            return SizeInt(value.unbacked)
        case Const(value=str() as text):
            return Const(len(text))
        case Host(kind="str", origin="tensor text"):
            frame.observe(Format(span, Tensor(), "fstring"))
        case Instance() | ExternalObject():
            return protocols.special(frame, span, value, "__len__") or Host("int", "length")
    return Host("int", "length")


def _isinstance(frame: Frame, span: Span, arguments: Arguments) -> Value:
    if len(arguments.positional) != 2:
        return Host("bool")
    outcome = conditions.isinstance_of(arguments.positional[0], arguments.positional[1])
    return Host("bool") if outcome is None else Const(outcome)


def _range(frame: Frame, span: Span, arguments: Arguments) -> Value:
    bounds = [known(value) for value in arguments.positional]
    numbers = [value.value for value in bounds if isinstance(value, Const) and isinstance(value.value, int)]
    if 0 < len(numbers) == len(bounds) <= 3 and (len(numbers) < 3 or numbers[2]):
        values = range(*numbers)
        frame.guard(Kind.RANGE, span, tuple(numbers))
        if len(values) <= MAX_RANGE:
            return Tuple_(tuple(Const(value) for value in values))
    if any(isinstance(value, (SizeInt, Scalar)) for value in bounds):
        return Sequence(SIZE, "range")
    return Sequence(Host("int"), "range")


def _enumerate(frame: Frame, span: Span, arguments: Arguments) -> Value:
    value = _first(arguments)
    if isinstance(value, Tuple_):
        return Tuple_(tuple(Tuple_((Const(i), item)) for i, item in enumerate(value.items)))
    return Sequence(Tuple_((Host("int"), protocols.iterate(frame, span, value))), "iterator")


def _zip(frame: Frame, span: Span, arguments: Arguments) -> Value:
    values = [known(value) for value in arguments.positional]
    if arguments.more_positional:
        return Sequence(Sequence(UNKNOWN, "tuple"), "iterator")
    if values and all(isinstance(value, Tuple_) for value in values):
        return Tuple_(
            tuple(Tuple_(row) for row in zip(*(v.items for v in values if isinstance(v, Tuple_)), strict=False))
        )
    return Sequence(Tuple_(tuple(protocols.iterate(frame, span, value) for value in values)), "iterator")


def _container(kind: str) -> Callable[[Frame, Span, Arguments], Value]:
    def build(frame: Frame, span: Span, arguments: Arguments) -> Value:
        if not arguments.positional:
            return Tuple_((), mutable=kind == "list")
        value = _first(arguments)
        if isinstance(value, Tuple_):
            return (
                Tuple_(value.items, kind == "list") if kind in ("list", "tuple") else Sequence(element_of(value), kind)
            )
        if isinstance(value, ExternalObject) and value.cls != protocols.ITERATOR:
            return value
        return Sequence(protocols.iterate(frame, span, value), kind)

    return build


def _dict(frame: Frame, span: Span, arguments: Arguments) -> Value:
    first = _first(arguments)
    if isinstance(first, ExternalObject):
        protocols.iterate(frame, span, first)
    base = _as_mapping(first) if arguments.positional else Mapping()
    items = dict(base.items)
    rest = base.rest
    items.update(arguments.keywords)
    return Mapping(tuple(items.items()), UNKNOWN if arguments.more_keywords else rest)


def _as_mapping(value: Value) -> Mapping:
    """What `dict(value)` holds: another dict's items, or pairs."""
    match value:
        case Mapping():
            return value
        case Tuple_(items=pairs):
            items: dict[object, Value] = {}
            for pair in pairs:
                match pair:
                    case Tuple_(items=(Const(value=str() | int() as key), held)):
                        items[key] = held
                    case _:
                        return Mapping((), UNKNOWN)
            return Mapping(tuple(items.items()))
        case Sequence(element=Tuple_(items=(_, held))):
            return Mapping((), held)
    return Mapping((), UNKNOWN)


def _extreme(frame: Frame, span: Span, arguments: Arguments, find: Callable[[list[Any]], Any]) -> Value:
    """`min`, `max`: of tensors, Dynamo makes it an operator."""
    values = [known(value) for value in arguments.positional]
    if len(values) == 1:
        values = list(values[0].items) if isinstance(values[0], Tuple_) else [protocols.iterate(frame, span, values[0])]
    numbers = [value.value for value in values if isinstance(value, Const) and isinstance(value.value, (int, float))]
    if numbers and len(numbers) == len(values):
        if frame.following:
            return Const(find(numbers))
        return Host(type(numbers[0]).__name__) if len(values) > 1 else values[0]
    tensors = [value for value in values if isinstance(value, Tensor)]
    if tensors:
        return tensors[0].reshaped()
    if any(isinstance(value, (SizeInt, Scalar)) for value in values):
        return next(value for value in values if isinstance(value, (SizeInt, Scalar)))
    return join_all([value for value in values if value != NONE])


def _sum(frame: Frame, span: Span, arguments: Arguments) -> Value:
    value = protocols.iterate(frame, span, _first(arguments))
    return replace(value, made_here=True) if isinstance(value, Tensor) else value


def _quantifier(name: str) -> Callable[[Frame, Span, Arguments], Value]:
    """`any`, `all` test every element."""

    def test(frame: Frame, span: Span, arguments: Arguments) -> Value:
        element = known(protocols.iterate(frame, span, _first(arguments)))
        if isinstance(element, (Tensor, Scalar)):
            frame.observe(Branch(span, element, name))
        return Host("bool")

    return test


def _text(how: str) -> Callable[[Frame, Span, Arguments], Value]:
    def convert(frame: Frame, span: Span, arguments: Arguments) -> Value:
        frame.observe(Format(span, _first(arguments), how))
        if how != "format":
            protocols.special(frame, span, _first(arguments), f"__{how}__")
        return Host("str")

    return convert


def _getattr(frame: Frame, span: Span, arguments: Arguments) -> Value:
    if len(arguments.positional) < 2:
        return UNKNOWN
    name = known(arguments.positional[1])
    if not (isinstance(name, Const) and isinstance(name.value, str)):
        return UNKNOWN
    frame.guard(Kind.VALUE, span, name.value)
    value = objects.attribute(frame, span, _first(arguments), name.value)
    return join(value, arguments.positional[2]) if len(arguments.positional) > 2 and value == UNKNOWN else value


def _setattr(frame: Frame, span: Span, arguments: Arguments) -> Value:
    """In a constructor it defines the object, as an assignment does."""
    match arguments.positional:
        case (Instance() as receiver, Const(value=str() as name), value) if frame.storing:
            frame.analysis.attributes.setdefault(receiver, {})[name] = value
    return NONE


def _map(frame: Frame, span: Span, arguments: Arguments) -> Value:
    elements = [protocols.iterate(frame, span, known(value)) for value in arguments.positional[1:]]
    return Sequence(calls.call(frame, span, _first(arguments), Arguments(tuple(elements))), "iterator")


def _filter(frame: Frame, span: Span, arguments: Arguments) -> Value:
    if len(arguments.positional) < 2:
        return UNKNOWN
    element = protocols.iterate(frame, span, known(arguments.positional[1]))
    kept = calls.call(frame, span, _first(arguments), Arguments((element,)))
    if isinstance(known(kept), Tensor):
        frame.observe(Branch(span, kept, "filter"))
    return Sequence(element, "iterator")


def _abs(frame: Frame, span: Span, arguments: Arguments) -> Value:
    value = _first(arguments)
    if isinstance(value, (Instance, ExternalObject)):
        return protocols.special(frame, span, value, "__abs__") or UNKNOWN
    return Host(value.kind) if isinstance(value, Const) else value


def _sorted(frame: Frame, span: Span, arguments: Arguments) -> Value:
    return Sequence(protocols.iterate(frame, span, _first(arguments)), "list")


def _next(frame: Frame, span: Span, arguments: Arguments) -> Value:
    return protocols.advance(frame, span, _first(arguments))


def _iter(frame: Frame, span: Span, arguments: Arguments) -> Value:
    value = _first(arguments)
    return value if frame.traced else protocols.iterator_over(value)


def _hash(frame: Frame, span: Span, arguments: Arguments) -> Value:
    protocols.special(frame, span, _first(arguments), "__hash__")
    return Host("int")


def _foreign(name: str) -> Callable[[Frame, Span, Arguments], Value]:
    def make(frame: Frame, span: Span, arguments: Arguments) -> Value:
        return ExternalObject(f"builtins.{name}")

    return make


def _host(kind: str) -> Callable[[Frame, Span, Arguments], Value]:
    def answer(frame: Frame, span: Span, arguments: Arguments) -> Value:
        return Host(kind)

    return answer


def _id(frame: Frame, span: Span, arguments: Arguments) -> Value:
    """The id of an object made while tracing exists only at run time."""
    value = _first(arguments)
    made_here = isinstance(value, Mapping) or (isinstance(value, Tuple_) and value.mutable)
    made_here = made_here or (isinstance(value, Tensor) and value.made_here)
    made_here = made_here or (isinstance(value, Instance) and value.arguments is not None)
    return Host("int", IDENTITY if made_here else "")


def _slice(frame: Frame, span: Span, arguments: Arguments) -> Value:
    return ExternalObject("builtins.slice", arguments.positional)


def _none(frame: Frame, span: Span, arguments: Arguments) -> Value:
    return NONE


_BUILTINS: dict[str, Callable[[Frame, Span, Arguments], Value]] = {
    "int": _number("int"),
    "float": _number("float"),
    "bool": _number("bool"),
    "len": _len,
    "isinstance": _isinstance,
    "range": _range,
    "enumerate": _enumerate,
    "zip": _zip,
    "list": _container("list"),
    "tuple": _container("tuple"),
    "set": _container("set"),
    "frozenset": _container("frozenset"),
    "reversed": _container("list"),
    "iter": _iter,
    "bytearray": _foreign("bytearray"),
    "memoryview": _foreign("memoryview"),
    "object": _foreign("object"),
    "dict": _dict,
    "min": partial(_extreme, find=min),
    "max": partial(_extreme, find=max),
    "sum": _sum,
    "any": _quantifier("any"),
    "all": _quantifier("all"),
    "str": _text("str"),
    "repr": _text("repr"),
    "format": _text("format"),
    "getattr": _getattr,
    "setattr": _setattr,
    "hasattr": _host("bool"),
    "callable": _host("bool"),
    "issubclass": _host("bool"),
    "id": _id,
    "hash": _hash,
    "ord": _host("int"),
    "chr": _host("str"),
    "map": _map,
    "filter": _filter,
    "abs": _abs,
    "round": _abs,
    "pow": _abs,
    "sorted": _sorted,
    "next": _next,
    "print": _none,
    "slice": _slice,
}
