"""Calls: first-party functions are interpreted with their arguments, everything else answers from what is known of
it."""

from __future__ import annotations

from msgspec.structs import replace

from ..emission import Emission, Site
from ..facts import Constructed, DisabledCall, HandedOver, OpaqueCall, UserCall
from ..ir import POSITIONAL, VARIADIC, VARIADIC_KEYWORD, Node, Span
from ..project import STUB
from ..symbols import FunctionSymbol
from ..values import (
    NONE,
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
    Maybe,
    Method,
    Opaque,
    Partial,
    Sequence,
    Tensor,
    Tuple_,
    Value,
    join,
    join_all,
    known,
)
from . import (
    construction,
    decorators,
    expressions,
    external,
    hints,
    methods,
    modules,
    objects,
    region,
    statements,
    usage,
)
from .analysis import MAX_DEPTH, UNCUT, Analysis, CallResult
from .frame import Frame


def call(frame: Frame, span: Span, callee: Value, arguments: Arguments, discarded: bool = False) -> Value:
    """The value of calling `callee`, with the facts that the call brings up."""
    match callee:
        case Function():
            return call_function(frame, span, callee, arguments)
        case Bound(receiver=receiver, function=function):
            own = replace(arguments, positional=(receiver, *arguments.positional))
            return call_function(frame, span, function, own)
        case External(name=name):
            return external.call(frame, span, name, arguments, discarded)
        case Method():
            return methods.call_method(frame, span, callee, arguments, discarded)
        case Class():
            return _instantiate(frame, span, callee, arguments)
        case Instance() if not (frame.traced or frame.eager) and callee in frame.analysis.compiled_in_place:
            return region.call_compiled(frame, span, frame.analysis.compiled_in_place[callee], arguments)
        case Instance():
            return call_instance(frame, span, callee, arguments)
        case ExternalObject():
            return external.call_object(frame, span, callee, arguments)
        case Partial(function=function, arguments=bound):
            return call(frame, span, function, _merged(bound, arguments))
        case Compiled():
            return region.call_compiled(frame, span, callee, arguments)
        case Disabled():
            return _call_disabled(frame, span, callee, arguments)
        case Opaque():
            return _call_opaque(frame, span, callee, arguments)
        case Maybe(value=value):
            return call(frame, span, value, arguments)
        case Choice(options=options):
            return _call_each(frame, span, options, arguments)
    return UNKNOWN


def _call_each(frame: Frame, span: Span, options: tuple[Value, ...], arguments: Arguments) -> Value:
    """Any of them may be the one that is called."""
    frame.conditions += 1
    results = [call(frame, span, option, arguments) for option in options]
    frame.conditions -= 1
    return join_all(results)


def _merged(bound: Arguments, arguments: Arguments) -> Arguments:
    given = {name for name, _ in arguments.keywords}
    return Arguments(
        bound.positional + arguments.positional,
        tuple(pair for pair in bound.keywords if pair[0] not in given) + arguments.keywords,
        bound.more_positional or arguments.more_positional,
        bound.more_keywords or arguments.more_keywords,
    )


def call_function(frame: Frame, span: Span, function: Function, arguments: Arguments) -> Value:
    """Interpret a first-party function for these arguments, once per distinct list of them."""
    analysis, symbol = frame.analysis, function.symbol
    analysis.tracker.rests |= symbol.mask
    env = bind_arguments(analysis, function, arguments)
    frame.observe(UserCall(span, symbol, arguments, env is not None))
    if env is None:
        return UNKNOWN
    if symbol.module.path.endswith(STUB):
        return returned(analysis, symbol)
    active = analysis.functions_active
    if symbol in active or frame.depth > MAX_DEPTH:
        analysis.cut_at = min(analysis.cut_at, active.index(symbol) if symbol in active else 0)
        return returned(analysis, symbol)
    traced = frame.traced or frame.calls_traced
    if not traced:
        _hand_over(frame, span, symbol, env)
    key = (symbol, function.scope, tuple(env.items()), traced, frame.settings, frame.eager)
    if frame.following:
        analysis.program.entered.add(symbol)
        return _interpret(frame, function, env, traced).value
    if (own := _built_by(frame, symbol, env)) is not None:
        if construction.defers(analysis, frame, own, symbol):
            construction.go_on(analysis, own, _callee(frame, function, env, traced), symbol)
            return NONE
        built = _interpret(frame, function, env, traced)
        frame.absorb(built.emissions, Site(frame.module.path, frame.qualname, span))
        return built.value
    result = _recalled(analysis, key) or work_out(frame, function, env, traced, key)
    frame.absorb(result.emissions, Site(frame.module.path, frame.qualname, span))
    return result.value


