"""Decorators: what they make of a function, from what is known of them or by running those of the project."""

from __future__ import annotations

from collections.abc import Iterator

from ..ir import POSITIONAL, Block, Node
from ..symbols import FunctionSymbol, Module, all_statements, bound_names
from ..values import (
    Arguments,
    Bound,
    Compiled,
    Disabled,
    External,
    Function,
    Opaque,
    Partial,
    Value,
    known,
)
from . import calls, expressions, external, names, region
from .analysis import UNCUT, Analysis
from .frame import Frame


def decorated(frame: Frame, symbol: FunctionSymbol, scope: object) -> Value:
    """The function as its decorators leave it, worked out once where that compiles and reports nothing.

    `property`, `staticmethod` and `classmethod` come back as themselves.
    """
    if not symbol.decorators:
        return Function(symbol, scope)
    analysis, key = frame.analysis, (symbol, scope)
    before, cut_at, analysis.cut_at = (analysis.touched, len(frame.emissions)), analysis.cut_at, UNCUT
    value = analysis.tracker.once(analysis.decorated, key, lambda: _decorated(frame, symbol, scope))
    if (analysis.touched, len(frame.emissions), analysis.cut_at) != (*before, UNCUT):
        del analysis.decorated[key]
    analysis.cut_at = min(cut_at, analysis.cut_at)
    return value


def _decorated(frame: Frame, symbol: FunctionSymbol, scope: object) -> Value:
    frame.analysis.tracker.rests |= symbol.mask
    value: Value = Function(symbol, scope)
    for node in reversed(symbol.decorators):
        decorator = known(expressions.peek(frame, node))
        match decorator:
            case External(name="builtins.property" | "builtins.staticmethod" | "builtins.classmethod"):
                return decorator
            case External(name="functools.cached_property"):
                return decorator
            case External(name="torch.jit.unused_property"):
                return External("builtins.property")
        value = _apply(frame, node, decorator, value)
    return value


def _apply(frame: Frame, node: Node, decorator: Value, value: Value) -> Value:
    if region.is_compile(decorator):
        return region.compile_decorator(frame, node, decorator, value)
    changed = external.decorate(decorator, value)
    if changed is not None:
        return changed
    if isinstance(decorator, Function) and _gives_back(frame.analysis, decorator.symbol):
        return value
    if isinstance(decorator, (Function, Bound, Partial)):
        traced, frame.traced = frame.traced, False
        wrapped = calls.call(frame, node[1], decorator, Arguments((value,)))
        frame.traced = traced
        if isinstance(wrapped, (Function, Bound, Partial, Compiled, Disabled, Opaque)):
            return wrapped
    return value


def _gives_back(analysis: Analysis, symbol: FunctionSymbol) -> bool:
    """Whether a decorator only writes down something about the function and gives it back: its body need not be run."""

    def gives() -> bool:
        analysis.tracker.rests |= symbol.mask
        return symbol.node[0] == "def" and _returns_first(analysis, symbol, ())

    return analysis.tracker.once(analysis.give_back, symbol, gives, meanwhile=False)  # one that calls itself is run


def _returns_first(analysis: Analysis, symbol: FunctionSymbol, around: tuple[Block, ...]) -> bool:
    """Whether all it returns is its first parameter; `around` are the bodies that its names may be defined in."""
    first, last = symbol.extent
    if symbol.kind != "plain" or any("compile" in line for line in symbol.module.lines[first - 1 : last]):
        return False
    match symbol.parameters:
        case ((name, kind, _, _), *_) if kind == POSITIONAL:
            pass
        case _:
            return False
    if any(name in bound_names(node) for node in all_statements(symbol.body)):
        return False
    returned = list(_returned(symbol.body, name))
    scopes = (symbol.body, *around)
    return bool(returned) and all(_is_first(analysis, symbol.module, node, name, scopes) for node in returned)


def _returned(body: Block, name: str) -> Iterator[Node | None]:
    """What may be returned where the parameter is a function, and so is true."""
    for node in body:
        if node[0] == "if" and node[2][0] == "name" and node[2][2] == name:
            yield from _returned(node[3], name)
            if node[3][-1][0] == "return":
                return
        elif node[0] == "return":
            yield node[2]
            return
        else:
            yield from (inner[2] for inner in all_statements((node,)) if inner[0] == "return")


def _is_first(analysis: Analysis, module: Module, node: Node | None, name: str, scopes: tuple[Block, ...]) -> bool:
    match node:
        case ("name", _, found):
            return bool(found == name)
        case ("call", _, ("name", _, callee), (("name", _, argument), *_), _) if argument == name:
            return _calls_giver(analysis, module, callee, scopes)
    return False


def _calls_giver(analysis: Analysis, module: Module, name: str, scopes: tuple[Block, ...]) -> bool:
    """Whether the function of that name gives back its first argument too."""
    for position, body in enumerate(scopes):
        for node in all_statements(body):
            if name in bound_names(node):
                symbol = FunctionSymbol(module, name, node)
                return node[0] == "def" and not node[4] and _returns_first(analysis, symbol, scopes[position:])
    match names.value_of(analysis, module, name):
        case Function(symbol=symbol):
            return _gives_back(analysis, symbol)
    return False
