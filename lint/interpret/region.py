"""`torch.compile`: where the traced region begins, and what calls of compiled code are seen around it."""

from __future__ import annotations

from msgspec.structs import replace

from ..facts import CompileCall
from ..ir import Node, Span
from ..values import (
    NONE,
    Arguments,
    Compiled,
    Const,
    External,
    Partial,
    Tensor,
    Value,
    known,
)
from . import calls
from .analysis import SeenCall
from .frame import Frame

COMPILE = "torch.compile"


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
    return compiled


def compile_decorator(frame: Frame, node: Node, decorator: Value, value: Value) -> Value:
    options = _options(decorator.arguments) if isinstance(decorator, Partial) else ()
    if dict(options).get("disable") == Const(True):
        return value
    compiled = Compiled(value, options)
    frame.analysis.enter(compiled, "decorator", frame.module, node[1])
    return compiled


def _options(arguments: Arguments) -> tuple[tuple[str, Value], ...]:
    return tuple((name, value) for name, value in arguments.keywords if name not in ("model", "recursive"))


def call_compiled(frame: Frame, span: Span, compiled: Compiled, arguments: Arguments) -> Value:
    """A call of compiled code: inlined when the caller is traced itself, else remembered as one the entry gets."""
    if not frame.traced:
        arguments = _from_outside(arguments)
    if not frame.traced and not frame.eager:
        record = frame.analysis.enter(compiled, "call", frame.module, span)
        record.calls.append(SeenCall(arguments, _repeated(frame)))
    return calls.call(frame, span, known(compiled.target), arguments)


def _from_outside(arguments: Arguments) -> Arguments:
    """The arguments as the compiled code sees them: no tensor among them was made in it."""
    positional = tuple(_handed_in(value) for value in arguments.positional)
    keywords = tuple((name, _handed_in(value)) for name, value in arguments.keywords)
    return replace(arguments, positional=positional, keywords=keywords)


def _handed_in(value: Value) -> Value:
    return replace(value, made_here=False, random=False) if isinstance(value, Tensor) else value


def _repeated(frame: Frame) -> bool:
    caller: Frame | None = frame
    while caller is not None:
        if caller.loops:
            return True
        caller = caller.caller
    return False
