"""Objects: attributes of instances, classes, modules, tensors and external things; methods found through the bases."""

from __future__ import annotations

import sys

from msgspec.structs import replace

from ..dependence import ANY
from ..facts import Attribute, Enter, MethodOfCompiled
from ..guards import Kind
from ..ir import Node, Span
from ..symbols import ClassSymbol, FunctionSymbol, Store
from ..values import (
    NONE,
    SIZE,
    SIZES,
    UNKNOWN,
    Arguments,
    Bound,
    Choice,
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
    Method,
    ModuleRef,
    Partial,
    Scalar,
    Sequence,
    SizeInt,
    Super,
    Tensor,
    Tuple_,
    Value,
    join,
    join_all,
    known,
)
from ..vocabulary import MODULE_METHODS, MODULE_NUMBERS
from . import calls, construction, decorators, expressions, hints, modules, names, shapes
from .analysis import Analysis
from .frame import Frame

MODULE = "torch.nn.Module"
BY_VALUE = {"int", "bool", "str"}
"""What is guarded by value: floats become symbolic after one change."""
NO_LIBRARY = sys.stdlib_module_names | {"builtins", "torch", "numpy"}
DATACLASSES = {"dataclasses.dataclass", "typing.NamedTuple", "typing.TypedDict"}


def attribute(frame: Frame, span: Span, receiver: Value, name: str) -> Value:
    """`receiver.name`."""
    match receiver:
        case External():
            return _external_attribute(frame, span, receiver, name)
        case Instance():
            return instance_attribute(frame, span, receiver, name)
        case Tensor():
            return tensor_attribute(frame, span, receiver, name)
        case ModuleRef(module=module):
            frame.analysis.tracker.rests |= module.mask_of(name)
            if name in module.bindings:
                return names.value_of(frame.analysis, module, name)
            submodule = frame.analysis.project.find(f"{module.name}.{name}", module)
            return UNKNOWN if submodule is None else names.referred(frame.analysis, submodule)
        case Class():
            return _class_attribute(frame, span, receiver, name)
        case Super():
            return _super_attribute(frame, span, receiver, name)
        case Compiled(target=target):
            return _of_compiled(frame, span, attribute(frame, span, known(target), name))
        case Disabled(target=target):
            return attribute(frame, span, known(target), name)
        case ExternalObject():
            return _object_attribute(frame, span, receiver, name)
        case Choice(options=options):
            return join_all([attribute(frame, span, option, name) for option in options])
        case Const(value=None):
            return UNKNOWN
        case Const() | Host() | Scalar() | SizeInt():
            return Method(receiver, name)
        case Tuple_() | Sequence() | Mapping() | Bound() | Partial() | Method() | Function():
            return Method(receiver, name)
    if frame.traced and frame.analysis.api.is_tensor_only(name):
        return Method(Tensor(sure=False), name)
    if frame.traced and name == "shape":
        return SIZES
    return UNKNOWN


def _of_compiled(frame: Frame, span: Span, value: Value) -> Value:
    """Tell of a method of the user's own: it belongs to the module inside, and runs as that one would."""
    match value:
        case Bound(receiver=Instance() as receiver, function=Function(symbol=symbol)):
            if not (frame.traced or frame.analysis.peeking):
                frame.declare(MethodOfCompiled(span, receiver, symbol))
    return value


def _external_attribute(frame: Frame, span: Span, receiver: External, name: str) -> Value:
    symbol = frame.analysis.api.canonical(f"{receiver.name}.{name}")
    fact = Attribute(span, symbol, receiver)
    if symbol.startswith("torch.compiler."):
        frame.declare(fact)
    else:
        frame.observe(fact)
    return External(symbol)


