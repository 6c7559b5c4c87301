"""`torch.compile`: where the traced region begins, and what calls of compiled code are seen around it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec.structs import replace

from ..facts import CompileCall
from ..guards import COMPILER, GRADIENT, MODE, Called, Guard, Kind, Number, Place
from ..ir import Node, Span
from ..symbols import FunctionSymbol
from ..values import (
    NONE,
    Arguments,
    Bound,
    Compiled,
    Const,
    External,
    Function,
    Instance,
    Mapping,
    Partial,
    Sequence,
    Tensor,
    Tuple_,
    Value,
    kind_of,
    known,
)
from . import calls, protocols
from .analysis import Following, SeenCall
from .frame import Frame

COMPILE = "torch.compile"
DEFAULTS = (("backend", Const("inductor")), ("mode", Const("default")))
FOLLOWED = 24
"""Calls of one entry that are followed one by one."""


def is_compile(decorator: Value) -> bool:
    match decorator:
        case External(name=name) | Partial(function=External(name=name)):
            return name == COMPILE
    return False


def compile_call(frame: Frame, span: Span, name: str, arguments: Arguments) -> Value:
    """`torch.compile(model, **options)`; without a model it is a decorator still to be applied."""
    target = arguments.get(0, "model")
    if target is None or target == NONE:
        return Partial(External(COMPILE), arguments)
    if arguments.keyword("disable") == Const(True):
        return known(target)
    compiled = Compiled(known(target), _options(arguments))
    frame.analysis.enter(compiled, "call", frame.module, span)
    frame.declare(CompileCall(span, compiled))
    return compiled


def compile_method(frame: Frame, span: Span, receiver: Value, arguments: Arguments) -> Value:
    """`module.compile(**options)` compiles in place."""
    compiled = Compiled(receiver, _options(arguments))
    frame.analysis.enter(compiled, "call", frame.module, span)
    frame.analysis.compiled_in_place[receiver] = compiled
    return compiled


def compile_decorator(frame: Frame, node: Node, decorator: Value, value: Value) -> Value:
    options = _options(decorator.arguments) if isinstance(decorator, Partial) else ()
    if dict(options).get("disable") == Const(True):
        return value
    compiled = Compiled(value, options)
    frame.analysis.enter(compiled, "decorator", frame.module, node[1])
    frame.declare(CompileCall(node[1], compiled))
    return compiled


def _options(arguments: Arguments) -> tuple[tuple[str, Value], ...]:
    return tuple((name, value) for name, value in arguments.keywords if name not in ("model", "recursive"))


def call_compiled(frame: Frame, span: Span, compiled: Compiled, arguments: Arguments) -> Value:
    """A call of compiled code: inlined when the caller is traced itself, else remembered as one the entry gets."""
    if not frame.traced:
        arguments = _from_outside(arguments)
    if frame.traced or frame.eager or frame.following:
        return _run(frame, span, compiled, arguments)
    record = frame.analysis.enter(compiled, "call", frame.module, span)
    repeated = _repeated(frame)
    if repeated or len(record.calls) >= FOLLOWED or frame.analysis.following is not None:
        record.calls.append(SeenCall(arguments, repeated))
        return _run(frame, span, compiled, arguments)
    record.calls.append(SeenCall(arguments, repeated))
    target = calls.target_of(frame.analysis, compiled.target)
    same = frame.analysis.followed.setdefault(compiled if target is None else _code(target[0].symbol), [])
    compiled_at = Place(record.module.path, frame.qualname, record.span)
    value, called = _followed(frame, span, compiled, arguments, compiled_at)
    same.append((record, called))
    frame.analysis.program.ran = True
    return value


def _run(frame: Frame, span: Span, compiled: Compiled, arguments: Arguments) -> Value:
    """Call what has been compiled as if it had not been."""
    match known(compiled.target):
        case Instance() as module:
            return calls.call_instance(frame, span, module, arguments)
        case target:
            return calls.call(frame, span, target, arguments)


def _code(symbol: FunctionSymbol) -> object:
    """What stands for a function's code: a nested function is made anew at each call of the one around it."""
    return (symbol.module.path, symbol.span)


