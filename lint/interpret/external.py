"""Code outside the project: what its functions return and what its decorators do to a function."""

from __future__ import annotations

from collections.abc import Callable

from msgspec.structs import replace

from ..facts import Call
from ..guards import Kind
from ..ir import Span
from ..values import (
    MODULE_CONTAINERS,
    NONE,
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
    Sequence,
    Tensor,
    Tuple_,
    Value,
    element_of,
    join_all,
    known,
    parts_of,
)
from ..vocabulary import ANSWERS, CALLERS, OPAQUE, TRANSFORMS
from . import arithmetic, builtin_calls, calls, conditions, region, results, shapes
from .frame import Frame

FIXED = {"dim", "dim0", "dim1", "dims", "axis", "axis0", "axis1", "start_dim", "end_dim"}
"""Parameters whose ints never become symbolic."""
FIXES_ALL = {"torch.Tensor.unfold"}
RESULT_OBJECTS = {
    "logging.getLogger": "logging.Logger",
    "transformers.utils.logging.get_logger": "logging.Logger",
    "re.compile": "re.Pattern",
    "re.match": "re.Match",
    "re.search": "re.Match",
    "re.fullmatch": "re.Match",
    "threading.Lock": "threading.Lock",
    "threading.RLock": "threading.RLock",
}


def call(frame: Frame, span: Span, name: str, arguments: Arguments, discarded: bool) -> Value:
    """`name(*arguments)` for a function or class outside the project."""
    frame.observe(Call(span, name, arguments, None, discarded))
    frame.late(span, name)
    if frame.following and name in ANSWERS:
        frame.analysis.program.answers.update(dict.fromkeys(ANSWERS[name], frame.place(span)))
    if name.startswith("builtins."):
        return builtin_calls.call_builtin(frame, span, name.removeprefix("builtins."), arguments)
    special = _SPECIAL.get(name)
    if special is not None:
        return special(frame, span, name, arguments)
    if name.startswith("torch."):
        return _torch(frame, span, name, arguments)
    if name.startswith("numpy."):
        return results.numpy_result(frame, name, arguments)
    if name.startswith("math."):
        return results.math_result(name, arguments)
    if name.startswith("operator."):
        return _operator(frame, name, arguments)
    if name in RESULT_OBJECTS:
        return ExternalObject(RESULT_OBJECTS[name])
    if name.rpartition(".")[2][:1].isupper() or name in frame.analysis.classes:
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
        return _body(frame, span, name, arguments.positional[0], rest)
    if name == "torch.nn.Parameter" or name == "torch.nn.Buffer":
        return join_tensor(arguments)
    if api.is_module_class(name):
        return ExternalObject(name, arguments.positional, arguments.keywords)
    if name == "torch.device":
        return ExternalObject(name)
    if name in OPAQUE and arguments.positional and isinstance(known(arguments.positional[0]), Const):
        return Partial(External(name), arguments)  # `custom_op("library::name", …)`, to be applied to the function
    if name in OPAQUE:
        return Opaque(arguments.positional[0], name) if arguments.positional else External(name)
    guard_fixed(frame, span, name, arguments)
    kind = api.kind_given(name, passed(frame, name, arguments))
    return results.result_of_kind(frame, name, kind, arguments, None)


def guard_fixed(frame: Frame, span: Span, name: str, arguments: Arguments) -> None:
    """What an operator fixes in the graph: which dimension it works on, and how many there are in a list."""
    if not frame.following:
        return
    arity = frame.analysis.api.arity(name)
    names = arity.names if arity is not None else ()
    given = [*zip((*names, *("" for _ in arguments.positional)), arguments.positional, strict=False)]
    for key, value in [*given, *arguments.keywords]:
        match known(value):
            case Const(value=int() as number) if key in FIXED or name in FIXES_ALL:
                frame.guard(Kind.VALUE, span, (key, number))
            case Tuple_(items=items):
                frame.guard(Kind.LENGTH, span, (key, len(items)))


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


# numpy, math, operator