def _hand_over(frame: Frame, span: Span, symbol: FunctionSymbol, env: dict[str, Value]) -> None:
    """Tell of a method that is passed something compiled, or whose object was made with it."""
    receiver = env[symbol.parameters[0][0]] if symbol.owner is not None and symbol.parameters else None
    if isinstance(receiver, Instance) and receiver.arguments is not None and not frame.analysis.peeking:
        made_of = (*receiver.arguments.positional, *(value for _, value in receiver.arguments.keywords))
        if any(isinstance(value, Compiled) for value in (*made_of, *env.values())):
            frame.declare(HandedOver(span, symbol, receiver, tuple(env.items())))


def _recalled(analysis: Analysis, key: object) -> CallResult | None:
    result = analysis.memo.get(key)
    if result is not None:
        analysis.tracker.rests |= analysis.memo.rests.get(key, 0)
    elif analysis.partial:
        here = _here(analysis, key)
        result = analysis.partial.get(here)
        analysis.tracker.rests |= analysis.partial.rests.get(here, 0)
    return result


def work_out(frame: Frame, function: Function, env: dict[str, Value], traced: bool, key: object) -> CallResult:
    """Interpret a call, and remember what it gives unless that depends on more than the key."""
    analysis = frame.analysis
    touched, cut_at, analysis.cut_at = analysis.touched, analysis.cut_at, UNCUT
    outer, analysis.tracker.rests = analysis.tracker.rests, 0
    result = _interpret(frame, function, env, traced)
    whole = analysis.cut_at >= len(analysis.functions_active)
    if analysis.touched != touched:
        pass  # a function that calls compiled code is followed at each of its own calls
    elif whole:
        analysis.memo[key] = result
        analysis.memo.add(key, analysis.tracker.rests)
    else:
        here = _here(analysis, key)
        analysis.partial[here] = result
        analysis.partial.add(here, analysis.tracker.rests)
    analysis.cut_at = cut_at if whole else min(cut_at, analysis.cut_at)
    analysis.tracker.rests |= outer
    return result


def _built_by(frame: Frame, symbol: FunctionSymbol, env: dict[str, Value]) -> Instance | None:
    """The caller's own object, if the call goes on constructing it: `super().__init__()`, `self._build()`."""
    if not frame.storing or frame.function is None or not symbol.parameters:
        return None
    own = frame.env.get(frame.function.parameters[0][0])
    return own if isinstance(own, Instance) and env.get(symbol.parameters[0][0]) == own else None


def _here(analysis: Analysis, key: object) -> object:
    """The key of a result that was cut short: it holds only where the same functions are being interpreted."""
    return (key, frozenset(analysis.functions_active))


def _callee(frame: Frame, function: Function, env: dict[str, Value], traced: bool) -> Frame:
    symbol = function.symbol
    frame.analysis.tracker.rests |= symbol.mask
    if not traced:
        frame.analysis.driven.add(symbol)
    return Frame(
        analysis=frame.analysis,
        module=symbol.module,
        function=symbol,
        settings=frame.settings,
        traced=traced,
        env=dict(env),
        scope=function.scope,
        caller=frame,
        eager=frame.eager,
        storing=_built_by(frame, symbol, env) is not None,
        lazy=frame.lazy,
    )


