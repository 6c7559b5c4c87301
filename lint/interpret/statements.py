"""Statements: run a block in a frame, join branches, and carry loops to a fixpoint of two passes."""

from __future__ import annotations

from collections.abc import Callable

from ..facts import Branch, Definition, Enter, Return, Store
from ..guards import Kind
from ..ir import Block, Node
from ..symbols import ClassSymbol, FunctionSymbol, nodes_of, target_names
from ..values import (
    NONE,
    UNKNOWN,
    Class,
    Const,
    External,
    ExternalObject,
    Instance,
    ModuleRef,
    Scalar,
    Sequence,
    Tensor,
    Tuple_,
    Value,
    element_of,
    join,
    known,
)
from ..vocabulary import RESUMABLE_CONTEXTS
from . import calls, conditions, decorators, expressions, hints, names, operators, protocols, stores
from .frame import Frame

UNROLL = 16
"""Loops over known values around compiled calls are followed pass by pass, this many of them."""
GRADIENT_MODES = {"torch.no_grad", "torch.inference_mode", "torch.enable_grad"}


def run(frame: Frame, body: Block) -> None:
    """Interpret `body`; what follows a `return`, `raise`, `break` or `continue` is not reached."""
    for node in body:
        if not frame.live:
            return
        handler = _HANDLERS.get(node[0])
        if handler is not None:
            handler(frame, node)


def _expression(frame: Frame, node: Node) -> None:
    value = node[2]
    if value[0] == "call":
        expressions.call(frame, value, discarded=True)
    else:
        expressions.evaluate(frame, value)


def _assign(frame: Frame, node: Node) -> None:
    value = expressions.evaluate(frame, node[3])
    for target in node[2]:
        if target[0] == "attr":
            path = expressions.path_of(target)
            stores.store_attribute(frame, target, value, update=path is not None and _reckons_with(path, node[3]))
        else:
            bind(frame, target, value)


def _reckons_with(path: str, node: Node) -> bool:
    """Whether that is arithmetic with what the path holds."""
    return node[0] == "bin" and any(
        expressions.path_of(side) == path or _reckons_with(path, side) for side in (node[3], node[4])
    )


def _annotated(frame: Frame, node: Node) -> None:
    if node[4] is not None:
        value = expressions.evaluate(frame, node[4])
        bind(
            frame,
            node[2],
            hints.annotated(frame.analysis, frame.module, node[3]) or value if value == UNKNOWN else value,
        )


def _augmented(frame: Frame, node: Node) -> None:
    operator, target, operand = node[2], node[3], node[4]
    access = "update" if target[0] == "sub" else "read"
    before = expressions.subscript(frame, target, access) if target[0] == "sub" else expressions.evaluate(frame, target)
    value = operators.binary(frame, node[1], operator, before, expressions.evaluate(frame, operand))
    if target[0] == "attr":
        stores.store_attribute(frame, target, value, update=True)
    elif target[0] != "sub":
        bind(frame, target, value)


def bind(frame: Frame, target: Node, value: Value) -> None:
    """Assign `value` to a name, attribute, item, or spread it over a tuple of targets."""
    match target[0]:
        case "name":
            frame.env[target[2]] = value
            if target[2] in frame.globals and frame.traced:
                frame.observe(Store(target[1], "", ModuleRef(frame.module), target[2], value, UNKNOWN))
            if target[2] in frame.globals or (frame.function is None and not frame.traced):
                stores.remember_global(frame, target[2], value)
        case "tuple" | "list":
            _spread(frame, target, known(value))
        case "star":
            bind(frame, target[2], Sequence(element_of(value)))
        case "attr":
            stores.store_attribute(frame, target, value)
        case "sub":
            stores.store_item(frame, target, value)


def _spread(frame: Frame, target: Node, value: Value) -> None:
    targets = target[2]
    starred = any(item[0] == "star" for item in targets)
    if isinstance(value, Tuple_) and len(value.items) == len(targets) and not starred:
        for item, part in zip(targets, value.items, strict=False):
            bind(frame, item, part)
        return
    part = protocols.iterate(frame, target[1], value)
    for item in targets:
        bind(frame, item, part)


def _return(frame: Frame, node: Node) -> None:
    value = NONE if node[2] is None else expressions.evaluate(frame, node[2])
    frame.returns.append(value)
    if frame.is_outermost:
        frame.observe(Return(node[1], value))
    frame.live = False


def _raise(frame: Frame, node: Node) -> None:
    if node[2] is not None:
        # under a condition it is the exceptional case, of which the program's normal course knows nothing
        (expressions.peek if frame.conditions else expressions.evaluate)(frame, node[2])
    frame.live = False


def _stop(frame: Frame, node: Node) -> None:
    frame.live = False