def tensor_attribute(frame: Frame, span: Span, receiver: Tensor, name: str) -> Value:
    """A tensor's attribute or method."""
    prefix = "numpy.ndarray" if receiver.array else "torch.Tensor"
    frame.observe(Attribute(span, f"{prefix}.{name}", receiver))
    match name:
        case "shape":
            return shape_of(receiver, frame.following)
        case "data" | "real" | "imag":
            return replace(receiver, order=None)
        case "T" | "mT" | "H" | "mH":
            return replace(
                receiver.reshaped(shapes.transposed(receiver.sizes)), order=None, made_here=receiver.made_here
            )
        case "dtype" | "device":
            return Host(name)
    kind = frame.analysis.api.attributes.get(name)
    match kind:
        case None:
            return Method(receiver, name)
        case "tensor":
            return join(Tensor(), NONE)
        case "int":
            return Host("int") if receiver.sizes is None or name != "ndim" else Const(len(receiver.sizes))
    return Host(kind if kind in ("bool", "str", "float") else "")


def shape_of(receiver: Tensor, exact: bool) -> Value:
    if receiver.unbacked:
        return Sequence(SizeInt(unbacked=True), "size")
    if receiver.sizes is None:
        return SIZES
    return Tuple_(tuple(SIZE if size is None or not exact else Const(size) for size in receiver.sizes))


def _object_attribute(frame: Frame, span: Span, receiver: ExternalObject, name: str) -> Value:
    frame.observe(Attribute(span, f"{receiver.cls}.{name}", receiver))
    if receiver.cls.startswith("torch.nn."):
        if name in ("weight", "bias", "in_proj_weight"):
            return Tensor()
        if name == "training":
            return Host("bool", "training")
        if name in MODULE_NUMBERS:
            return Host("int")
    return Method(receiver, name)


def symbol_of(receiver: Value, name: str) -> str:
    """The qualified name of `receiver.name` where the receiver is external, else empty."""
    match receiver:
        case External():
            return f"{receiver.name}.{name}"
        case ExternalObject():
            return f"{receiver.cls}.{name}"
        case Tensor():
            return f"{'numpy.ndarray' if receiver.array else 'torch.Tensor'}.{name}"
    return ""


def resolution(analysis: Analysis, symbol: ClassSymbol) -> tuple[tuple[ClassSymbol, ...], tuple[str, ...]]:
    """First-party classes in lookup order, and the external bases behind them."""
    # a class that is its own base by mistake ends here
    return analysis.tracker.once(
        analysis.mro, symbol, lambda: _resolve_bases(analysis, symbol), meanwhile=((symbol,), ())
    )


def _resolve_bases(analysis: Analysis, symbol: ClassSymbol) -> tuple[tuple[ClassSymbol, ...], tuple[str, ...]]:
    analysis.tracker.rests |= symbol.mask
    own: list[ClassSymbol] = [symbol]
    external: list[str] = []
    scope = symbol.scope if isinstance(symbol.scope, Frame) else analysis.module_frame(symbol.module)
    for base in symbol.bases:
        match known(expressions.peek(scope, base)):
            case Class(symbol=parent):
                classes, outside = resolution(analysis, parent)
                own += [cls for cls in classes if cls not in own]
                external += [name for name in outside if name not in external]
            case External(name=name):
                external.append(name)
    return tuple(own), tuple(external)


def is_module(analysis: Analysis, symbol: ClassSymbol) -> bool:
    """Whether the class is an `nn.Module`, or has a `forward` and a base of some library that is not read."""
    bases = resolution(analysis, symbol)[1]
    if any(name == MODULE or analysis.api.is_module_class(name) for name in bases):
        return True
    foreign = [name for name in bases if name.partition(".")[0] not in NO_LIBRARY]
    return bool(foreign) and find_method(analysis, symbol, "forward") is not None


def find_method(analysis: Analysis, symbol: ClassSymbol, name: str) -> FunctionSymbol | None:
    for cls in resolution(analysis, symbol)[0]:
        if name in cls.methods:
            return cls.methods[name]
    return None