def _interpret(frame: Frame, function: Function, env: dict[str, Value], traced: bool) -> CallResult:
    analysis, symbol = frame.analysis, function.symbol
    callee = _callee(frame, function, env, traced)
    analysis.functions_active.append(symbol)
    try:
        statements.run(callee, symbol.body)
    finally:
        analysis.functions_active.pop()
    callee.caller = None  # functions defined in it may keep it for long
    return CallResult(result_of(callee, symbol), tuple(callee.emissions))


def result_of(callee: Frame, symbol: FunctionSymbol) -> Value:
    """What the function gives back, its annotation standing in where the body does not tell."""
    if symbol.kind == "generator":
        return Sequence(join_all(callee.yields), "generator")
    value = join_all([*callee.returns, *([NONE] if callee.live and callee.returns else [])])
    if not callee.returns:
        return NONE if callee.live else returned(callee.analysis, symbol)
    return returned(callee.analysis, symbol) if value == UNKNOWN else value


def returned(analysis: Analysis, symbol: FunctionSymbol) -> Value:
    return hints.annotated(analysis, symbol.module, symbol.returns) or UNKNOWN


def bind_arguments(analysis: Analysis, function: Function, arguments: Arguments) -> dict[str, Value] | None:
    """Parameters → values; None where the arguments do not fit."""
    symbol = function.symbol
    positional, keywords = list(arguments.positional), dict(arguments.keywords)
    env: dict[str, Value] = {}
    for name, kind, annotation, default in symbol.parameters:
        if kind == VARIADIC:
            env[name] = Sequence(UNKNOWN, "tuple") if arguments.more_positional else Tuple_(tuple(positional))
            positional = []
        elif kind == VARIADIC_KEYWORD:
            env[name] = Mapping(tuple(keywords.items()), UNKNOWN if arguments.more_keywords else None)
            keywords = {}
        elif kind == POSITIONAL and positional:
            env[name] = _fitted(analysis, symbol, annotation, positional.pop(0))
        elif name in keywords:
            env[name] = _fitted(analysis, symbol, annotation, keywords.pop(name))
        elif arguments.open_ended:
            env[name] = _anything(analysis, function, annotation, default)
        elif default is not None:
            env[name] = _default(analysis, function, default)
        else:
            return None
    return None if (positional or keywords) and not arguments.open_ended else env


def _anything(analysis: Analysis, function: Function, annotation: Node | None, default: Node | None) -> Value:
    """A parameter that may or may not be among arguments passed on with `**`."""
    hinted = hints.annotated(analysis, function.symbol.module, annotation) or UNKNOWN
    return hinted if default is None else join(_default(analysis, function, default), hinted)


def _fitted(analysis: Analysis, symbol: FunctionSymbol, annotation: Node | None, value: Value) -> Value:
    """The argument, or what the annotation says where the argument is unknown."""
    if value != UNKNOWN or annotation is None:
        return value
    return hints.annotated(analysis, symbol.module, annotation) or value


def _default(analysis: Analysis, function: Function, default: Node) -> Value:
    scope = function.scope if isinstance(function.scope, Frame) else analysis.module_frame(function.symbol.module)
    return expressions.peek(scope, default)


def generic_environment(analysis: Analysis, symbol: FunctionSymbol, receiver: Value | None = None) -> dict[str, Value]:
    """Parameters of a function nobody was seen calling: annotations, uses in the body, types of the defaults."""
    env: dict[str, Value] = {}
    tensors = usage.tensor_parameters(analysis, symbol)
    for position, (name, kind, annotation, default) in enumerate(symbol.parameters):
        if position == 0 and receiver is not None and kind == POSITIONAL:
            env[name] = receiver
            continue
        if kind == VARIADIC:
            env[name] = Sequence(UNKNOWN, "tuple")
        elif kind == VARIADIC_KEYWORD:
            env[name] = Mapping((), UNKNOWN)
        else:
            env[name] = _generic(analysis, symbol, name, annotation, default, name in tensors)
    return env