def _if(frame: Frame, node: Node) -> None:
    outcome = conditions.test(frame, node[2], "if")
    if outcome is not None:
        conditions.narrow(frame, node[2], outcome)
        run(frame, node[3] if outcome else node[4])
        return
    before = dict(frame.env)
    when = frame.when
    mark = len(frame.emissions)
    doubt = frame.tested == "host" and not conditions.is_training(frame, node[2])
    frame.conditions += 1
    frame.doubts += doubt
    conditions.narrow(frame, node[2], True)
    (conditions.run_rarely if _ends_in_raise(node[3]) else run)(frame, node[3])
    taken, taken_live, frame.env, frame.live, frame.when = frame.env, frame.live, before, True, when
    said = frozenset((e.hit.code, frame.source(e.hit.span)) for e in frame.emissions[mark:] if not e.calls)
    twins, frame.twins = frame.twins, frame.twins | said
    conditions.narrow(frame, node[2], False)
    run(frame, node[4])
    frame.conditions -= 1
    frame.doubts -= doubt
    frame.when = when
    if taken_live:
        frame.twins = twins
    _merge(frame, taken, taken_live)
    if not taken_live and frame.live:
        conditions.narrow(frame, node[2], False)


def _ends_in_raise(body: Block) -> bool:
    return bool(body) and body[-1][0] == "raise"


def _merge(frame: Frame, other: dict[str, Value], other_live: bool) -> None:
    """Join another branch's variables into the frame; a branch that left contributes nothing."""
    if not other_live:
        return
    if not frame.live:
        frame.env, frame.live = other, True
        return
    for name, value in other.items():
        mine = frame.env.get(name)
        if mine != value:
            frame.env[name] = value if mine is None else join(mine, value)


def _for(frame: Frame, node: Node) -> None:
    iterable = expressions.evaluate(frame, node[3])
    if isinstance(iterable, Tuple_):
        frame.guard(Kind.LENGTH, node[3][1], len(iterable.items))
        _guard_strings(frame, node, iterable)
    passes = _passes(frame, iterable)
    if passes is not None:
        outer = frame.written
        if node[3][0] in ("tuple", "list"):
            frame.written = frame.place(node[1])
        for value in passes:
            bind(frame, node[2], value)
            run(frame, node[4])
            frame.live = True
        frame.written = outer
        run(frame, node[5])
        return
    _loop(frame, node[4], lambda: bind(frame, node[2], protocols.iterate(frame, node[3][1], known(iterable))))
    run(frame, node[5])


def _guard_strings(frame: Frame, node: Node, iterable: Tuple_) -> None:
    """Strings that are looped over stand in the graph as they are, where the loop uses them."""
    strings = tuple(item.value for item in iterable.items if isinstance(item, Const) and isinstance(item.value, str))
    if strings and frame.following and _uses(node[4], node[2]):
        frame.guard(Kind.VALUE, node[3][1], strings)


def _uses(body: Block, target: Node) -> bool:
    names = {*target_names(target)}
    return any(node[0] == "name" and node[2] in names for node in nodes_of(body))


def _passes(frame: Frame, iterable: Value) -> tuple[Value, ...] | None:
    """The values of each pass, where code around compiled calls, or a call that is followed, loops over known ones."""
    if (frame.traced and not frame.following) or not isinstance(iterable, Tuple_):
        return None
    return iterable.items[:UNROLL]


def _while(frame: Frame, node: Node) -> None:
    if conditions.test(frame, node[2], "while") is False:
        return
    _loop(frame, node[3], lambda: conditions.test(frame, node[2], "while"))
    run(frame, node[4])


def _loop(frame: Frame, body: Block, advance: Callable[[], object]) -> None:
    before = dict(frame.env)
    frame.conditions += 1
    for _ in range(2):
        advance()
        frame.loops += 1
        # a loop body runs at least once in nearly every model: a break in it does lose the frame
        frame.conditions -= 1
        run(frame, body)
        frame.conditions += 1
        frame.loops -= 1
        frame.live = True
    frame.conditions -= 1
    _merge(frame, before, True)


def _with(frame: Frame, node: Node) -> None:
    lost, eager, gradients = 0, frame.eager, frame.gradients
    for context, target in node[2]:
        value = known(expressions.evaluate(frame, context))
        name = context_symbol(value)
        frame.observe(Enter(context[1], value, name))
        lost += name not in RESUMABLE_CONTEXTS
        if name == "torch.compiler.set_stance":
            frame.eager = True
        if name in GRADIENT_MODES:
            frame.gradients = (name, frame.place(node[1]))
        entered = calls.enter_context(frame, context[1], value)
        if target is not None:
            bind(frame, target, entered)
    frame.contexts += lost
    run(frame, node[3])
    frame.contexts -= lost
    frame.eager, frame.gradients = eager, gradients


