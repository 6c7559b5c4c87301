"""Assignments to attributes, items and a module's names: what they hold afterwards, and what the rules hear of it."""

from __future__ import annotations

from ..facts import Change, Late, Setting, Store
from ..ir import Node
from ..values import (
    UNKNOWN,
    Class,
    Compiled,
    Const,
    External,
    ExternalObject,
    Instance,
    Mapping,
    ModuleRef,
    Sequence,
    Tuple_,
    Value,
    join,
    known,
)
from . import expressions, modules, objects, protocols
from .frame import Frame


def store_attribute(frame: Frame, target: Node, value: Value, update: bool = False) -> None:
    receiver = known(expressions.evaluate(frame, target[2]))
    name = target[3]
    symbol = objects.symbol_of(receiver, name)
    if symbol.startswith(("torch._dynamo.config.", "torch._inductor.config.")):
        frame.declare(Setting(target[1], symbol, value))
    path = expressions.path_of(target)
    previous = frame.lookup(path) if path else None
    if previous is None:
        previous = objects.stored(frame, receiver, name)
    if isinstance(receiver, Instance) and frame.storing:
        table = frame.analysis.attributes.setdefault(receiver, {})
        table[name] = join(table[name], value) if name in table and frame.conditions else value
    if isinstance(receiver, (Instance, Class, ExternalObject)) and not frame.storing:
        held = value if certain(frame) else join(previous, value)
        _remember(frame, target, receiver, name, previous, held, update)
    if symbol:
        frame.late(target[1], symbol)
    elif isinstance(receiver, Class) and not isinstance(value, Compiled):
        _patch(frame, target, receiver, name)
    counts = update and path not in frame.overwritten
    frame.observe(Store(target[1], symbol, receiver, name, value, previous, counts))
    if path:
        frame.env[path] = value
        if not update and not frame.conditions:
            frame.overwritten.add(path)


def _patch(frame: Frame, target: Node, receiver: Class, name: str) -> None:
    """A method that compiled code has run is replaced, or an attribute of a metaclass: nothing guards on either."""
    analysis = frame.analysis
    if frame.traced or analysis.peeking or not analysis.program.ran:
        return
    method = objects.find_method(analysis, receiver.symbol, name)
    metaclass = "builtins.type" in objects.resolution(analysis, receiver.symbol)[1]
    if metaclass or method in analysis.program.entered:
        frame.declare(Late(target[1], Change.PATCH, f"{receiver.symbol.qualname}.{name}"))


def certain(frame: Frame) -> bool:
    """Whether what is being interpreted happens, and happens once."""
    return not frame.loops and not frame.conditions


def _remember(
    frame: Frame, target: Node, receiver: Value, name: str, previous: Value, value: Value, update: bool
) -> None:
    """What an attribute holds by now, for the calls that are followed one by one."""
    analysis = frame.analysis
    previous = analysis.program.heap.get((receiver, name), previous)
    if analysis.peeking or not (frame.following or not frame.traced):
        return
    analysis.program.heap[receiver, name] = value
    if not frame.traced:
        analysis.program.stored_at[receiver, name] = frame.place(target[1])
    elif isinstance(receiver, Instance) and (update or _counts(previous, value)):
        analysis.program.counters.add((receiver, name))


def _counts(before: Value, after: Value) -> bool:
    match before, after:
        case Const(value=int() as old), Const(value=int() as new):
            return abs(new - old) == 1
    return False


def store_item(frame: Frame, target: Node, value: Value) -> None:
    expressions.subscript(frame, target, "write")
    base = target[2]
    holder = known(expressions.peek(frame, base))
    if isinstance(holder, (Instance, External, ExternalObject)):
        protocols.special(frame, target[1], holder, "__setitem__", expressions.peek(frame, target[3]), value)
    if isinstance(holder, (Tuple_, Sequence, Mapping)):
        expressions.mutate(frame, target[1], base, holder)
    if base[0] not in ("name", "attr"):
        return
    held = frame.lookup(base[2]) if base[0] == "name" else expressions.peek(frame, base)
    changed = modules.with_item(frame, known(held or UNKNOWN), expressions.peek(frame, target[3]), value)
    if changed is not None:
        modules.hold(frame, base, changed)


def remember_global(frame: Frame, name: str, value: Value) -> None:
    """What a module's name holds by now, for the calls that are followed one by one."""
    if not frame.analysis.peeking and (frame.following or not frame.traced):
        frame.analysis.program.heap[ModuleRef(frame.module), name] = value if certain(frame) else UNKNOWN
