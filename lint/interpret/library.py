"""Builtin functions, and methods of tensors, containers, strings and external objects."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from ..facts import Branch, Call, Format
from ..ir import Span
from ..values import (
    IDENTITY,
    NONE,
    SIZE,
    UNKNOWN,
    Arguments,
    Bound,
    Class,
    Compiled,
    Const,
    ExternalObject,
    Function,
    Host,
    Instance,
    Mapping,
    Method,
    Scalar,
    Sequence,
    SizeInt,
    Super,
    Tensor,
    Tuple_,
    Value,
    element_of,
    join,
    join_all,
    kind_of,
    known,
)
from ..vocabulary import MODULE_CONVERSIONS
from . import calls, conditions, external, objects, region, results
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
        case Tensor():
            return SizeInt(value.unbacked)
        case Const(value=str() as text):
            return Const(len(text))
        case Host(kind="str", origin="tensor text"):
            frame.observe(Format(span, Tensor(), "fstring"))
        case Instance():
            return objects.call_method(frame, span, value, "__len__", Arguments())
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
        if len(values) <= MAX_RANGE:
            return Tuple_(tuple(Const(value) for value in values))
    if any(isinstance(value, (SizeInt, Scalar)) for value in bounds):
        return Sequence(SIZE, "range")
    return Sequence(Host("int"), "range")


def _enumerate(frame: Frame, span: Span, arguments: Arguments) -> Value:
    value = _first(arguments)
    if isinstance(value, Tuple_):
        return Tuple_(tuple(Tuple_((Const(i), item)) for i, item in enumerate(value.items)))
    return Sequence(Tuple_((Host("int"), objects.iterate(frame, span, value))), "iterator")


def _zip(frame: Frame, span: Span, arguments: Arguments) -> Value:
    values = [known(value) for value in arguments.positional]
    if values and all(isinstance(value, Tuple_) for value in values):
        return Tuple_(
            tuple(Tuple_(row) for row in zip(*(v.items for v in values if isinstance(v, Tuple_)), strict=False))
        )
    return Sequence(Tuple_(tuple(objects.iterate(frame, span, value) for value in values)), "iterator")


def _container(kind: str) -> Callable[[Frame, Span, Arguments], Value]:
    def build(frame: Frame, span: Span, arguments: Arguments) -> Value:
        if not arguments.positional:
            return Tuple_((), mutable=kind == "list")
        value = _first(arguments)
        if isinstance(value, Tuple_):
            return (
                Tuple_(value.items, kind == "list") if kind in ("list", "tuple") else Sequence(element_of(value), kind)
            )
        if isinstance(value, ExternalObject):
            return value
        return Sequence(objects.iterate(frame, span, value), kind)

    return build


def _dict(frame: Frame, span: Span, arguments: Arguments) -> Value:
    base = _first(arguments) if arguments.positional else Mapping()
    items = dict(base.items) if isinstance(base, Mapping) else {}
    rest = base.rest if isinstance(base, Mapping) else UNKNOWN
    items.update(arguments.keywords)
    return Mapping(tuple(items.items()), UNKNOWN if arguments.more_keywords else rest)


def _extreme(frame: Frame, span: Span, arguments: Arguments) -> Value:
    """`min`, `max`: of tensors, Dynamo makes it an operator."""
    values = [known(value) for value in arguments.positional]
    if len(values) == 1:
        values = list(values[0].items) if isinstance(values[0], Tuple_) else [objects.iterate(frame, span, values[0])]
    numbers = [value.value for value in values if isinstance(value, Const) and isinstance(value.value, (int, float))]
    if numbers and len(numbers) == len(values):
        return Host(type(numbers[0]).__name__) if len(values) > 1 else values[0]
    tensors = [value for value in values if isinstance(value, Tensor)]
    if tensors:
        return replace(tensors[0], sizes=None, made_here=True)
    if any(isinstance(value, (SizeInt, Scalar)) for value in values):
        return next(value for value in values if isinstance(value, (SizeInt, Scalar)))
    return join_all([value for value in values if value != NONE])


def _sum(frame: Frame, span: Span, arguments: Arguments) -> Value:
    value = objects.iterate(frame, span, _first(arguments))
    return replace(value, made_here=True) if isinstance(value, Tensor) else value


def _quantifier(name: str) -> Callable[[Frame, Span, Arguments], Value]:
    """`any`, `all` test every element."""

    def test(frame: Frame, span: Span, arguments: Arguments) -> Value:
        element = known(objects.iterate(frame, span, _first(arguments)))
        if isinstance(element, (Tensor, Scalar)):
            frame.observe(Branch(span, element, name))
        return Host("bool")

    return test


def _text(how: str) -> Callable[[Frame, Span, Arguments], Value]:
    def convert(frame: Frame, span: Span, arguments: Arguments) -> Value:
        frame.observe(Format(span, _first(arguments), how))
        return Host("str")

    return convert


def _getattr(frame: Frame, span: Span, arguments: Arguments) -> Value:
    if len(arguments.positional) < 2:
        return UNKNOWN
    name = known(arguments.positional[1])
    if not (isinstance(name, Const) and isinstance(name.value, str)):
        return UNKNOWN
    value = objects.attribute(frame, span, _first(arguments), name.value)
    return join(value, arguments.positional[2]) if len(arguments.positional) > 2 and value == UNKNOWN else value


def _map(frame: Frame, span: Span, arguments: Arguments) -> Value:
    elements = [objects.iterate(frame, span, known(value)) for value in arguments.positional[1:]]
    return Sequence(calls.call(frame, span, _first(arguments), Arguments(tuple(elements))), "iterator")


def _filter(frame: Frame, span: Span, arguments: Arguments) -> Value:
    if len(arguments.positional) < 2:
        return UNKNOWN
    element = objects.iterate(frame, span, known(arguments.positional[1]))
    kept = calls.call(frame, span, _first(arguments), Arguments((element,)))
    if isinstance(known(kept), Tensor):
        frame.observe(Branch(span, kept, "filter"))
    return Sequence(element, "iterator")


def _abs(frame: Frame, span: Span, arguments: Arguments) -> Value:
    value = _first(arguments)
    return Host(value.kind) if isinstance(value, Const) else value


def _sorted(frame: Frame, span: Span, arguments: Arguments) -> Value:
    return Sequence(objects.iterate(frame, span, _first(arguments)), "list")


def _next(frame: Frame, span: Span, arguments: Arguments) -> Value:
    return objects.iterate(frame, span, _first(arguments))


def _same(frame: Frame, span: Span, arguments: Arguments) -> Value:
    return _first(arguments)


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
    "iter": _same,
    "dict": _dict,
    "min": _extreme,
    "max": _extreme,
    "sum": _sum,
    "any": _quantifier("any"),
    "all": _quantifier("all"),
    "str": _text("str"),
    "repr": _text("repr"),
    "format": _text("format"),
    "getattr": _getattr,
    "hasattr": _host("bool"),
    "callable": _host("bool"),
    "issubclass": _host("bool"),
    "id": _id,
    "hash": _host("int"),
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
}


# methods


def call_method(frame: Frame, span: Span, method: Method, arguments: Arguments, discarded: bool) -> Value:
    receiver = method.receiver
    match receiver:
        case Tensor():
            return _tensor_method(frame, span, receiver, method.name, arguments, discarded)
        case ExternalObject():
            return _object_method(frame, span, receiver, method.name, arguments, discarded)
        case Instance():
            return _inherited_method(frame, span, receiver, method.name, arguments)
        case Class():
            return _class_method(frame, span, receiver, method.name, arguments)
        case Mapping():
            return _mapping_method(receiver, method.name, arguments)
        case Tuple_() | Sequence():
            return _sequence_method(receiver, method.name)
        case Const() | Host() | Scalar() | SizeInt():
            return _scalar_method(frame, span, receiver, method.name, arguments)
        case Super() | Function() | Bound() | Compiled():
            return UNKNOWN
    return UNKNOWN


def _tensor_method(
    frame: Frame, span: Span, receiver: Tensor, name: str, arguments: Arguments, discarded: bool
) -> Value:
    symbol = f"{'numpy.ndarray' if receiver.array else 'torch.Tensor'}.{name}"
    if name in ("item", "__int__", "__float__", "__bool__"):
        kind = {"bool": "bool", "int": "int", "float": "float"}.get(receiver.dtype or "", "")
        return read(frame, span, receiver, name, kind, arguments)
    frame.observe(Call(span, symbol, arguments, receiver, discarded))
    match name:
        case "tolist":
            return _list_read(frame, receiver)
        case "size" | "stride" | "numel" | "nelement" | "element_size":
            return _size_method(receiver, name, arguments)
        case "dim" | "ndimension":
            return Host("int") if receiver.sizes is None else Const(len(receiver.sizes))
        case "numpy":
            return replace(receiver, array=True)
        case "split" | "chunk" | "unbind" | "tensor_split":
            return Sequence(replace(receiver, sizes=None, made_here=True), "tuple")
        case "astype" | "copy" | "ravel" if receiver.array:
            return replace(receiver, sizes=None, made_here=True)
    api = frame.analysis.api
    method = f"torch.Tensor.{name}"
    kind_name = api.kind_given(method, external.passed(frame, method, arguments))
    if receiver.array and kind_name is None:
        return Tensor(array=True, made_here=True)
    return results.result_of_kind(frame, method, kind_name, arguments, receiver)


def _list_read(frame: Frame, receiver: Tensor) -> Value:
    kind = receiver.dtype or ""
    element: Value = Scalar(kind) if frame.traced and frame.settings.capture_scalars else Host(kind)
    return element if receiver.sizes == () else Sequence(element, "list")


def _size_method(receiver: Tensor, name: str, arguments: Arguments) -> Value:
    if name in ("size", "stride") and not arguments.positional and not arguments.keywords:
        if receiver.sizes is not None and name == "size" and not receiver.unbacked:
            return Tuple_(tuple(SIZE for _ in receiver.sizes))
        return Sequence(SizeInt(receiver.unbacked), "size")
    return SizeInt(receiver.unbacked)


def _object_method(
    frame: Frame, span: Span, receiver: ExternalObject, name: str, arguments: Arguments, discarded: bool
) -> Value:
    frame.observe(Call(span, f"{receiver.cls}.{name}", arguments, receiver, discarded))
    if receiver.cls == "torch.nn.ModuleDict" and receiver.arguments and isinstance(receiver.arguments[0], Mapping):
        return _mapping_method(receiver.arguments[0], name, arguments)
    if receiver.cls.startswith("torch.nn."):
        if name == "forward":
            return external.call_object(frame, span, receiver, arguments)
        if name == "compile":
            region.compile_method(frame, span, receiver, arguments)
            return NONE
        if name in MODULE_CONVERSIONS:
            return receiver
    if name == "is_set":
        return Host("bool")
    if receiver.cls.startswith("torch.distributions"):
        return Tensor(random=name in ("sample", "rsample"), made_here=True)
    return UNKNOWN


def _inherited_method(frame: Frame, span: Span, receiver: Instance, name: str, arguments: Arguments) -> Value:
    """A method that a first-party class has from an external base."""
    if name == "compile" and objects.is_module(frame.analysis, receiver.symbol):
        region.compile_method(frame, span, receiver, arguments)
        return NONE
    if (
        name in ("register_buffer", "register_parameter", "add_module", "register_module")
        and len(arguments.positional) >= 2
    ):
        held = known(arguments.positional[0])
        if isinstance(held, Const) and isinstance(held.value, str):
            frame.analysis.attributes.setdefault(receiver, {})[held.value] = arguments.positional[1]
        return NONE
    if name in MODULE_CONVERSIONS:
        return receiver
    for base in objects.resolution(frame.analysis, receiver.symbol)[1]:
        frame.observe(Call(span, f"{base}.{name}", arguments, receiver))
    return UNKNOWN


def _class_method(frame: Frame, span: Span, receiver: Class, name: str, arguments: Arguments) -> Value:
    """`Function.apply` of an autograd function traces its `forward`."""
    for base in objects.resolution(frame.analysis, receiver.symbol)[1]:
        frame.observe(Call(span, f"{base}.{name}", arguments, receiver))
    if name != "apply":
        return UNKNOWN
    forward = objects.find_method(frame.analysis, receiver.symbol, "forward")
    if forward is None:
        return Tensor(made_here=True)
    split = objects.find_method(frame.analysis, receiver.symbol, "setup_context") is not None
    context = () if split else (ExternalObject("torch.autograd.function.FunctionCtx"),)
    inner = replace(arguments, positional=(*context, *arguments.positional))
    value = calls.call(frame, span, Function(forward), inner)
    return value if isinstance(value, (Tensor, Tuple_)) else Tensor(made_here=True)


def _mapping_method(receiver: Mapping, name: str, arguments: Arguments) -> Value:
    values = [value for _, value in receiver.items] + ([] if receiver.rest is None else [receiver.rest])
    match name:
        case "items" if receiver.rest is None:
            return Tuple_(tuple(Tuple_((Const(key), value)) for key, value in receiver.items))
        case "items":
            return Sequence(Tuple_((Host("str"), join_all(values))), "iterator")
        case "values":
            return Tuple_(tuple(values)) if receiver.rest is None else Sequence(join_all(values), "iterator")
        case "keys":
            return Sequence(Host("str"), "iterator")
        case "get" | "pop" | "setdefault":
            key = known(arguments.positional[0]) if arguments.positional else UNKNOWN
            default = arguments.positional[1] if len(arguments.positional) > 1 else NONE
            if isinstance(key, Const):
                missing = default if receiver.rest is None else join(receiver.rest, default)
                return receiver.get(key.value, missing)
            return join_all([*values, default])
        case "copy":
            return receiver
    return UNKNOWN


def _sequence_method(receiver: Tuple_ | Sequence, name: str) -> Value:
    match name:
        case "pop" | "popleft" | "__getitem__":
            return element_of(receiver)
        case "copy":
            return receiver
        case "index" | "count" | "__len__":
            return Host("int")
        case "numel" if kind_of(receiver) == "size":
            return SIZE
        case "append" | "extend" | "insert" | "sort" | "reverse" | "clear" | "add" | "update" | "remove":
            return NONE
    return UNKNOWN


def _scalar_method(frame: Frame, span: Span, receiver: Value, name: str, arguments: Arguments) -> Value:
    if kind_of(receiver) == "str":
        if name == "format":
            for value in arguments.positional:
                frame.observe(Format(span, known(value), "format"))
        if name in ("split", "rsplit", "splitlines", "partition", "rpartition"):
            return Sequence(Host("str"), "list")
        if name in ("startswith", "endswith") or name.startswith("is"):
            return Host("bool")
        return Host("int") if name in ("find", "index", "count", "__len__") else Host("str")
    if isinstance(receiver, Host) and receiver.kind == "dtype":
        return Host("bool")
    if name in ("bit_length", "numerator", "denominator"):
        return Host("int")
    return Host()
