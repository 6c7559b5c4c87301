"""Containers of modules: `nn.ModuleList`, `nn.ModuleDict` and `nn.Sequential`, filled at once or bit by bit, and
classes derived from them.
"""

from __future__ import annotations

from msgspec.structs import replace

from ..ir import Node
from ..values import (
    MODULE_CONTAINERS,
    UNKNOWN,
    Arguments,
    Choice,
    Const,
    ExternalObject,
    Instance,
    Mapping,
    Sequence,
    Tuple_,
    Value,
    element_of,
    join,
    join_all,
    known,
    options_of,
)
from . import expressions, objects
from .frame import Frame

SUPER_INIT = "super().__init__"
"""The method's name, and that of the pseudo attribute that keeps what the external base was made of."""
MODULE_DICT = "torch.nn.ModuleDict"


def as_external(frame: Frame, receiver: Instance) -> ExternalObject | None:
    """An object of a class derived from one of torch's modules, as an object of that class."""
    held = objects.built(frame, receiver, SUPER_INIT)
    own = receiver.arguments.positional if receiver.arguments else ()
    made_of = held.items if isinstance(held, Tuple_) else own
    for base in objects.resolution(frame.analysis, receiver.symbol)[1]:
        if frame.analysis.api.is_module_class(base):
            return ExternalObject(base, made_of)
    return None


def keep_base_arguments(frame: Frame, receiver: Instance, arguments: Arguments) -> None:
    """`super().__init__(first, second)` in a class derived from `nn.Sequential`."""
    if arguments.positional:
        frame.analysis.attributes.setdefault(receiver, {})[SUPER_INIT] = Tuple_(arguments.positional)


def children(frame: Frame, receiver: Instance) -> Value:
    """One of the modules that the constructor left in attributes."""
    held = [known(value) for value in objects.all_built(frame, receiver).values()]
    return join_all([value for value in held if all(is_module(frame, option) for option in options_of(value))])


def is_module(frame: Frame, value: Value) -> bool:
    """Whether it is an object of a module's class."""
    match value:
        case Instance(symbol=symbol):
            return objects.is_module(frame.analysis, symbol)
        case ExternalObject(cls=cls):
            return frame.analysis.api.is_module_class(cls)
    return False


def hold(frame: Frame, node: Node, value: Value) -> None:
    """The container that a variable or an attribute names has changed to `value`."""
    path = expressions.path_of(node)
    if path is None:
        return
    frame.env[path] = value
    if node[0] == "attr" and frame.storing:
        receiver = known(expressions.peek(frame, node[2]))
        if isinstance(receiver, Instance):
            frame.analysis.attributes.setdefault(receiver, {})[node[3]] = value


def extended(frame: Frame, held: Value, method: str, arguments: Arguments) -> Value | None:
    """The container after `append` and its like; None where the call leaves it as it is, or it is no container."""
    if not arguments.positional:
        return None
    last = arguments.positional[-1]
    match held, method:
        case Tuple_() | Sequence(), "append" | "add" | "appendleft" | "insert":
            return _with(frame, held, last, known_place=method == "append")
        case Tuple_() | Sequence(), "extend" | "update":
            return _with_all(frame, held, known(arguments.positional[0]))
        case ExternalObject(cls=cls), "append" | "insert" | "add_module" if cls in MODULE_CONTAINERS:
            return rewrapped(held, _with(frame, _inside(held), last, known_place=method != "insert"))
        case ExternalObject(cls=cls), "extend" if cls in MODULE_CONTAINERS:
            return rewrapped(held, _with_all(frame, _inside(held), known(arguments.positional[0])))
    return None


def _with(frame: Frame, held: Value, added: Value, known_place: bool) -> Value:
    match held:
        case Tuple_(items=items) if known_place and not frame.loops and not frame.conditions:
            return Tuple_((*items, added), mutable=True)
        case Tuple_(items=()):
            return Sequence(added)
        case Sequence(kind=kind):
            return Sequence(join(held.element, added), kind)
    return Sequence(join(element_of(held), added), "list")


def _with_all(frame: Frame, held: Value, added: Value) -> Value:
    if isinstance(held, Tuple_) and isinstance(added, Tuple_) and not frame.loops and not frame.conditions:
        return Tuple_((*held.items, *added.items), mutable=True)
    return _with(frame, held, element_of(added), known_place=False)


def with_item(frame: Frame, held: Value, index: Value, value: Value) -> Value | None:
    """The container after `held[index] = value`; None where it is none."""
    match held:
        case Mapping():
            return _put(held, index, value)
        case Tuple_() | Sequence():
            empty = isinstance(held, Tuple_) and not held.items
            return Sequence(value if empty else join(element_of(held), value))
        case ExternalObject(cls="torch.nn.ModuleDict", arguments=arguments):
            inside = arguments[0] if arguments else Mapping()
            return rewrapped(held, _put(inside, index, value)) if isinstance(inside, Mapping) else None
    return None


def _put(held: Mapping, index: Value, value: Value) -> Mapping:
    if isinstance(index, Const) and isinstance(index.value, (str, int)):
        items = dict(held.items)
        items[index.value] = value
        return Mapping(tuple(items.items()), held.rest)
    return Mapping(held.items, value if held.rest is None else join(held.rest, value))


def _inside(container: ExternalObject) -> Value:
    match container.arguments:
        case (Tuple_() | Sequence() as only,):
            return only
        case (Mapping(items=items, rest=None),):
            return Tuple_(tuple(part for _, part in items), mutable=True)
    return Tuple_(container.arguments, mutable=True)


def rewrapped(container: ExternalObject, inside: Value) -> ExternalObject:
    return replace(container, arguments=(inside,))


def sliced(container: ExternalObject) -> ExternalObject:
    """`container[first:last]`: of modules of several classes it may hold any."""
    element = element_of(container)
    return rewrapped(container, Sequence(UNKNOWN)) if isinstance(element, Choice) else container


def item(container: ExternalObject, index: Value) -> Value:
    """`container[index]`; what all its modules have in common where the position is not known."""
    modules = _inside(container)
    match modules, index:
        case Tuple_(items=items), Const(value=int() as position) if -len(items) <= position < len(items):
            return items[position]
    return element_of(modules)
