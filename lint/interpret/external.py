"""Code outside the project: what its functions return and what its decorators do to a function."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from ..facts import Call
from ..ir import Span
from ..values import (
    NONE,
    SIZES,
    UNKNOWN,
    Arguments,
    Bound,
    Class,
    Compiled,
    Const,
    Disabled,
    External,
    ExternalObject,
    Function,
    Host,
    Instance,
    Mapping,
    Opaque,
    Partial,
    Scalar,
    Sequence,
    SizeInt,
    Tensor,
    Tuple_,
    Value,
    element_of,
    join_all,
    known,
)
from . import arithmetic, calls, library, region
from .frame import Frame

KEEP = {"torch.no_grad", "torch.enable_grad", "torch.inference_mode", "torch.set_grad_enabled", "functools.wraps",
        "functools.lru_cache", "functools.cache", "torch.jit.ignore", "torch.jit.export", "torch.jit.unused",
        "torch.autocast", "torch.amp.autocast", "typing.overload", "abc.abstractmethod", "torch.compiler.set_stance",
        "torch._dynamo.config.patch", "typing.no_type_check", "typing.final"}  # fmt: skip
"""Decorators after which Dynamo still traces the function."""
OPAQUE = {"torch.compiler.allow_in_graph", "torch.compiler.nonstrict_trace", "torch.library.custom_op", "torch.jit.script",
          "torch.library.triton_op", "torch._dynamo.nonstrict_trace", "torch.compiler.leaf_function", "triton.jit",
          "torch.fx.wrap"}  # fmt: skip
TRANSFORMS = {"torch.func.vmap", "torch.vmap", "torch.func.grad", "torch.func.grad_and_value", "torch.func.jacrev",
              "torch.func.jacfwd", "torch.func.hessian"}  # fmt: skip
CALLERS = {
    "torch.utils.checkpoint.checkpoint",
    "torch.utils.checkpoint.checkpoint_sequential",
    "torch._dynamo.nonstrict_trace",
}
BOOLEAN = {f"torch.{name}" for name in ["isnan", "isinf", "isfinite", "isneginf", "isposinf", "isreal", "isclose", "isin", "eq", "ne", "lt", "le", "gt", "ge", "greater", "less", "greater_equal", "less_equal", "not_equal", "logical_and", "logical_or", "logical_not", "logical_xor", "signbit", "all", "any"]}  # fmt: skip
INTEGER = {f"torch.{name}" for name in ["argmax", "argmin", "argsort", "arange", "randint", "randperm", "bucketize", "searchsorted", "nonzero", "argwhere", "bincount", "count_nonzero"]}  # fmt: skip
SAME_DTYPE = {
    "clone",
    "detach",
    "contiguous",
    "view",
    "reshape",
    "squeeze",
    "unsqueeze",
    "transpose",
    "permute",
    "expand",
    "expand_as",
    "flatten",
    "unflatten",
    "repeat",
    "roll",
    "flip",
    "cpu",
    "cuda",
    "t",
    "T",
    "select",
    "narrow",
    "split",
    "chunk",
    "unbind",
    "index_select",
    "gather",
    "masked_fill",
    "where",
    "cat",
    "stack",
    "to",
    "masked_select",
    "view_as",
    "movedim",
    "swapaxes",
    "tril",
    "triu",
    "diagonal",
    "tile",
    "repeat_interleave",
    "take_along_dim",
    "fill_",
    "zero_",
    "masked_fill_",
    "max",
    "min",
    "amax",
    "amin",
    "sort",
    "topk",
    "new_zeros",
    "zeros_like",
    "ones_like",
    "empty_like",
    "abs",
    "clamp",
    "neg",
    "sum",
    "prod",
    "cumsum",
    "triu_",
    "tril_",
    "values",
    "indices",
}
NUMPY_HOST = {"finfo", "iinfo", "dtype", "pi", "inf", "nan", "e"}
RESULT_OBJECTS = {
    "logging.getLogger": "logging.Logger",
    "transformers.utils.logging.get_logger": "logging.Logger",
    "re.compile": "re.Pattern",
    "threading.Lock": "threading.Lock",
    "threading.RLock": "threading.RLock",
    "torch.get_rng_state": "",
}


def call(frame: Frame, span: Span, name: str, arguments: Arguments, discarded: bool) -> Value:
    """`name(*arguments)` for a function or class outside the project."""
    frame.observe(Call(span, name, arguments, None, discarded))
    if name.startswith("builtins."):
        return library.call_builtin(frame, span, name.removeprefix("builtins."), arguments)
    special = _SPECIAL.get(name)
    if special is not None:
        return special(frame, span, name, arguments)
    if name.startswith("torch."):
        return _torch(frame, span, name, arguments)
    if name.startswith("numpy."):
        return _numpy(name, arguments)
    if name.startswith("math."):
        return _math(name, arguments)
    if name.startswith("operator."):
        return _operator(name, arguments)
    if name in RESULT_OBJECTS:
        return ExternalObject(RESULT_OBJECTS[name])
    if name.rpartition(".")[2][:1].isupper():
        return ExternalObject(name, arguments.positional, arguments.keywords)
    return _host(name)


def _host(name: str) -> Value:
    module = name.partition(".")[0]
    if module in ("random", "time", "os", "platform", "sys"):
        return Host("float" if module in ("random", "time") else "", f"call {name}")
    return ExternalObject(name) if name.startswith(("contextlib.", "threading.")) else UNKNOWN


# torch


def _torch(frame: Frame, span: Span, name: str, arguments: Arguments) -> Value:
    api = frame.analysis.api
    if name in TRANSFORMS:
        return Partial(arguments.positional[0], Arguments()) if arguments.positional else UNKNOWN
    if name in CALLERS and arguments.positional:
        rest = replace(arguments, positional=arguments.positional[1:], keywords=())
        return calls.call(frame, span, known(arguments.positional[0]), rest)
    if name == "torch.nn.Parameter" or name == "torch.nn.Buffer":
        return join_tensor(arguments)
    if api.is_module_class(name):
        return ExternalObject(name, arguments.positional, arguments.keywords)
    if name in OPAQUE:
        return Opaque(arguments.positional[0]) if arguments.positional else External(name)
    kind = api.kind_given(name, passed(frame, name, arguments))
    return result_of_kind(frame, name, kind, arguments, None)


def join_tensor(arguments: Arguments) -> Value:
    first = arguments.positional[0] if arguments.positional else UNKNOWN
    return replace(first, made_here=True) if isinstance(first, Tensor) else Tensor(made_here=True)


def passed(frame: Frame, name: str, arguments: Arguments) -> set[str]:
    """The names of the parameters that are passed, by position or keyword."""
    arity = frame.analysis.api.arity(name)
    names = {key for key, _ in arguments.keywords}
    if arity is not None:
        names.update(arity.names[: len(arguments.positional)])
    return names


def result_of_kind(frame: Frame, name: str, kind: str | None, arguments: Arguments, receiver: Tensor | None) -> Value:
    """The value for what the table says the function returns."""
    match kind:
        case "tensor":
            return _tensor(frame, name, arguments, receiver)
        case "tensors":
            return Sequence(replace(_tensor(frame, name, arguments, receiver), sizes=None), "tuple")
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
    if name in _CONTEXTS:
        return ExternalObject(name)
    return Tensor() if name.startswith("torch.ops.") else UNKNOWN


_CONTEXTS = {"torch.no_grad", "torch.enable_grad", "torch.set_grad_enabled", "torch.inference_mode", "torch.autocast",
             "torch.amp.autocast", "torch.cuda.amp.autocast", "torch.nn.attention.sdpa_kernel"}  # fmt: skip


def _tensor(frame: Frame, name: str, arguments: Arguments, receiver: Tensor | None) -> Tensor:
    api = frame.analysis.api
    inputs = [receiver] if receiver is not None else []
    inputs += [v for v in map(known, arguments.positional) if isinstance(v, Tensor)]
    last = name.rpartition(".")[2]
    return Tensor(
        dtype=_dtype(last, arguments, inputs),
        sizes=_sizes(api.is_factory(name), last, arguments, inputs),
        random=api.is_draw(name) or (bool(inputs) and all(v.random for v in inputs)),
        array=last == "numpy" or (bool(inputs) and all(v.array for v in inputs)),
        sure=not inputs or any(v.sure for v in inputs) or receiver is None,
        made_here=True,
        layout="sparse" if last.startswith(("to_sparse", "sparse_")) else "strided",
        unbacked=api.has_dynamic_shape(name) or any(v.unbacked for v in inputs),
    )


DTYPE_NAMES = {"bool": "bool", "long": "int", "int": "int", "int64": "int", "int32": "int", "int16": "int", "int8": "int",
               "uint8": "int", "short": "int", "float": "float", "float32": "float", "float16": "float", "half": "float",
               "bfloat16": "float", "double": "float", "float64": "float", "complex64": "complex"}  # fmt: skip


def _dtype(last: str, arguments: Arguments, inputs: list[Tensor]) -> str | None:
    asked = arguments.keyword("dtype")
    if asked is None and last in ("to", "type", "astype") and arguments.positional:
        asked = arguments.positional[0]
    if isinstance(asked, External):
        named = DTYPE_NAMES.get(asked.name.rpartition(".")[2])
        if named is not None:
            return named
    if last in DTYPE_NAMES and inputs:
        return DTYPE_NAMES[last]
    if f"torch.{last}" in BOOLEAN:
        return "bool"
    if f"torch.{last}" in INTEGER:
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
        return dtypes.pop() if len(dtypes) == 1 else None
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


def _sizes(factory: bool, last: str, arguments: Arguments, inputs: list[Tensor]) -> tuple[int | None, ...] | None:
    if factory:
        return _factory_sizes(last, arguments)
    if not inputs:
        return None
    if last in ("clone", "detach", "contiguous", "to", "cpu", "float", "bool", "long", "relu", "sin", "cos", "exp",
                "zeros_like", "ones_like", "rand_like", "randn_like", "isnan", "isinf", "isfinite", "abs", "neg"):  # fmt: skip
        return inputs[0].sizes
    if last in ("sum", "mean", "max", "min", "any", "all", "prod", "std", "norm") and len(arguments.positional) <= (
        0 if inputs and inputs[0] not in arguments.positional else 1
    ):
        return () if not arguments.keywords else None
    return None


def _factory_sizes(last: str, arguments: Arguments) -> tuple[int | None, ...] | None:
    positional = arguments.positional
    if last in ("ones", "zeros", "rand", "randn", "empty"):
        size = arguments.keyword("size")
        given = (size,) if size is not None else positional
        if len(given) == 1 and isinstance(given[0], Tuple_):
            given = given[0].items
        return tuple(_size(value) for value in given)
    if last == "full" and positional and isinstance(positional[0], Tuple_):
        return tuple(_size(value) for value in positional[0].items)
    if last == "arange" and len(positional) == 1:
        return (_size(positional[0]),)
    if last in ("arange", "linspace", "randperm"):
        return (None,)
    if last == "eye" and len(positional) == 1:
        return (_size(positional[0]),) * 2
    if last in ("tensor", "as_tensor") and positional:
        return _literal_sizes(positional[0])
    return None


def _size(value: Value) -> int | None:
    return value.value if isinstance(value, Const) and isinstance(value.value, int) else None


def _literal_sizes(value: Value) -> tuple[int | None, ...] | None:
    match value:
        case Const() | Host():
            return ()
        case Tuple_(items=items) if items:
            inner = _literal_sizes(items[0])
            return None if inner is None else (len(items), *inner)
        case Tensor(sizes=sizes):
            return sizes
    return None


# numpy, math, operator


def _numpy(name: str, arguments: Arguments) -> Value:
    """In traced code Dynamo runs numpy on tensors, so that its results are as data-dependent as theirs."""
    last = name.rpartition(".")[2]
    if last in NUMPY_HOST:
        return ExternalObject(name)
    if ".random." in name:
        return Tensor(array=True, random=True, made_here=True)
    if last in ("ones", "zeros", "empty", "array", "asarray"):
        return Tensor(
            array=True,
            made_here=True,
            sizes=_factory_sizes({"array": "tensor", "asarray": "tensor"}.get(last, last), arguments),
        )
    return Tensor(array=True, made_here=True)


def _math(name: str, arguments: Arguments) -> Value:
    last = name.removeprefix("math.")
    inputs = [known(value) for value in arguments.positional]
    if any(isinstance(value, Scalar) for value in inputs):
        return Scalar("float")
    kind = "int" if last in ("floor", "ceil", "gcd", "lcm", "prod", "comb", "factorial", "isqrt", "trunc") else "float"
    kind = "bool" if last.startswith("is") and last != "isqrt" else kind
    if any(isinstance(value, SizeInt) for value in inputs):
        return SizeInt() if kind == "int" else Host(kind)
    origin = next((value.origin for value in inputs if isinstance(value, Host) and value.origin), "")
    return Host(kind, origin)


def _operator(name: str, arguments: Arguments) -> Value:
    last = name.removeprefix("operator.").strip("_")
    if len(arguments.positional) == 2:
        last = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}.get(last, last)
        return arithmetic.result_of(last, known(arguments.positional[0]), known(arguments.positional[1]))
    return UNKNOWN


# calls that mean something of their own


def _partial(frame: Frame, span: Span, name: str, arguments: Arguments) -> Value:
    if not arguments.positional:
        return UNKNOWN
    return Partial(known(arguments.positional[0]), replace(arguments, positional=arguments.positional[1:]))


def _disable(frame: Frame, span: Span, name: str, arguments: Arguments) -> Value:
    target = arguments.get(0, "fn")
    recursive = arguments.keyword("recursive") != Const(False)
    if target is None or target == NONE:
        return Partial(External(name), arguments)
    return Disabled(known(target), recursive)


def _compiling(frame: Frame, span: Span, name: str, arguments: Arguments) -> Value:
    return Const(True) if frame.traced else Host("bool")


def _scripting(frame: Frame, span: Span, name: str, arguments: Arguments) -> Value:
    return Const(False)


def _cond(frame: Frame, span: Span, name: str, arguments: Arguments) -> Value:
    """`torch.cond(pred, true_fn, false_fn, operands)`: both branches are traced into the graph."""
    operands = arguments.get(3, "operands")
    inner = Arguments(operands.items) if isinstance(operands, Tuple_) else Arguments(open_ended=True)
    branches = [arguments.get(1, "true_fn"), arguments.get(2, "false_fn")]
    results = [calls.call(frame, span, known(branch), inner) for branch in branches if branch is not None]
    return join_all(results)


def _is_tensor(frame: Frame, span: Span, name: str, arguments: Arguments) -> Value:
    from . import conditions

    if not arguments.positional:
        return Host("bool")
    outcome = conditions.isinstance_of(arguments.positional[0], External("torch.Tensor"))
    return Host("bool") if outcome is None else Const(outcome)


def _reduce(frame: Frame, span: Span, name: str, arguments: Arguments) -> Value:
    if len(arguments.positional) < 2:
        return UNKNOWN
    element = element_of(known(arguments.positional[1]))
    return calls.call(frame, span, known(arguments.positional[0]), Arguments((element, element)))


def _chain(frame: Frame, span: Span, name: str, arguments: Arguments) -> Value:
    return Sequence(join_all([element_of(known(v)) for v in arguments.positional]), "iterator")


def _product(frame: Frame, span: Span, name: str, arguments: Arguments) -> Value:
    return Sequence(Tuple_(tuple(element_of(known(v)) for v in arguments.positional)), "iterator")


def _deepcopy(frame: Frame, span: Span, name: str, arguments: Arguments) -> Value:
    return arguments.positional[0] if arguments.positional else UNKNOWN


def _nullcontext(frame: Frame, span: Span, name: str, arguments: Arguments) -> Value:
    return ExternalObject(name, arguments.positional)


def _script(frame: Frame, span: Span, name: str, arguments: Arguments) -> Value:
    return Opaque(arguments.positional[0]) if arguments.positional else External(name)


_SPECIAL: dict[str, Callable[[Frame, Span, str, Arguments], Value]] = {
    "torch.compile": region.compile_call,
    "functools.partial": _partial,
    "torch.compiler.disable": _disable,
    "torch.compiler.is_compiling": _compiling,
    "torch.jit.is_scripting": _scripting,
    "torch.jit.is_tracing": _scripting,
    "torch.cond": _cond,
    "torch.is_tensor": _is_tensor,
    "functools.reduce": _reduce,
    "itertools.chain": _chain,
    "itertools.product": _product,
    "copy.deepcopy": _deepcopy,
    "copy.copy": _deepcopy,
    "contextlib.nullcontext": _nullcontext,
    "torch.jit.script": _script,
}


def call_object(frame: Frame, span: Span, receiver: ExternalObject, arguments: Arguments) -> Value:
    """Calling an instance of an external class: torch's modules, mostly."""
    frame.observe(Call(span, f"{receiver.cls}.__call__", arguments, receiver))
    if receiver.cls == "torch.nn.Sequential":
        return _sequential(frame, span, receiver, arguments)
    if receiver.cls == "torch.nn.parallel.DistributedDataParallel" and receiver.arguments:
        return calls.call(frame, span, known(receiver.arguments[0]), arguments)
    if not receiver.cls.startswith("torch.nn."):
        return UNKNOWN
    kind = frame.analysis.api.module_kind(receiver.cls)
    first = known(arguments.positional[0]) if arguments.positional else UNKNOWN
    if receiver.cls in ("torch.nn.Identity", "torch.nn.Flatten"):
        return replace(first, sizes=None) if isinstance(first, Tensor) else first
    sure = first.sure if isinstance(first, Tensor) else True
    if kind == "tensors":
        return Sequence(Tensor(made_here=True, sure=sure), "tuple")
    return Tensor(made_here=True, sure=sure, dtype="float") if kind == "tensor" else UNKNOWN


def _sequential(frame: Frame, span: Span, receiver: ExternalObject, arguments: Arguments) -> Value:
    value = arguments.positional[0] if arguments.positional else UNKNOWN
    for layer in receiver.arguments:
        layers = layer.items if isinstance(layer, Tuple_) else (layer,)
        for part in layers:
            value = calls.call(frame, span, known(part), Arguments((value,)))
    return value


def decorate(decorator: Value, value: Value) -> Value | None:
    """What an external decorator makes of a function; None where the decorator is not external."""
    match decorator:
        case External(name="torch.compiler.disable" | "torch.compiler.skip_frame"):
            return Disabled(value)
        case Partial(function=External(name="torch.compiler.disable"), arguments=options):
            return Disabled(value, options.keyword("recursive") != Const(False))
        case External(name="contextlib.contextmanager"):
            return value
        case External(name=name) | ExternalObject(cls=name) | Partial(function=External(name=name)):
            return Opaque(value) if name in OPAQUE else value
        case Opaque() | Class() | Instance() | Bound() | Function() | Compiled() | Mapping():
            return None
    return value if not isinstance(decorator, (Partial,)) else None
