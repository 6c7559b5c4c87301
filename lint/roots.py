"""Where compilation starts: compile calls and decorators in the project, `--entry`, or every `forward` where that is
assumed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import click

from .config import AssumeCompiled, EntryPoint
from .interpret import calls, decorators, names, objects
from .interpret.analysis import Analysis, EntryRecord, Program
from .interpret.frame import Frame, Settings
from .interpret.statements import run
from .interpret.usage import dotted
from .ir import Node, body_of
from .symbols import ClassSymbol, FunctionSymbol, Module, all_statements, expressions_of
from .values import Bound, Compiled, Const, ExternalObject, Function, Instance, Value

LOWERING = ("inductor", "cudagraphs", "mlir", "openxla")
LOGGING_SETS = {
    f"torch._dynamo.config.{name}"
    for name in ("reorderable_logging_functions", "ignore_logger_methods", "ignore_logging_functions")
}


def around(analysis: Analysis, module: Module) -> Frame:
    """Run the module's own statements, which register what they compile; gives the frame that ran them."""
    analysis.program = Program()
    outside = analysis.module_frame(module)
    for symbol in module.symbols():
        if symbol.decorators:
            decorators.decorated(outside, symbol, None)
    run(outside, module.body)
    return outside


def undriven(analysis: Analysis, module: Module) -> Iterator[Frame]:
    """The frames of functions that compile something and that no module's own statements call."""
    for symbol in module.symbols():
        if symbol in analysis.driven or not _mentions_compile(symbol):
            continue
        receiver = Instance(symbol.owner) if symbol.owner is not None else None
        env = calls.generic_environment(analysis, symbol, receiver)
        analysis.program = Program()
        frame = Frame(analysis, module, symbol, Settings(), traced=False, env=env)
        frame.storing = symbol.name == "__init__"
        run(frame, symbol.body)
        yield frame


def _mentions_compile(symbol: FunctionSymbol) -> bool:
    return symbol.may_have("compile") and any(
        (node[0] == "attr" and node[3] == "compile") or (node[0] == "name" and node[2] == "compile")
        for statement in all_statements(body_of(symbol.node))
        for node in expressions_of(statement)
    )


def assume(analysis: Analysis, module: Module, how: AssumeCompiled) -> None:
    """Register every `nn.Module.forward` of a module, or with `all` every function, as an entry."""
    for symbol in module.symbols():
        owner = symbol.owner
        is_forward = symbol.name == "forward" and owner is not None and objects.is_module(analysis, owner)
        if is_forward or how is AssumeCompiled.ALL:
            _register(analysis, symbol, "assumed")


def named(analysis: Analysis, entry: EntryPoint) -> None:
    """Register an entry that the user names. Raises click.UsageError where there is no such function."""
    module = analysis.project.load(str(entry.path))
    if module is None:
        raise click.UsageError(f"--entry: {entry.path} can't be parsed")
    symbol = _lookup(analysis, module, entry.qualname)
    if symbol is None:
        raise click.UsageError(f"--entry: {entry.path} has no function, method or module class {entry.qualname!r}")
    owner = _owner(module, entry.qualname) or symbol.owner
    _register(analysis, symbol, "option", owner)


def _lookup(analysis: Analysis, module: Module, qualname: str) -> FunctionSymbol | None:
    if qualname in module.functions:
        return module.functions[qualname]
    cls = _class(module, qualname)
    if cls is not None:
        return objects.find_method(analysis, cls, "forward")
    parent, _, name = qualname.rpartition(".")
    owner = _class(module, parent)
    return None if owner is None else objects.find_method(analysis, owner, name)


def _class(module: Module, qualname: str) -> ClassSymbol | None:
    head, *rest = qualname.split(".")
    cls = module.classes.get(head)
    for name in rest:
        cls = None if cls is None else cls.classes.get(name)
    return cls


def _owner(module: Module, qualname: str) -> ClassSymbol | None:
    """The class named, which may only inherit the method."""
    return _class(module, qualname) or _class(module, qualname.rpartition(".")[0])


