"""What torch, numpy and math functions return: the kind from the table, dtype and sizes as far as the arguments
tell."""

from __future__ import annotations

import math

from msgspec.structs import replace

from ..values import (
    NONE,
    SIZES,
    UNKNOWN,
    Arguments,
    Const,
    External,
    ExternalObject,
    Host,
    Scalar,
    Sequence,
    SizeInt,
    Tensor,
    Tuple_,
    Value,
    known,
)
from ..vocabulary import BOOLEAN, CONTEXTS, DTYPES, INTEGER, SAME_DTYPE
from . import shapes
from .frame import Frame

COUNTING = {"sum", "prod", "cumsum"}
"""What makes integers of booleans."""
SIZE_AT = {"choice": 1, "normal": 2, "rand": 0, "randint": 2, "random": 0, "random_sample": 0, "uniform": 2}
"""Numpy's draws of a single number where this argument, `size`, is not given."""
DEFAULT_DTYPE = {"ones", "zeros", "rand", "randn", "empty", "eye"}
"""Factories of float32 tensors, as long as no dtype is given."""
SHORT_DTYPES = {
    "double": "float64",
    "float": "float32",
    "half": "float16",
    "int": "int32",
    "long": "int64",
    "short": "int16",
}
PIECES = {"broadcast_tensors", "chunk", "dsplit", "hsplit", "meshgrid", "split", "tensor_split", "unbind", "vsplit"}
"""Functions that give several tensors of one dtype; others give values with indices."""
NUMPY_CONSTANTS = {"finfo", "iinfo", "dtype", "pi", "inf", "nan", "e"}


def result_of_kind(frame: Frame, name: str, kind: str | None, arguments: Arguments, receiver: Tensor | None) -> Value:
    """The value for what the table says the function returns."""
    if name in ("torch.nested.nested_tensor", "torch.nested.as_nested_tensor"):
        kind = "tensor"
    match kind:
        case "tensor":
            return _tensor(frame, name, arguments, receiver)
        case "tensors":
            several = _tensor(frame, name, arguments, receiver).reshaped()
            alike = name.rpartition(".")[2] in PIECES
            return Sequence(several if alike else replace(several, dtype=None, precision=None), "tuple")
        case "int" | "float" | "bool" | "str":
            return Host(kind)
        case "number":
            return Host()
        case "size":
            return SIZES
        case "none":
            return NONE
        case "dtype":
            return Host("dtype")
    if name.startswith(("torch.is_", "torch.get_", "torch.are_")):
        return Host("bool" if name.startswith("torch.is_") else "")
    if name.rpartition(".")[2][:1].isupper() or name.startswith(
        ("torch.profiler.", "torch.compiler.", "torch.autograd.")
    ):
        return ExternalObject(name, arguments.positional, arguments.keywords)
    if name in CONTEXTS:
        return ExternalObject(name)
    return Tensor() if name.startswith("torch.ops.") else UNKNOWN


def _tensor(frame: Frame, name: str, arguments: Arguments, receiver: Tensor | None) -> Tensor:
    api = frame.analysis.api
    inputs = [receiver] if receiver is not None else []
    given = list(map(known, arguments.positional))
    inputs += [v for v in given if isinstance(v, Tensor)]
    last = name.rpartition(".")[2]
    sizes = shapes.of_call(api.is_factory(name), last, arguments, inputs)
    return Tensor(
        dtype=_dtype(last, arguments, inputs),
        sizes=sizes,
        tail=shapes.tail_of_call(last, arguments, inputs),
        random=api.is_draw(name) or (bool(inputs) and all(v.random for v in inputs)),
        array=last == "numpy" or (bool(inputs) and all(v.array for v in inputs)),
        sure=not inputs or any(v.sure for v in inputs) or receiver is None,
        made_here=True,
        literal=all(isinstance(v, (Const, Host, SizeInt)) or v in inputs for v in given)
        and all(v.literal for v in inputs)
        and not (sizes or api.is_draw(name)),
        layout=_layout(name, last, arguments),
        unbacked=api.has_dynamic_shape(name) or any(v.unbacked for v in inputs),
        told=any(v.told for v in inputs),
        precision=_precision(last, arguments, inputs, api.is_factory(name)),
        requires_grad=_requires_grad(last, arguments, inputs, api.is_factory(name)),
        order=_order(last, arguments, api.is_factory(name)),
    )


def _requires_grad(last: str, arguments: Arguments, inputs: list[Tensor], factory: bool) -> bool | None:
    asked = arguments.get(0, "requires_grad") if last == "requires_grad_" else arguments.keyword("requires_grad")
    match asked:
        case Const(value=bool() as wanted):
            return wanted
        case None if last == "requires_grad_":
            return True
        case None if last == "detach" or factory:
            return False
    return False if inputs and all(value.requires_grad is False for value in inputs) else None


def _layout(name: str, last: str, arguments: Arguments) -> str:
    if last.startswith(("to_sparse", "sparse_")):
        return "sparse"
    if last.startswith("quantize_per_"):
        return "quantized"
    jagged = arguments.keyword("layout") == External("torch.jagged")
    return "nested" if name.startswith("torch.nested.") and last != "to_padded_tensor" and not jagged else "strided"