def _as_it_is(frame: Frame, span: Span, receiver: Instance, name: str) -> Value | None:
    """An attribute in the call that is being followed."""
    value = frame.analysis.program.heap.get((receiver, name))
    if value is None:
        value = built(frame, receiver, name) or _declared(frame, receiver, name)
    if is_module(frame.analysis, receiver.symbol):
        guard_value(frame, span, receiver, name, value)
    elif isinstance(value, Const) and value.kind == "int" and frame.analysis.following is not None:
        frame.analysis.following.numbers.append((f"{receiver.symbol.qualname}.{name}", value.value))
    return value


def guard_value(frame: Frame, span: Span, receiver: Value, name: str, value: Value | None) -> None:
    """Dynamo guards by value an int or a string that it reads from a module or a class, and the sizes of a module's
    tensors; of a module in it the type.
    """
    analysis, key = frame.analysis, (receiver, name)
    match value:
        case Const() if value.kind in BY_VALUE:
            place = analysis.program.stored_at.get(key, frame.place(span))
            counts = key in analysis.program.counters
            analysis.guard_at(Kind.COUNTER if counts else Kind.ATTRIBUTE, place, (name, value.value))
        case Tensor(sizes=sizes) if sizes is not None:
            frame.guard(Kind.ATTRIBUTE, span, (name, sizes))
        case Instance() | ExternalObject() if key in analysis.program.stored_at:
            place = analysis.program.stored_at[key]
            analysis.guard_at(Kind.ATTRIBUTE, place, value)


def instance_attribute(frame: Frame, span: Span, receiver: Instance, name: str) -> Value:
    analysis = frame.analysis
    if frame.following and not frame.storing and (value := _as_it_is(frame, span, receiver, name)) is not None:
        return value
    method = find_method(analysis, receiver.symbol, name)
    made = receiver in analysis.attributes or not frame.storing
    stored_value = built(frame, receiver, name) if made else None
    if stored_value is None and method is not None:
        return _bind(frame, span, receiver, method)
    value = stored_value if stored_value is not None else _declared(frame, receiver, name)
    if value is None and frame.storing and name not in MODULE_METHODS:
        return UNKNOWN
    value = _with_later_stores(frame, receiver, name, value)
    if value is not None:
        return value if frame.storing or _is_seen_made(frame.analysis, receiver) else shapes.forgotten(value)
    if isinstance(_declared(frame, receiver, "__getattr__"), Instance):
        frame.observe(Attribute(span, "builtins.object.__getattr__", receiver))
        return UNKNOWN
    return _inherited(frame, span, receiver, name)


def _is_seen_made(analysis: Analysis, receiver: Instance) -> bool:
    """Whether the numbers that its constructor is given are those of the program, not defaults of a configuration."""
    if receiver.arguments is None:
        constructor = find_method(analysis, receiver.symbol, "__init__")
        return constructor is None or len(constructor.parameters) == 1
    given = (*receiver.arguments.positional, *(value for _, value in receiver.arguments.keywords))
    return not any(isinstance(value, Instance) and value.arguments is None for value in map(known, given))


def built(frame: Frame, receiver: Instance, name: str) -> Value | None:
    """What the constructor leaves in an attribute."""
    return _attributes(frame, receiver, f".{name}").get(name)


def all_built(frame: Frame, receiver: Instance) -> dict[str, Value]:
    """All the attributes that the constructor leaves behind."""
    return _attributes(frame, receiver, ANY)


def _attributes(frame: Frame, receiver: Instance, wanted: str) -> dict[str, Value]:
    analysis = frame.analysis
    if receiver not in analysis.attributes:
        calls.construct(frame, receiver)
    construction.work_out(frame, receiver, wanted)
    analysis.tracker.rests |= analysis.attributes.rests.get(receiver, 0)
    return analysis.attributes[receiver]


def _declared(frame: Frame, receiver: Instance, name: str) -> Value | None:
    """A class-level attribute: assigned there, or annotated as in a dataclass."""
    for cls in resolution(frame.analysis, receiver.symbol)[0]:
        if name in cls.annotations and _is_dataclass(frame.analysis, cls):
            return _field(frame, cls, receiver, name)
        if name in cls.attributes:
            value = _class_value(frame.analysis, cls, name)
            return Bound(receiver, value) if isinstance(value, Function) else value
        if name in cls.annotations:
            return hints.annotated(frame.analysis, cls.module, cls.annotations[name])
    return None


