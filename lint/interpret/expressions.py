"""Expressions: what a value can be, and the facts that computing it brings up."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

from msgspec.structs import replace

from ..facts import Branch, Index, Loaded, Mutated, Operation
from ..guards import Kind
from ..ir import Node, Span
from ..symbols import FunctionSymbol
from ..values import (
    NONE,
    SIZE,
    UNKNOWN,
    Arguments,
    Const,
    External,
    ExternalObject,
    Function,
    Host,
    Instance,
    Mapping,
    Method,
    Scalar,
    Sequence,
    Tensor,
    Tuple_,
    Value,
    element_of,
    join,
    join_all,
    known,
)
from ..vocabulary import HANDLE, MUTATORS
from . import calls, conditions, modules, names, objects, operators, protocols, statements
from .arithmetic import fold
from .frame import Frame


def evaluate(frame: Frame, node: Node) -> Value:
    value = _EVALUATORS[node[0]](frame, node)
    if value is UNKNOWN and frame.traced and frame.analysis.oracle is not None:
        return frame.analysis.oracle.value_of(frame.module, node[1])
    return value


def peek(frame: Frame, node: Node) -> Value:
    """`evaluate` without reporting: for looking again at something already evaluated."""
    traced, frame.traced = frame.traced, False
    mark = len(frame.emissions)
    frame.analysis.peeking += 1
    try:
        return evaluate(frame, node)
    finally:
        frame.analysis.peeking -= 1
        frame.traced = traced
        del frame.emissions[mark:]


def path_of(node: Node) -> str | None:
    """`name` or `name.attr.attr`: what a frame keeps a refined value under."""
    match node[0]:
        case "name":
            return node[2]  # type: ignore[no-any-return]
        case "attr":
            base = path_of(node[2])
            return None if base is None else f"{base}.{node[3]}"
        case "named":
            return path_of(node[2])
    return None


def _name(frame: Frame, node: Node) -> Value:
    value = frame.lookup(node[2])
    if value is None:
        value = names.global_value(frame, node)
        value = protocols.handed_in(value) if frame.traced else value
    if frame.traced and isinstance(value, (Tensor, Sequence, ExternalObject)) and _is_foreign(value):
        frame.observe(Loaded(node[1], value))
    return value


def _is_foreign(value: Tensor | Sequence | ExternalObject) -> bool:
    """Whether the value, made outside, is of a kind that Dynamo may refuse for what it is."""
    match value:
        case Tensor(layout="strided") | Tensor(made_here=True):
            return False
        case Sequence(kind="set", element=Tensor(made_here=False)):
            return True
        case Sequence():
            return False
        case ExternalObject(cls=name):
            return name == HANDLE
    return True


def _constant(frame: Frame, node: Node) -> Value:
    return _const(node[2])


@lru_cache(maxsize=4096, typed=True)
def _const(value: object) -> Const:
    return Const(value)


def _attribute(frame: Frame, node: Node) -> Value:
    path = path_of(node)
    if path is not None and (refined := frame.lookup(path)) is not None:
        return refined
    receiver = known(evaluate(frame, node[2]))
    return objects.attribute(frame, node[1], receiver, node[3])


def call(frame: Frame, node: Node, discarded: bool = False) -> Value:
    """A call expression; `super()` needs the frame, the rest goes by the callee's value."""
    function = node[2]
    if function[0] == "name" and function[2] == "super" and frame.lookup("super") is None:
        return objects.super_of(frame, node)
    callee = known(evaluate(frame, function))
    arguments = arguments_of(frame, node)
    value = calls.call(frame, node[1], callee, arguments, discarded)
    _remember_mutation(frame, node, callee, arguments)
    return value


def _call(frame: Frame, node: Node) -> Value:
    return call(frame, node)


def arguments_of(frame: Frame, node: Node) -> Arguments:
    positional: list[Value] = []
    keywords: list[tuple[str, Value]] = []
    more_positional = more_keywords = False
    for argument in node[3]:
        value = evaluate(frame, argument)
        if argument[0] != "star":
            positional.append(value)
        elif isinstance(value, Tuple_):
            positional.extend(value.items)
        else:
            more_positional = True
    for name, argument in node[4]:
        value = evaluate(frame, argument)
        if name is not None:
            keywords.append((name, value))
        elif isinstance(value, Mapping):
            keywords.extend((str(key), item) for key, item in value.items)
            more_keywords = more_keywords or value.rest is not None
        else:
            more_keywords = True
    return Arguments(tuple(positional), tuple(keywords), more_positional, more_keywords)