def _precision(last: str, arguments: Arguments, inputs: list[Tensor], factory: bool) -> str | None:
    asked = arguments.keyword("dtype")
    if asked is None and last == "to" and arguments.positional:
        asked = arguments.positional[0]
    if isinstance(asked, External) and asked.name.rpartition(".")[2] in DTYPES:
        name = asked.name.rpartition(".")[2]
        return SHORT_DTYPES.get(name, name)
    if last in DTYPES and inputs:
        return SHORT_DTYPES.get(last, last)
    if factory and asked is None and last in DEFAULT_DTYPE and not inputs:
        return "float32"
    if last in SAME_DTYPE and inputs and asked is None:
        return inputs[0].precision
    return None


def _order(last: str, arguments: Arguments, factory: bool) -> str | None:
    form = arguments.keyword("memory_format")
    if isinstance(form, External):
        return form.name.rpartition(".")[2]
    if last in ("transpose", "permute", "t", "swapaxes", "swapdims"):
        return "transposed"
    return "contiguous" if factory and last in DEFAULT_DTYPE else None


def _dtype(last: str, arguments: Arguments, inputs: list[Tensor]) -> str | None:
    asked = arguments.keyword("dtype")
    if asked is None and last in ("to", "type", "astype") and arguments.positional:
        asked = arguments.positional[0]
    match asked:
        case External(name=name) if name.rpartition(".")[2] in DTYPES:
            return DTYPES[name.rpartition(".")[2]]
        case None | Const() | Host(kind="device") | ExternalObject(cls="torch.device"):
            pass
        case _:
            return None
    if last in DTYPES and inputs:
        return DTYPES[last]
    if last == "arange":
        kinds = {value.kind if isinstance(value, Const | Host) else "int" for value in arguments.positional}
        return "float" if "float" in kinds else "int" if kinds == {"int"} else None
    if last in BOOLEAN:
        return "bool"
    if last in INTEGER:
        return "int"
    if last in ("tensor", "as_tensor"):
        return _literal_dtype(arguments.positional[0]) if arguments.positional else None
    if last in (
        "ones",
        "zeros",
        "rand",
        "randn",
        "eye",
        "empty",
        "linspace",
        "softmax",
        "sigmoid",
        "exp",
        "log",
        "mean",
    ):
        return "float"
    if last in SAME_DTYPE and inputs:
        dtypes = {v.dtype for v in inputs if last in ("cat", "stack", "where") or v is inputs[0]}
        dtype = dtypes.pop() if len(dtypes) == 1 else None
        return "int" if dtype == "bool" and last in COUNTING else dtype
    return None


def _literal_dtype(value: Value) -> str | None:
    while isinstance(value, Tuple_) and value.items:
        value = value.items[0]
    match value:
        case Const(kind="bool" | "int" | "float" as kind) | Host(kind="bool" | "int" | "float" as kind):
            return kind
        case Tensor(dtype=dtype):
            return dtype
    return None


def numpy_result(frame: Frame, name: str, arguments: Arguments) -> Value:
    """In traced code Dynamo runs numpy on tensors, so that its results are as data-dependent as theirs; drawing one
    number breaks the graph, after which it is like any other."""
    last = name.rpartition(".")[2]
    if last in NUMPY_CONSTANTS:
        return ExternalObject(name)
    if last == "default_rng":
        return ExternalObject("numpy.random.Generator")
    if ".random." in name and last[:1].isupper():
        return ExternalObject(name)
    if ".random." in name:
        if not frame.settings.capture_scalars and last in SIZE_AT and arguments.get(SIZE_AT[last], "size") is None:
            return Host("int" if last == "randint" else "float", f"call {name}")
        return Tensor(array=True, random=True, made_here=True)
    if last in ("ones", "zeros", "empty", "array", "asarray"):
        return Tensor(
            array=True,
            made_here=True,
            sizes=shapes.of_factory({"array": "tensor", "asarray": "tensor"}.get(last, last), arguments),
            layout="text" if arguments.positional and _is_text(arguments.positional[0]) else "strided",
        )
    computed = any(isinstance(known(value), Tensor) for value in arguments.positional)
    return Tensor(array=True, made_here=True, literal=last in DTYPES and not computed)


def _is_text(value: Value) -> bool:
    while isinstance(value, Tuple_) and value.items:
        value = value.items[0]
    return isinstance(value, Const) and value.kind == "str"


def _folded(name: str, inputs: list[Value]) -> Const | None:
    """`math.log2(8)`: what a function of constants gives."""
    try:
        return Const(getattr(math, name)(*(value.value for value in inputs if isinstance(value, Const))))
    except (AttributeError, TypeError, ValueError, ArithmeticError):
        return None


def math_result(name: str, arguments: Arguments) -> Value:
    last = name.removeprefix("math.")
    inputs = [known(value) for value in arguments.positional]
    if any(isinstance(value, Scalar) for value in inputs):
        return Scalar("float")
    if inputs and all(isinstance(value, Const) for value in inputs) and (folded := _folded(last, inputs)) is not None:
        return folded
    kind = "int" if last in ("floor", "ceil", "gcd", "lcm", "prod", "comb", "factorial", "isqrt", "trunc") else "float"
    kind = "bool" if last.startswith("is") and last != "isqrt" else kind
    if any(isinstance(value, SizeInt) for value in inputs):
        return SizeInt() if kind == "int" else Host(kind)
    origin = next((value.origin for value in inputs if isinstance(value, Host) and value.origin), "")
    return Host(kind, origin)