def _operator(frame: Frame, name: str, arguments: Arguments) -> Value:
    last = name.removeprefix("operator.").strip("_")
    if last in ("attrgetter", "itemgetter", "methodcaller"):
        return UNKNOWN if frame.traced else ExternalObject(name)
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
    if target is None or target == NONE:
        return Partial(External(name), arguments)
    return _disabled(known(target), arguments)


def _disabled(target: Value, options: Arguments) -> Disabled:
    recursive = options.keyword("recursive") != Const(False)
    return Disabled(target, recursive, reason=options.keyword("reason") not in (None, NONE))


def _reset(frame: Frame, span: Span, name: str, arguments: Arguments) -> Value:
    if not frame.traced:
        frame.analysis.touched += 1
        frame.analysis.program.reset()
    return NONE


def _compiling(frame: Frame, span: Span, name: str, arguments: Arguments) -> Value:
    return Const(True) if frame.traced else Host("bool")


def _scripting(frame: Frame, span: Span, name: str, arguments: Arguments) -> Value:
    return Const(False)


def _cond(frame: Frame, span: Span, name: str, arguments: Arguments) -> Value:
    """`torch.cond(pred, true_fn, false_fn, operands)`: both branches are traced into the graph."""
    operands = arguments.get(3, "operands")
    inner = Arguments(operands.items) if isinstance(operands, Tuple_) else Arguments(more_positional=True)
    branches = [arguments.get(1, "true_fn"), arguments.get(2, "false_fn")]
    return join_all([_body(frame, span, name, branch, inner) for branch in branches if branch is not None])


def _body(frame: Frame, span: Span, operator: str, function: Value, arguments: Arguments) -> Value:
    """What a function gives that the operator traces into a graph of its own."""
    settings = frame.settings
    frame.settings = replace(settings, body_of=operator)
    try:
        return calls.call(frame, span, known(function), arguments)
    finally:
        frame.settings = settings


def _where(frame: Frame, span: Span, name: str, arguments: Arguments) -> Value:
    """With a condition alone it gives the indices, as many as the condition's values say."""
    if len(arguments.positional) == 1 and not arguments.keywords:
        return Sequence(Tensor(dtype="int", made_here=True, unbacked=True), "tuple")
    return _torch(frame, span, name, arguments)


def _is_tensor(frame: Frame, span: Span, name: str, arguments: Arguments) -> Value:
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
    """Dynamo runs these as generators of its own."""
    return Sequence(join_all([element_of(known(v)) for v in arguments.positional]), "generator")


def _product(frame: Frame, span: Span, name: str, arguments: Arguments) -> Value:
    return Sequence(Tuple_(tuple(element_of(known(v)) for v in arguments.positional)), "iterator")


def _deepcopy(frame: Frame, span: Span, name: str, arguments: Arguments) -> Value:
    return arguments.positional[0] if arguments.positional else UNKNOWN


def _nullcontext(frame: Frame, span: Span, name: str, arguments: Arguments) -> Value:
    return ExternalObject(name, arguments.positional)


def _ordered(frame: Frame, span: Span, name: str, arguments: Arguments) -> Value:
    return builtin_calls.call_builtin(frame, span, "dict", arguments)


def _script(frame: Frame, span: Span, name: str, arguments: Arguments) -> Value:
    """A scripted or traced function stays in the graph; a module does not."""
    target = known(arguments.positional[0]) if arguments.positional else External(name)
    if isinstance(target, (ExternalObject, Instance)):
        return ExternalObject("torch.jit.ScriptModule" if name == "torch.jit.script" else "torch.jit.TracedModule")
    return Opaque(target)