def _register(analysis: Analysis, symbol: FunctionSymbol, how: str, owner: ClassSymbol | None = None) -> None:
    function = Function(symbol)
    receiver = owner or symbol.owner
    target: Value = function if receiver is None else Bound(Instance(receiver), function)
    module = symbol.module if receiver is None else receiver.module
    analysis.enter(Compiled(target), how, module, symbol.span)


def settings_of(analysis: Analysis, record: EntryRecord, fullgraph: bool | None, backend: str | None) -> Settings:
    """How an entry is traced: its compile call's options, the config switches of its file, and the mode and the
    backend asked for.
    """
    options = dict(record.compiled.options)
    flags, reorderable = switches(analysis, record.module)
    explicit = options.get("fullgraph") == Const(True)
    whole = explicit if fullgraph is None else fullgraph
    dynamic = options.get("dynamic")
    return Settings(
        fullgraph=whole,
        explicit_fullgraph=explicit,
        capture_scalars=whole or "capture_scalar_outputs=True" in flags,
        dynamic=dynamic.value if isinstance(dynamic, Const) and isinstance(dynamic.value, bool) else None,
        flags=flags,
        reorderable=reorderable,
        mode=str(mode.value) if isinstance(mode := options.get("mode"), Const) else "",
        lowered=_lowers(Const(backend) if backend else options.get("backend", Const("inductor"))),
    )


def _lowers(backend: Value) -> bool:
    """Whether that is a backend which is known to be behind AOTAutograd."""
    name = backend.value if isinstance(backend, Const) else None
    return isinstance(name, str) and (name in LOWERING or name.startswith("aot_"))


def switches(analysis: Analysis, module: Module) -> tuple[frozenset[str], frozenset[str]]:
    """The module's config flags and the functions it lets Dynamo reorder."""

    if b"_dynamo" not in module.source:
        return frozenset(), frozenset()

    def told(found: Callable[[Analysis, Module], Iterator[str]]) -> frozenset[str]:
        analysis.tracker.rests |= module.everything
        return frozenset(found(analysis, module))

    key = f"switches of {module.path}"
    flags = analysis.tracker.once(analysis.notes, key, lambda: told(config_flags))
    return flags, analysis.tracker.once(analysis.notes, f"{key} for logging", lambda: told(reorderable_functions))


def config_flags(analysis: Analysis, module: Module) -> Iterator[str]:
    """`name=value` for every constant that the module assigns to `torch._dynamo.config`."""
    bodies = (module.body, *(body_of(symbol.node) for symbol in module.symbols()))
    for body in bodies:
        for statement in all_statements(body):
            if statement[0] == "assign" and statement[3][0] == "const":
                for target in statement[2]:
                    if target[0] == "attr" and _is_config(analysis, module, target[2]):
                        yield f"{target[3]}={statement[3][2]}"


def reorderable_functions(analysis: Analysis, module: Module) -> Iterator[str]:
    """Functions that `torch._dynamo.config` is told to move out of the graph or to drop: `….add(print)`."""
    for statement in all_statements(module.body):
        if statement[0] != "expr" or statement[2][0] != "call" or statement[2][2][0] != "attr" or not statement[2][3]:
            continue
        function = statement[2][2]
        if function[3] == "add" and dotted(analysis, module, function[2]) in LOGGING_SETS:
            name = _function_named(analysis, module, statement[2][3][0])
            if name is not None:
                yield name


def _function_named(analysis: Analysis, module: Module, node: Node) -> str | None:
    """As in `print` or `logging.Logger.debug`; `logger.debug` of one logger stands for that of all loggers."""
    match node:
        case ("attr", _, ("name", _, variable), method):
            value: Value = names.value_of(analysis, module, variable)
            if isinstance(value, ExternalObject):
                return f"{value.cls}.{method}"
    return dotted(analysis, module, node)


def _is_config(analysis: Analysis, module: Module, node: Node) -> bool:
    return dotted(analysis, module, node) == "torch._dynamo.config"