def _generic(
    analysis: Analysis, symbol: FunctionSymbol, name: str, annotation: Node | None, default: Node | None, tensor: bool
) -> Value:
    hinted = hints.annotated(analysis, symbol.module, annotation)
    if hinted is not None:
        optional = default is not None and default[0] == "const" and default[2] is None
        value = join(hinted, NONE) if optional else hinted
        return Host(value.kind, f"argument {name}") if isinstance(value, Host) else value
    held = None if default is None else _default(analysis, Function(symbol), default)
    if held is None or held == NONE:
        value = Tensor(sure=False) if tensor else UNKNOWN
        return value if held is None or value == UNKNOWN else Maybe(value)
    if isinstance(held, Const):
        return Host(held.kind, f"argument {name}")
    return held


def _instantiate(frame: Frame, span: Span, cls: Class, arguments: Arguments) -> Value:
    analysis = frame.analysis
    frame.observe(Constructed(span, cls.symbol))
    instance = Instance(cls.symbol, arguments)
    bases = objects.resolution(analysis, cls.symbol)[1]
    if any(base in ("enum.Enum", "enum.IntEnum", "enum.StrEnum") for base in bases):
        return Host("", "enum")
    if instance in analysis.attributes and not frame.traced:
        analysis.tracker.rests |= analysis.attributes.rests.get(instance, 0)
        return instance
    construct(frame, instance, span)
    if "torch.Tensor" in bases:
        return Tensor()
    return instance


def construct(frame: Frame, instance: Instance, span: Span | None = None) -> None:
    """Run `__init__`, which fills the instance's attributes, or get ready to."""
    analysis = frame.analysis
    outer, analysis.tracker.rests = analysis.tracker.rests, 0
    analysis.attributes.setdefault(instance, {})
    _construct(frame, instance, span)
    analysis.attributes.add(instance, analysis.tracker.rests)
    analysis.tracker.rests |= outer


def _construct(frame: Frame, instance: Instance, span: Span | None) -> None:
    analysis = frame.analysis
    method = objects.find_method(analysis, instance.symbol, "__init__")
    if method is None:
        return
    analysis.tracker.rests |= method.mask
    lazy = span is None or (frame.lazy and not frame.traced)
    if not lazy and method in analysis.functions_active:
        return
    if instance.arguments is None:
        env: dict[str, Value] | None = generic_environment(analysis, method, instance)
    else:
        own = replace(instance.arguments, positional=(instance, *instance.arguments.positional))
        env = bind_arguments(analysis, Function(method), own)
    if env is None:
        env = generic_environment(analysis, method, instance)
    traced = frame.traced and span is not None
    callee = Frame(analysis, method.module, method, frame.settings, traced, env, caller=frame, storing=True)
    if isinstance(instance.symbol.scope, Frame):
        callee.scope = instance.symbol.scope
    if lazy:
        callee.lazy, callee.caller = True, None
        construction.begin(analysis, instance, callee, method)
        return
    analysis.constructions.pop(instance, None)
    if frame.following:
        analysis.program.entered.add(method)
    analysis.functions_active.append(method)
    try:
        statements.run(callee, method.body)
    finally:
        analysis.functions_active.pop()
    if span is not None:
        frame.absorb(callee.emissions, Site(frame.module.path, frame.qualname, span))


def call_instance(frame: Frame, span: Span, receiver: Instance, arguments: Arguments) -> Value:
    """The object's `__call__`, a module's `forward`, whether it is compiled or not."""
    analysis = frame.analysis
    name = "__call__"
    if objects.find_method(analysis, receiver.symbol, name) is None and objects.is_module(analysis, receiver.symbol):
        name = "forward"
    if objects.find_method(analysis, receiver.symbol, name) is not None:
        return objects.call_method(frame, span, receiver, name, arguments)
    base = modules.as_external(frame, receiver)
    return UNKNOWN if base is None else external.call_object(frame, span, base, arguments)


def _call_disabled(frame: Frame, span: Span, callee: Disabled, arguments: Arguments) -> Value:
    """A border of the region: Python runs the function, though without `recursive` its callees are traced again."""
    frame.observe(DisabledCall(span, _name_of(callee.target), callee.recursive, callee.reason))
    outside = Frame(
        frame.analysis,
        frame.module,
        frame.function,
        frame.settings,
        traced=False,
        caller=frame,
        scope=frame,
        eager=frame.eager,
    )
    if not callee.recursive:
        return _call_shallow(outside, frame, span, callee, arguments)
    return call(outside, span, callee.target, arguments)