def context_symbol(value: Value) -> str:
    match value:
        case ExternalObject():
            return value.cls
        case External():
            return value.name
        case Instance():
            return value.symbol.qualname
    return ""


def _try(frame: Frame, node: Node) -> None:
    body, handlers, orelse, final = node[2:6]
    before = dict(frame.env)
    frame.attempts += 1
    run(frame, body)
    frame.attempts -= 1
    left = not frame.live
    if frame.live:
        run(frame, orelse)
    outcome, live = frame.env, frame.live
    returned = len(frame.returns)
    for _, name, block in handlers:
        frame.env, frame.live = dict(before), True
        if name:
            frame.env[name] = UNKNOWN
        # an exception is the exception: what only a handler does is not said of the code's normal course
        frame.conditions += 1
        conditions.run_rarely(frame, block)
        frame.conditions -= 1
        if frame.live:
            _merge_into(outcome, frame.env, live)
            live = True
    if left:
        del frame.returns[returned:]  # the body has returned; what a handler would give instead is the exception
    frame.env, frame.live = outcome, True
    run(frame, final)
    frame.live = frame.live and live


def _merge_into(target: dict[str, Value], other: dict[str, Value], target_live: bool) -> None:
    for name, value in other.items():
        mine = target.get(name) if target_live else None
        target[name] = value if mine is None else join(mine, value)


def _assert(frame: Frame, node: Node) -> None:
    conditions.check_assert(frame, node)
    conditions.narrow(frame, node[2], True)


def _delete(frame: Frame, node: Node) -> None:
    for target in node[2]:
        if target[0] == "name":
            frame.env.pop(target[2], None)


def _define(frame: Frame, node: Node) -> None:
    known_symbol = frame.module.functions.get(node[2]) if frame.function is None else None
    if known_symbol is not None and known_symbol.node is node:
        frame.env[node[2]] = decorators.decorated(frame, known_symbol, None)
        return
    symbol = FunctionSymbol(frame.module, _nested(frame, node[2]), node)
    frame.env[node[2]] = decorators.decorated(frame, symbol, frame)


def _define_class(frame: Frame, node: Node) -> None:
    frame.observe(Definition(node[1], "class"))
    known_symbol = frame.module.classes.get(node[2]) if frame.function is None else None
    if known_symbol is not None and known_symbol.node is node:
        frame.env[node[2]] = Class(known_symbol)
        return
    frame.env[node[2]] = Class(ClassSymbol(frame.module, _nested(frame, node[2]), node, frame))


def _nested(frame: Frame, name: str) -> str:
    return f"{frame.qualname}.<locals>.{name}" if frame.function else name


def _import(frame: Frame, node: Node) -> None:
    for name, value in names.imported(frame.analysis, frame.module, node):
        frame.env[name] = value


def _global(frame: Frame, node: Node) -> None:
    if node[0] == "global":
        frame.globals.update(node[2])


def _match(frame: Frame, node: Node) -> None:
    subject = expressions.evaluate(frame, node[2])
    before = dict(frame.env)
    outcome: dict[str, Value] | None = None
    live = False
    frame.conditions += 1
    for pattern, guard, block in node[3]:
        frame.env, frame.live = dict(before), True
        compared = _compared(pattern)
        if compared is not None and isinstance(known(subject), (Tensor, Scalar)):
            frame.observe(Branch(compared[1], subject, "match"))
        for name in _captured(pattern):
            frame.env[name] = subject if pattern[0] == "capture" else UNKNOWN
        if guard is not None:
            conditions.test(frame, guard, "if")
        run(frame, block)
        if frame.live:
            outcome = frame.env if outcome is None else outcome
            _merge_into(outcome, frame.env, True)
            live = True
    frame.conditions -= 1
    frame.env, frame.live = outcome if outcome is not None else before, live or outcome is None


def _compared(pattern: Node) -> Node | None:
    """The first value that the pattern compares the subject with."""
    match pattern[0]:
        case "value":
            return pattern[1]  # type: ignore[no-any-return]
        case "or":
            return next(filter(None, map(_compared, pattern[1])), None)
    return None


def _captured(pattern: Node) -> tuple[str, ...]:
    match pattern[0]:
        case "capture":
            return (pattern[1],) if pattern[1] else ()
        case "shape":
            return pattern[1]  # type: ignore[no-any-return]
    return ()


_HANDLERS: dict[str, Callable[[Frame, Node], None]] = {
    "expr": _expression,
    "assign": _assign,
    "annassign": _annotated,
    "augassign": _augmented,
    "return": _return,
    "raise": _raise,
    "break": _stop,
    "continue": _stop,
    "if": _if,
    "for": _for,
    "while": _while,
    "with": _with,
    "try": _try,
    "assert": _assert,
    "delete": _delete,
    "def": _define,
    "class": _define_class,
    "import": _import,
    "importfrom": _import,
    "global": _global,
    "match": _match,
}