def _remember_mutation(frame: Frame, node: Node, callee: Value, arguments: Arguments) -> None:
    """`xs.append(v)` and its like change what a variable holds."""
    if isinstance(callee, Method) and node[2][0] == "attr":
        if callee.name in MUTATORS and isinstance(callee.receiver, (Tuple_, Sequence, Mapping)):
            mutate(frame, node[1], node[2][2], callee.receiver)
        changed = modules.extended(frame, callee.receiver, callee.name, arguments)
        if changed is not None:
            modules.hold(frame, node[2][2], changed)


def mutate(frame: Frame, span: Span, holder: Node, value: Value) -> None:
    """Report a change, inside an operator's function, of a container that it did not make."""
    if not frame.settings.body_of:
        return
    root = holder
    while root[0] in ("attr", "sub"):
        root = root[2]
    local = root[0] != "name" or (root[2] in frame.env and root is holder)
    if not local:
        frame.observe(Mutated(span, value))


def _subscript(frame: Frame, node: Node) -> Value:
    return subscript(frame, node, "read")


def subscript(frame: Frame, node: Node, access: str) -> Value:
    base = known(evaluate(frame, node[2]))
    index = evaluate(frame, node[3])
    frame.observe(Index(node[1], base, index, access))
    if access == "write" and isinstance(base, (Instance, External, ExternalObject)):
        return UNKNOWN
    return operators.item_of(frame, node[1], base, index)


def _binary(frame: Frame, node: Node) -> Value:
    return operators.binary(frame, node[1], node[2], evaluate(frame, node[3]), evaluate(frame, node[4]))


def _unary(frame: Frame, node: Node) -> Value:
    if node[2] == "not":
        outcome = conditions.test(frame, node[3], "not")
        return Host("bool") if outcome is None else Const(not outcome)
    value = known(evaluate(frame, node[3]))
    match value:
        case Const():
            return fold(node[2], value) or UNKNOWN
        case Instance() | ExternalObject():
            return protocols.special(frame, node[1], value, f"__{node[2]}__") or UNKNOWN
        case Tensor():
            frame.observe(Operation(node[1], node[2], value))
    return value


def _comparison(frame: Frame, node: Node) -> Value:
    symbols = node[3]
    if symbols[0] in ("is", "is not") and len(symbols) == 1:
        same = conditions.test(frame, node, "compare")
        return Host("bool") if same is None else Const(same)
    left = evaluate(frame, node[2])
    result: Value | None = None
    for operator, operand in zip(symbols, node[4], strict=False):
        right = evaluate(frame, operand)
        if result is not None and isinstance(result, Tensor):
            frame.observe(Branch(node[1], result, "and"))  # `a < t < b` is `a < t and t < b`
        result = operators.compare(frame, node[1], operator, left, right)
        left = right
    return UNKNOWN if result is None else result


def _connective(frame: Frame, node: Node) -> Value:
    """`a and b` as a value: every part but the last is tested."""
    decides = node[2] == "or"
    before, conditions_before = dict(frame.env), frame.conditions
    values: list[Value] = []
    for position, part in enumerate(node[3]):
        value = evaluate(frame, part)
        if position == len(node[3]) - 1:
            values.append(value)
            break
        truth = conditions.truth(frame, part, value, node[2])
        if truth is decides:
            values.append(value)
            break
        if truth is None:
            if not isinstance(known(value), Tensor):
                values.append(known(value) if decides else value)
            frame.conditions = conditions_before + 1
        conditions.narrow(frame, part, not decides)
    frame.env, frame.conditions = before, conditions_before
    last = known(values[-1])
    if len(values) > 1 and isinstance(last, Tensor):
        return replace(last, sure=False)
    return join_all(values)


def _conditional(frame: Frame, node: Node) -> Value:
    outcome = conditions.test(frame, node[2], "ifexp")
    if outcome is not None:
        return evaluate(frame, node[3] if outcome else node[4])
    before, when = dict(frame.env), frame.when
    frame.conditions += 1
    conditions.narrow(frame, node[2], True)
    taken = evaluate(frame, node[3])
    frame.env, frame.when = dict(before), when
    conditions.narrow(frame, node[2], False)
    other = evaluate(frame, node[4])
    frame.conditions -= 1
    frame.env, frame.when = before, when
    return join(taken, other)


def _display(frame: Frame, node: Node) -> Value:
    items = [evaluate(frame, item) for item in node[2]]
    if any(item[0] == "star" for item in node[2]):
        parts = [element_of(known(v)) if item[0] == "star" else v for item, v in zip(node[2], items, strict=False)]
        spread = [
            part
            for item, value in zip(node[2], items, strict=False)
            for part in (value.items if item[0] == "star" and isinstance(value, Tuple_) else (value,))
        ]
        if all(item[0] != "star" or isinstance(v, Tuple_) for item, v in zip(node[2], items, strict=False)):
            return Tuple_(tuple(spread), node[0] == "list")
        return Sequence(join_all(parts), node[0])
    if node[0] == "set":
        return Sequence(join_all(items), "set")
    return Tuple_(tuple(items), node[0] == "list")