def _call_opaque(frame: Frame, span: Span, callee: Opaque, arguments: Arguments) -> Value:
    """A function that goes into the graph as it is: what it gives is a tensor where its body does not tell."""
    outside = Frame(
        frame.analysis, frame.module, frame.function, frame.settings, traced=False, caller=frame, scope=frame
    )
    value = call(outside, span, callee.target, arguments)
    value = Tensor() if value == UNKNOWN else value
    frame.observe(OpaqueCall(span, callee, arguments, value))
    return value


def _call_shallow(outside: Frame, frame: Frame, span: Span, callee: Disabled, arguments: Arguments) -> Value:
    """`disable(recursive=False)`: only this one function is left out."""
    target = known(callee.target)
    receiver: tuple[Value, ...] = ()
    if isinstance(target, Bound):
        receiver, target = (target.receiver,), target.function
    if not isinstance(target, Function) or target.symbol in frame.analysis.functions_active:
        return UNKNOWN
    env = bind_arguments(frame.analysis, target, replace(arguments, positional=receiver + arguments.positional))
    if env is None:
        return UNKNOWN
    symbol = target.symbol
    inner = Frame(
        frame.analysis, symbol.module, symbol, frame.settings, False, env, target.scope, outside, calls_traced=True
    )
    frame.analysis.functions_active.append(symbol)
    try:
        statements.run(inner, symbol.body)
    finally:
        frame.analysis.functions_active.pop()
    frame.absorb(inner.emissions, Site(frame.module.path, frame.qualname, span))
    return result_of(inner, symbol)


def target_of(analysis: Analysis, value: Value) -> tuple[Function, Value | None] | None:
    """The first-party function that compiling `value` traces first, and its receiver."""
    match known(value):
        case Function(symbol=symbol) as function:
            return function, Instance(symbol.owner) if symbol.owner is not None else None
        case Bound(receiver=receiver, function=function):
            return function, receiver
        case Instance(symbol=symbol) as receiver:
            names = ("forward",) if objects.is_module(analysis, symbol) else ("__call__",)
            method = objects.find_method(analysis, symbol, names[0])
            return None if method is None else (_outermost(analysis, method), receiver)
        case Partial(function=inner) | Compiled(target=inner):
            return target_of(analysis, inner)
    return None


def _outermost(analysis: Analysis, method: FunctionSymbol) -> Function:
    """The wrapper that a decorator puts around a method; one that passes anything on tells less than the method."""
    match decorators.decorated(analysis.module_frame(method.module), method, method.owner and method.owner.scope):
        case Function(symbol=symbol) as wrapper if all(
            kind not in (VARIADIC, VARIADIC_KEYWORD) for _, kind, _, _ in symbol.parameters
        ):
            return wrapper
    return Function(method)


def interpret_entry(frame: Frame, function: Function, env: dict[str, Value]) -> tuple[Emission, ...]:
    """What tracing `function` with these parameters brings up."""
    return _interpret(frame, function, env, traced=True).emissions


def _name_of(value: Value) -> str:
    match value:
        case Function(symbol=symbol) | Bound(function=Function(symbol=symbol)):
            return symbol.qualname
        case External(name=name):
            return name
    return "the function"


def enter_context(frame: Frame, span: Span, value: Value) -> Value:
    """What `with value as x` binds, running a first-party `__enter__` and `__exit__`."""
    match value:
        case Instance(symbol=symbol) if objects.find_method(frame.analysis, symbol, "__enter__") is not None:
            entered = objects.call_method(frame, span, value, "__enter__", Arguments())
            exit_arguments = Arguments((NONE, NONE, NONE))
            objects.call_method(frame, span, value, "__exit__", exit_arguments)
            return entered
        case Sequence(kind="generator"):
            return value.element
        case ExternalObject():
            return value
    return UNKNOWN
