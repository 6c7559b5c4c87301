"""Methods of tensors, containers, strings, external objects, and those that first-party classes inherit."""

from __future__ import annotations

from msgspec.structs import replace

from ..facts import Call, Format
from ..guards import Kind
from ..ir import Span
from ..values import (
    NONE,
    POINTER,
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
from ..vocabulary import HANDLE, MODULE_CONVERSIONS
from . import builtin_calls, calls, external, modules, objects, region, results
from .frame import Frame

PARAMETERS = {"parameters", "named_parameters", "buffers", "named_buffers"}


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
        return builtin_calls.read(frame, span, receiver, name, kind, arguments)
    frame.observe(Call(span, symbol, arguments, receiver, discarded))
    external.guard_fixed(frame, span, symbol, arguments)
    match name:
        case "tolist":
            return _list_read(frame, receiver)
        case "register_hook" | "register_post_accumulate_grad_hook":
            return ExternalObject(HANDLE)
        case "size" | "stride" | "numel" | "nelement" | "element_size":
            return _size_method(receiver, name, arguments, frame.following)
        case "data_ptr":
            return Host("int", POINTER)
        case "dim" | "ndimension":
            return Host("int") if receiver.sizes is None else Const(len(receiver.sizes))
        case "numpy":
            return replace(receiver, array=True)
        case "split" | "chunk" | "unbind" | "tensor_split":
            _guard_pieces(frame, span, receiver, name, arguments)
            return Sequence(receiver.reshaped(), "tuple")
        case "astype" | "copy" | "ravel" if receiver.array:
            return receiver.reshaped()
    api = frame.analysis.api
    method = f"torch.Tensor.{name}"
    kind_name = api.kind_given(method, external.passed(frame, method, arguments))
    if receiver.array and kind_name is None:
        return Tensor(array=True, made_here=True)
    return results.result_of_kind(frame, method, kind_name, arguments, receiver)


def _guard_pieces(frame: Frame, span: Span, receiver: Tensor, name: str, arguments: Arguments) -> None:
    """How many pieces there are is fixed in the graph."""
    match arguments.get(0 if name == "unbind" else 1, "dim"):
        case None | Const(value=0):
            size = receiver.sizes[0] if receiver.sizes else None
        case Const(value=-1):
            size = receiver.sizes[-1] if receiver.sizes else None
        case _:
            size = None
    match name, arguments.get(0, "split_size"):
        case "split", Const(value=int() as width) if size is not None and width > 0:
            frame.guard(Kind.LENGTH, span, -(-size // width))
        case "unbind", _ if size is not None:
            frame.guard(Kind.LENGTH, span, size)


def _list_read(frame: Frame, receiver: Tensor) -> Value:
    kind = receiver.dtype or ""
    element: Value = Scalar(kind) if frame.traced and frame.settings.capture_scalars else Host(kind)
    return element if receiver.sizes == () else Sequence(element, "list")


def _size_method(receiver: Tensor, name: str, arguments: Arguments, exact: bool) -> Value:
    sizes = Tuple_(()) if receiver.sizes is None or receiver.unbacked else objects.shape_of(receiver, exact)
    if name == "size" and isinstance(sizes, Tuple_) and sizes.items:
        match arguments.get(0, "dim"):
            case None:
                return sizes
            case Const(value=int() as dim) if -len(sizes.items) <= dim < len(sizes.items):
                return sizes.items[dim]
    if name in ("size", "stride") and not arguments.positional and not arguments.keywords:
        return Sequence(SizeInt(receiver.unbacked), "size")
    return SizeInt(receiver.unbacked)


def _object_method(
    frame: Frame, span: Span, receiver: ExternalObject, name: str, arguments: Arguments, discarded: bool
) -> Value:
    frame.observe(Call(span, f"{receiver.cls}.{name}", arguments, receiver, discarded))
    frame.late(span, f"{receiver.cls}.{name}")
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
        if name in PARAMETERS:
            return _parameters(name)
    if name == "is_set":
        return Host("bool")
    if receiver.cls.startswith("torch.distributions"):
        return Tensor(random=name in ("sample", "rsample"), made_here=True)
    return UNKNOWN


def _inherited_method(frame: Frame, span: Span, receiver: Instance, name: str, arguments: Arguments) -> Value:
    """A method that a first-party class has from an external base."""
    frame.late(span, name)
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
    if name in PARAMETERS and objects.is_module(frame.analysis, receiver.symbol):
        return _parameters(name)
    if name in ("children", "modules"):
        return Sequence(modules.children(frame, receiver), "generator")
    if name in ("named_children", "named_modules"):
        return Sequence(Tuple_((Host("str"), modules.children(frame, receiver))), "generator")
    if name == modules.SUPER_INIT:
        modules.keep_base_arguments(frame, receiver, arguments)
        name = "__init__"
    for base in objects.resolution(frame.analysis, receiver.symbol)[1]:
        frame.observe(Call(span, f"{base}.{name}", arguments, receiver))
    return UNKNOWN


def _parameters(name: str) -> Value:
    """A module's parameters or buffers, made one by one."""
    element: Value = Tensor(dtype="float" if "parameters" in name else None)
    return Sequence(Tuple_((Host("str"), element)) if name.startswith("named_") else element, "generator")


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
            return Sequence(Host("str"), "keys")
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
        if isinstance(receiver, Const):
            frame.guard(Kind.VALUE, span, receiver.value)
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
