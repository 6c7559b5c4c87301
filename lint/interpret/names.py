"""Module-level names: what an import, a definition or an assignment at module level binds, evaluated once and on
demand."""

from __future__ import annotations

import builtins
from collections.abc import Iterator

from ..facts import GlobalRead
from ..guards import Kind
from ..ir import Node
from ..symbols import Module
from ..values import (
    UNKNOWN,
    Class,
    Const,
    External,
    Host,
    Mapping,
    ModuleRef,
    Sequence,
    Tuple_,
    Value,
    element_of,
    join,
    known,
)
from . import decorators, expressions, statements
from .analysis import Analysis
from .frame import Frame

COUNTED = {"int", "str", "bool", "float"}
"""Kinds of global that are guarded by value."""


def global_value(frame: Frame, node: Node) -> Value:
    """The value of a name that is no local; reports it where the program rebinds it while it runs."""
    name = node[2]
    if frame.following and isinstance(held := frame.analysis.program.heap.get((ModuleRef(frame.module), name)), Const):
        if held.kind in COUNTED:
            frame.guard(Kind.GLOBAL, node[1], held.value)
        return held
    value = value_of(frame.analysis, frame.module, name)
    if name in frame.globals or _rebound(frame.analysis, frame.module, name):
        value = _widened(value, name)
        if isinstance(value, Host) and frame.traced and name not in frame.env:
            frame.observe(GlobalRead(node[1], name, value, frame.module))
    return frame.env.get(name, value)


def _widened(value: Value, name: str) -> Value:
    if isinstance(value, (Const, Host)) and value.kind in COUNTED:
        return Host(value.kind, f"global {name}")
    return value


def value_of(analysis: Analysis, module: Module, name: str) -> Value:
    """What `name` is in `module`: its bindings joined, else a builtin, else unknown."""
    # a cycle of imports or assignments answers 'unknown'
    return analysis.tracker.once(
        analysis.globals, (module.path, name), lambda: _compute(analysis, module, name), meanwhile=UNKNOWN
    )


def _compute(analysis: Analysis, module: Module, name: str) -> Value:
    analysis.tracker.rests |= module.mask_of(name)
    nodes = module.bindings.get(name, ())
    definitions = [node for node in nodes if node[0] in ("def", "class")]
    if definitions:
        return _definition(analysis, module, definitions[-1])
    value: Value | None = None
    for node in nodes:
        bound = _bound(analysis, module, node, name)
        value = bound if value is None else join(value, bound)
    return _elsewhere(analysis, module, name) if value is None else _fillable(value)


def _fillable(value: Value) -> Value:
    """A module's empty dict or list is there to be filled by code elsewhere, a registry say."""
    match value:
        case Mapping(items=(), rest=None):
            return Mapping((), UNKNOWN)
        case Tuple_(items=(), mutable=True):
            return Sequence(UNKNOWN)
    return value


def _elsewhere(analysis: Analysis, module: Module, name: str) -> Value:
    analysis.tracker.rests |= module.mask_of("*")
    is_builtin = hasattr(builtins, name)  # only what runs can hide it
    stars = module.stars if is_builtin else module.bindings.get("*", ())
    for node in () if name.startswith("__") else stars:  # a module's own `__file__`, say
        source = _import_base(module, node)
        found = analysis.project.find_star(source, module, name)
        if found is not None:
            analysis.tracker.rests |= found.mask_of(name)
        if found is not None and (name in found.bindings or "*" in found.bindings):
            value = value_of(analysis, found, name)
            if value != UNKNOWN and not (isinstance(value, External) and value.name.startswith("builtins.")):
                return value
        if found is None and analysis.api.knows(f"{source}.{name}"):
            return External(analysis.api.canonical(f"{source}.{name}"))
    return External(f"builtins.{name}") if is_builtin else UNKNOWN


def _definition(analysis: Analysis, module: Module, node: Node) -> Value:
    if node[0] == "class":
        return Class(module.classes[node[2]])
    symbol = module.functions[node[2]]
    return decorators.decorated(analysis.module_frame(module), symbol, None)


def _bound(analysis: Analysis, module: Module, node: Node, name: str) -> Value:
    """What one statement binds a name to, evaluated apart from the program's course."""
    analysis.peeking += 1
    try:
        return _value_bound(analysis, module, node, name)
    finally:
        analysis.peeking -= 1


def _value_bound(analysis: Analysis, module: Module, node: Node, name: str) -> Value:
    frame = analysis.module_frame(module)
    match node[0]:
        case "import" | "importfrom":
            return dict(imported(analysis, module, node)).get(name, UNKNOWN)
        case "assign":
            value = expressions.evaluate(frame, node[3])
            for target in node[2]:
                statements.bind(frame, target, value)
        case "annassign":
            return expressions.evaluate(frame, node[4])
        case "augassign":
            return Host("int")
        case "for":
            statements.bind(frame, node[2], element_of(known(expressions.evaluate(frame, node[3]))))
    return frame.env.get(name, UNKNOWN)


def imported(analysis: Analysis, module: Module, node: Node) -> Iterator[tuple[str, Value]]:
    """`(name, value)` for each name that an import statement binds."""
    if node[0] == "import":
        for name, alias in node[2]:
            yield alias or name.partition(".")[0], _module(analysis, module, name if alias else name.partition(".")[0])
        return
    base = _import_base(module, node)
    found = analysis.project.find(base, module)
    for name, alias in node[4]:
        yield alias or name, _member(analysis, module, base, found, name)


def _import_base(module: Module, node: Node) -> str:
    base, level = node[2], node[3]
    if not level:
        return base  # type: ignore[no-any-return]
    is_package = module.path.endswith("__init__.py")
    parts = (module.name if is_package else module.name.rpartition(".")[0]).split(".")
    kept = parts[: len(parts) - level + 1]
    return ".".join(part for part in (*kept, base) if part)


def _module(analysis: Analysis, module: Module, dotted: str) -> Value:
    found = analysis.project.find(dotted, module)
    return referred(analysis, found) if found is not None else External(analysis.api.canonical(dotted))


def referred(analysis: Analysis, module: Module) -> Value:
    """The module as a value, which an edit may replace."""
    analysis.tracker.rests |= module.mask
    return ModuleRef(module)


def _member(analysis: Analysis, module: Module, base: str, found: Module | None, name: str) -> Value:
    if found is not None:
        analysis.tracker.rests |= found.mask_of(name)
    if found is not None and name in found.bindings:
        return value_of(analysis, found, name)
    submodule = analysis.project.find(f"{base}.{name}", module)
    if submodule is not None:
        return referred(analysis, submodule)
    if found is not None:
        value = _elsewhere(analysis, found, name)
        return UNKNOWN if isinstance(value, External) and value.name.startswith("builtins.") else value
    return External(analysis.api.canonical(f"{base}.{name}"))


def _rebound(analysis: Analysis, module: Module, name: str) -> bool:
    """Whether the module's own code gives the name new values while it runs."""
    analysis.tracker.rests |= module.rebinding
    return name in module.rebound