def _class_value(analysis: Analysis, cls: ClassSymbol, name: str) -> Value:
    """What the class body assigns to the name last."""
    touched = analysis.touched
    frame = analysis.module_frame(cls.module)
    value = analysis.tracker.once(
        analysis.class_values, (cls, name), lambda: expressions.peek(frame, cls.attributes[name][-1])
    )
    if analysis.touched != touched:
        del analysis.class_values[cls, name]
    return value


def _is_dataclass(analysis: Analysis, cls: ClassSymbol) -> bool:
    return analysis.tracker.once(analysis.dataclasses, cls, lambda: _marked_dataclass(analysis, cls))


def _marked_dataclass(analysis: Analysis, cls: ClassSymbol) -> bool:
    scope = analysis.module_frame(cls.module)
    marks = [*cls.decorators, *cls.bases]
    for node in marks:
        value = expressions.peek(scope, node[2] if node[0] == "call" else node)
        if isinstance(value, External) and value.name in DATACLASSES:
            return True
    return False


def _field(frame: Frame, cls: ClassSymbol, receiver: Instance, name: str) -> Value | None:

    if receiver.arguments is not None:
        position = list(cls.annotations).index(name)
        given = receiver.arguments.get(position, name)
        if given is not None:
            return given
        if name in cls.attributes:
            return _class_value(frame.analysis, cls, name)
    return hints.annotated(frame.analysis, cls.module, cls.annotations[name])


def _later_stores(analysis: Analysis, symbol: ClassSymbol, name: str) -> tuple[Store, ...]:
    def found() -> tuple[Store, ...]:
        methods = (method for cls in resolution(analysis, symbol)[0] for method in cls.storing.get(name, ()))
        return tuple(row for method in methods if method.name != "__init__" for row in method.stores.get(name, ()))

    return analysis.tracker.once(analysis.later_stores, (symbol, name), found)


def _with_later_stores(frame: Frame, receiver: Instance, name: str, value: Value | None) -> Value | None:
    """Other methods may assign it too: then its first value is not the only one."""
    later = () if frame.storing else _later_stores(frame.analysis, receiver.symbol, name)
    if not later:
        return value
    if isinstance(value, (Const, Host)) and value.kind in ("int", "float", "str", "bool"):
        return Host(value.kind, f"attribute {name}")
    analysis = frame.analysis
    return analysis.tracker.once(
        analysis.stored_later,
        (receiver, name),
        lambda: _joined_with(analysis, receiver, value, later),
        meanwhile=UNKNOWN if value is None else value,
    )


def _joined_with(analysis: Analysis, receiver: Instance, value: Value | None, later: tuple[Store, ...]) -> Value:
    for method, _, expression in later:
        scope = analysis.module_frame(method.module)
        scope.env = calls.generic_environment(analysis, method, receiver)
        assigned = expressions.peek(scope, expression)
        if assigned == UNKNOWN and isinstance(value, (Instance, ExternalObject)):
            continue  # a setter that takes anything is made to take more of the same
        value = assigned if value is None else join(value, assigned)
    return UNKNOWN if value is None else value


def _inherited(frame: Frame, span: Span, receiver: Instance, name: str) -> Value:
    """An attribute of an external base class."""
    external = resolution(frame.analysis, receiver.symbol)[1]
    if is_module(frame.analysis, receiver.symbol):
        if name == "training":
            return Host("bool", "training")
        return Method(receiver, name) if name in MODULE_METHODS else UNKNOWN
    if "torch.Tensor" in external:
        return Method(Tensor(), name)
    return Method(receiver, name) if external else UNKNOWN