_SPECIAL: dict[str, Callable[[Frame, Span, str, Arguments], Value]] = {
    "torch.compile": region.compile_call,
    "functools.partial": _partial,
    "torch.compiler.disable": _disable,
    "torch.compiler.is_compiling": _compiling,
    "torch.compiler.reset": _reset,
    "torch._dynamo.reset": _reset,
    "torch.jit.is_scripting": _scripting,
    "torch.jit.is_tracing": _scripting,
    "torch.compiler.is_exporting": _scripting,
    "torch.onnx.is_in_onnx_export": _scripting,
    "collections.OrderedDict": _ordered,
    "torch.cond": _cond,
    "torch.is_tensor": _is_tensor,
    "torch.where": _where,
    "functools.reduce": _reduce,
    "itertools.chain": _chain,
    "itertools.cycle": _chain,
    "itertools.islice": _chain,
    "itertools.accumulate": _chain,
    "itertools.product": _product,
    "copy.deepcopy": _deepcopy,
    "copy.copy": _deepcopy,
    "contextlib.nullcontext": _nullcontext,
    "torch.jit.script": _script,
    "torch.jit.trace": _script,
}


def call_object(frame: Frame, span: Span, receiver: ExternalObject, arguments: Arguments) -> Value:
    """Calling an instance of an external class: torch's modules, mostly."""
    frame.observe(Call(span, f"{receiver.cls}.__call__", arguments, receiver))
    if "Dropout" in receiver.cls and (place := frame.analysis.program.stored_at.get((receiver, "p"))) is not None:
        frame.analysis.guard_at(Kind.ATTRIBUTE, place, frame.analysis.program.heap[receiver, "p"])
    _guard_module(frame, receiver)
    if receiver.cls == "torch.nn.Sequential":
        return _sequential(frame, span, receiver, arguments)
    if receiver.cls == "torch.nn.parallel.DistributedDataParallel" and receiver.arguments:
        return calls.call(frame, span, known(receiver.arguments[0]), arguments)
    if not receiver.cls.startswith("torch.nn."):
        return UNKNOWN
    kind = frame.analysis.api.module_kind(receiver.cls)
    first = known(arguments.positional[0]) if arguments.positional else UNKNOWN
    match receiver.cls, first:
        case "torch.nn.Identity", _:
            return first
        case "torch.nn.Flatten", Tensor():
            return first.reshaped()
    value = first if isinstance(first, Tensor) else Tensor()
    sizes, tail = shapes.of_module(receiver, value)
    if kind == "tensors":
        return Sequence(Tensor(made_here=True, sure=value.sure), "tuple")
    return Tensor("float", sizes, tail, made_here=True, sure=value.sure) if kind == "tensor" else UNKNOWN


def _guard_module(frame: Frame, receiver: ExternalObject) -> None:
    """The sizes of a module's parameters, and the numbers it keeps, are guarded on."""
    following = frame.analysis.following
    given = [*((None, value) for value in receiver.arguments), *receiver.options]
    if following is not None and given and receiver.cls not in MODULE_CONTAINERS:
        whole = all(isinstance(known(value), Const) for _, value in given)
        frame.analysis.guard_at(Kind.MODULE, following.compiled_at, (receiver.cls, *given) if whole else None)


def _sequential(frame: Frame, span: Span, receiver: ExternalObject, arguments: Arguments) -> Value:
    value = arguments.positional[0] if arguments.positional else UNKNOWN
    for part in parts_of(receiver):
        value = calls.call(frame, span, known(part), Arguments((value,)))
    return value


def decorate(decorator: Value, value: Value) -> Value | None:
    """What an external decorator makes of a function; None where the decorator is not external."""
    match decorator:
        case External(name="torch.compiler.disable" | "torch.compiler.skip_frame"):
            return Disabled(value)
        case Partial(function=External(name="torch.compiler.disable"), arguments=options):
            return _disabled(value, options)
        case External(name="contextlib.contextmanager"):
            plain = isinstance(value, Function) and value.symbol.kind == "plain"
            return Opaque(value, decorator.name) if plain else value
        case External(name=name) | ExternalObject(cls=name) | Partial(function=External(name=name)):
            return Opaque(value, name) if name in OPAQUE else value
        case Opaque() | Class() | Instance() | Bound() | Function() | Compiled() | Mapping():
            return None
    return value if not isinstance(decorator, (Partial,)) else None