def _dict(frame: Frame, node: Node) -> Value:
    items: dict[object, Value] = {}
    rest: list[Value] = []
    for key, value in zip(node[2], node[3], strict=False):
        held = evaluate(frame, value)
        if key is None:
            match known(held):
                case Mapping(items=more, rest=extra):
                    items.update(more)
                    rest += [] if extra is None else [extra]
                case _:
                    rest.append(UNKNOWN)
            continue
        name = evaluate(frame, key)
        if isinstance(name, Const) and isinstance(name.value, (str, int)):
            items[name.value] = held
        else:
            rest.append(held)
    return Mapping(tuple(items.items()), join_all(rest) if rest else None)


def _slice(frame: Frame, node: Node) -> Value:
    bounds = [evaluate(frame, bound) for bound in node[2:5] if bound is not None]
    for bound in bounds:
        if isinstance(known(bound), (Tensor, Scalar)):
            return Sequence(known(bound), "slice")
    return Sequence(SIZE, "slice")


def _starred(frame: Frame, node: Node) -> Value:
    return evaluate(frame, node[2])


def _fstring(frame: Frame, node: Node) -> Value:
    parts = [evaluate(frame, part) for part in node[2]]
    if node[3] and all(isinstance(part, Const) for part in parts):
        return Const("".join(str(part.value) for part in parts if isinstance(part, Const)))
    return Host("str", "tensor text" if any(isinstance(known(part), Tensor) for part in parts) else "")


def _comprehension(frame: Frame, node: Node) -> Value:
    """A comprehension is a frame of its own, and its loop one that a break can't resume in."""
    inner = frame.child()
    unrolled = _unrolled(frame, node, inner)
    if unrolled is not None:
        return unrolled
    for target, iterable, tests in node[4]:
        values = known(evaluate(inner, iterable))
        if isinstance(values, Tuple_):
            inner.guard(Kind.LENGTH, iterable[1], len(values.items))
        statements.bind(inner, target, protocols.iterate(frame, iterable[1], values))
        inner.loops += 1
        for condition in tests:
            conditions.test(inner, condition, "comprehension")
            conditions.narrow(inner, condition, True)
    parts = [evaluate(inner, part) for part in node[3]]
    frame.take(inner)
    if node[2] == "DictComp":
        return Mapping((), parts[1])
    return Sequence(parts[0], {"ListComp": "list", "SetComp": "set", "GeneratorExp": "generator"}[node[2]])


def _unrolled(frame: Frame, node: Node, inner: Frame) -> Value | None:
    """A list built in untraced code over a few known values keeps its items apart."""
    if frame.traced or node[2] == "DictComp" or len(node[4]) != 1 or node[4][0][2]:
        return None
    target, iterable, _ = node[4][0]
    values = known(evaluate(frame, iterable))
    if not isinstance(values, Tuple_) or len(values.items) > statements.UNROLL:
        return None
    items: list[Value] = []
    for value in values.items:
        statements.bind(inner, target, value)
        items.append(evaluate(inner, node[3][0]))
    frame.take(inner)
    return Tuple_(tuple(items), node[2] == "ListComp")


def _lambda(frame: Frame, node: Node) -> Value:
    prefix = f"{frame.qualname}.<locals>." if frame.function else ""
    scope = frame if frame.function or frame.is_comprehension else None  # at module level it reads globals
    return Function(FunctionSymbol(frame.module, prefix + "<lambda>", node), scope)


def _named(frame: Frame, node: Node) -> Value:
    value = evaluate(frame, node[3])
    target = frame
    while target.is_comprehension and target.scope is not None:
        target = target.scope
    target.env[node[2][2]] = value
    return value


def _yield(frame: Frame, node: Node) -> Value:
    frame.yields.append(NONE if node[2] is None else evaluate(frame, node[2]))
    return UNKNOWN


_EVALUATORS: dict[str, Callable[[Frame, Node], Value]] = {
    "name": _name,
    "const": _constant,
    "attr": _attribute,
    "call": _call,
    "sub": _subscript,
    "bin": _binary,
    "unary": _unary,
    "cmp": _comparison,
    "bool": _connective,
    "ifexp": _conditional,
    "tuple": _display,
    "list": _display,
    "set": _display,
    "dict": _dict,
    "slice": _slice,
    "star": _starred,
    "fstr": _fstring,
    "comp": _comprehension,
    "lambda": _lambda,
    "named": _named,
    "yield": _yield,
}