def _followed(
    frame: Frame, span: Span, compiled: Compiled, arguments: Arguments, compiled_at: Place
) -> tuple[Value, Called]:
    """Follow one call with all that is known of it: what it gives, and what it would be guarded on."""
    analysis = frame.analysis
    inside = Frame(analysis, frame.module, None, frame.settings, traced=True, caller=frame)
    analysis.following = following = Following(compiled_at)
    try:
        value = _run(inside, span, compiled, arguments)
    finally:
        analysis.following = None
    inputs, numbers = _parts(arguments)
    mode, switched = frame.gradients or ("", None)
    return value, Called(
        place=frame.place(span),
        written=frame.written or frame.place(span),
        switched=switched or frame.place(span),
        guards=tuple(_comparable(following.guards)),
        compiled=compiled_at,
        resets=analysis.program.resets,
        inputs=(*inputs, (MODE, mode), *_compiler(compiled)),
        numbers=(*numbers, *dict(following.numbers).items()),
    )


def _compiler(compiled: Compiled) -> Iterator[tuple[str, object]]:
    """What Dynamo asks to be the same before it uses compiled code again, where all of it is known."""
    told = [item for item in compiled.options if item[0] != "fullgraph" and item not in DEFAULTS and item[1] != NONE]
    if all(isinstance(value, (Const, External, Function)) for _, value in told):
        yield COMPILER, frozenset(told)


def _comparable(guards: Iterable[Guard]) -> Iterator[Guard]:
    """Each guard once; those on modules only where it is known of all of them what they are made of."""
    distinct = tuple(dict.fromkeys(guards))
    known_modules = all(guard.value is not None for guard in distinct if guard.kind is Kind.MODULE)
    return (guard for guard in distinct if known_modules or guard.kind is not Kind.MODULE)


def _parts(arguments: Arguments) -> tuple[list[tuple[str, object]], list[Number]]:
    """What kind of thing each argument is, and the numbers in it."""
    inputs: list[tuple[str, object]] = [("keywords", frozenset(name for name, _ in arguments.keywords))]
    numbers: list[Number] = []
    for name, value in [*((str(i), v) for i, v in enumerate(arguments.positional)), *arguments.keywords]:
        _describe(name, value, inputs, numbers)
    return inputs, numbers


def _describe(name: str, value: Value, inputs: list[tuple[str, object]], numbers: list[Number]) -> None:
    match value:
        case Tensor(sizes=sizes):
            inputs.append((name, "Tensor"))
            known_parts = {
                ".dtype": value.precision or value.dtype,
                ".order": value.order,
                ".rank": value.rank,
                GRADIENT: value.requires_grad,
            }
            inputs += [(f"{name}{part}", held) for part, held in known_parts.items() if held is not None]
            numbers += [(f"{name}.size({dim})", size) for dim, size in enumerate(sizes or ())]
        case Const(value=bool()):
            inputs.append((name, "bool"))
        case Const(value=int() | float() as number):
            inputs.append((name, value.kind))
            numbers.append((name, number))
        case Function(symbol=symbol, scope=Frame(env=held)):
            inputs.append((name, _code(symbol)))
            cells = [(variable, cell.value) for variable, cell in held.items() if isinstance(cell, Const)]
            numbers += [(f"{name}.{variable}", cell) for variable, cell in cells if isinstance(cell, int | float)]
        case Function(symbol=symbol) | Bound(function=Function(symbol=symbol)):
            inputs.append((name, _code(symbol)))
        case Tuple_(items=items):
            inputs.append((name, kind_of(value)))
            for position, item in enumerate(items):
                _describe(f"{name}[{position}]", item, [], numbers)  # the length counts, where it is used
        case Mapping(items=entries):
            for key, item in entries:
                _describe(f"{name}[{key!r}]", item, inputs, numbers)
        case _:
            inputs.append((name, kind_of(value)))


def _from_outside(arguments: Arguments) -> Arguments:
    """The arguments as the compiled code sees them: no tensor among them was made in it."""
    positional = tuple(_handed_in(value) for value in arguments.positional)
    keywords = tuple((name, _handed_in(value)) for name, value in arguments.keywords)
    return replace(arguments, positional=positional, keywords=keywords)


def _handed_in(value: Value) -> Value:
    match value:
        case Tensor():
            return replace(value, made_here=False, random=False, literal=False)
        case Sequence(element=Tensor() as element):
            return protocols.handed_in(replace(value, element=_handed_in(element)))
    return protocols.handed_in(value)


def _repeated(frame: Frame) -> bool:
    caller: Frame | None = frame
    while caller is not None:
        if caller.loops:
            return True
        caller = caller.caller
    return False