def _bind(frame: Frame, span: Span, receiver: Value, method: FunctionSymbol) -> Value:
    """A method read from an instance: bound, unless a decorator makes it something else."""
    scope = method.owner and method.owner.scope
    value: Value = Function(method, scope)
    if method.decorators:
        value = decorators.decorated(frame.analysis.module_frame(method.module), method, scope)
    match value:
        case External(name="builtins.property"):
            return calls.call(frame, span, Bound(receiver, Function(method)), Arguments())
        case External(name="functools.cached_property"):
            if sys.version_info < (3, 12):  # it takes a lock there
                frame.observe(Enter(span, ExternalObject("threading.RLock"), "threading.RLock"))
            return calls.call(frame, span, Bound(receiver, Function(method)), Arguments())
        case External(name="builtins.staticmethod"):
            return Function(method)
        case External(name="builtins.classmethod") if isinstance(receiver, Instance):
            return Bound(Class(receiver.symbol), Function(method))
        case External(name="builtins.classmethod"):
            return Bound(receiver, Function(method))
        case Function():
            return Bound(receiver, value)
        case Compiled(target=Function() as function, options=options):
            return Compiled(Bound(receiver, function), options)
        case Disabled(target=Function() as function):
            return replace(value, target=Bound(receiver, function))
    return value


def _class_attribute(frame: Frame, span: Span, receiver: Class, name: str) -> Value:
    method = find_method(frame.analysis, receiver.symbol, name)
    if method is not None:
        value = decorators.decorated(frame.analysis.module_frame(method.module), method, None)
        match value:
            case External(name="builtins.classmethod"):
                return Bound(receiver, Function(method))
            case External(name="builtins.staticmethod"):
                return Function(method)
        return value
    for cls in resolution(frame.analysis, receiver.symbol)[0]:
        if name in cls.classes:
            return Class(cls.classes[name])
    if frame.following:
        held = frame.analysis.program.heap.get((receiver, name)) or _declared(frame, Instance(receiver.symbol), name)
        guard_value(frame, span, receiver, name, held)
        if isinstance(held, Const):
            return held
    declared = _declared(frame, Instance(receiver.symbol), name)
    if declared is not None:
        return declared
    external = resolution(frame.analysis, receiver.symbol)[1]
    if "torch.autograd.Function" in external or "torch.autograd.function.Function" in external:
        return Method(receiver, name)
    return External(f"{external[0]}.{name}") if len(external) == 1 and external[0] != MODULE else UNKNOWN


def super_of(frame: Frame, node: Node) -> Value:
    """`super()` or `super(Cls, self)`."""
    method = frame
    while method.is_comprehension and method.scope is not None:
        method = method.scope
    if method.function is None or method.function.owner is None or not method.function.parameters:
        return UNKNOWN
    receiver = method.env.get(method.function.parameters[0][0], UNKNOWN)
    return Super(receiver, method.function.owner)


def _super_attribute(frame: Frame, span: Span, value: Super, name: str) -> Value:
    receiver = value.receiver
    symbol = receiver.symbol if isinstance(receiver, (Instance, Class)) else value.symbol
    classes, external = resolution(frame.analysis, symbol)
    after = classes[classes.index(value.symbol) + 1 :] if value.symbol in classes else classes[1:]
    for cls in after:
        if name in cls.methods:
            return _bind(frame, span, receiver, cls.methods[name])
    if name == "__init__" and isinstance(receiver, Instance):
        return Method(receiver, modules.SUPER_INIT)
    return (
        External(f"{external[0]}.{name}") if external and external[0] != MODULE else Method(receiver, f"super.{name}")
    )


def stored(frame: Frame, receiver: Value, name: str) -> Value:
    """What `receiver.name` held before an assignment to it."""
    if not isinstance(receiver, Instance) or frame.storing:
        return UNKNOWN
    return built(frame, receiver, name) or _declared(frame, receiver, name) or UNKNOWN


def call_method(frame: Frame, span: Span, receiver: Instance, name: str, arguments: Arguments) -> Value:
    method = find_method(frame.analysis, receiver.symbol, name)
    if method is None:
        return UNKNOWN
    return calls.call(frame, span, _bind(frame, span, receiver, method), arguments)
