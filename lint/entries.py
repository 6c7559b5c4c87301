"""One entry → what tracing it brings up: first with the arguments of the calls that are seen, then with any."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from msgspec.structs import replace

from . import guards
from .emission import Emission
from .facts import CallsSeen, Entered, Recompiled
from .findings import Confidence, Effect
from .guards import Place
from .interpret import calls
from .interpret.analysis import Analysis, EntryRecord
from .interpret.frame import Frame, Settings
from .symbols import FunctionSymbol
from .values import UNKNOWN, Arguments, Const, Function, Host, Maybe, Value, join_all, known


def explore(analysis: Analysis, record: EntryRecord, settings: Settings) -> list[Emission]:
    """The emissions of one entry; what only arguments of no visible call lead to is merely possible."""
    target = calls.target_of(analysis, record.compiled.target)
    if target is None:
        return _explore_external(analysis, record, settings)
    function, receiver = target
    generic = calls.generic_environment(analysis, function.symbol, receiver)
    generic = {name: _optional(name, value, function) for name, value in generic.items()}
    seen = _seen(analysis, record, function, receiver)
    root = Frame(analysis, record.module, None, settings, traced=True)
    unseen = list(calls.interpret_entry(root, function, generic))
    _declare_entered(root, function.symbol, unseen)
    if not seen:
        return [*root.emissions, *unseen]
    distinct = _distinct(seen)
    root.declare(CallsSeen(record.span, record.compiled, distinct))
    visible = list(calls.interpret_entry(root, function, _joined(generic, seen)))
    once = len(record.calls) == 1 and not record.calls[0].repeated
    visible = [_once(emission) if once else emission for emission in visible]
    return [*root.emissions, *visible, *(_doubted(emission) for emission in unseen)]


def _declare_entered(root: Frame, symbol: FunctionSymbol, emissions: list[Emission]) -> None:
    """Tell where tracing begins: at the first line of the function, which is a decorator's if there is one."""
    breaks = {
        (emission.path, emission.hit.span)
        for emission in emissions
        if emission.effect is Effect.GRAPH_BREAK
        and emission.hit.confidence is not Confidence.POSSIBLE
        and not emission.hit.note
    }
    span = symbol.decorators[0][1] if symbol.decorators else symbol.span
    root.declare(Entered(span, symbol, len(breaks)), Place(symbol.module.path, symbol.qualname, span))


def recompiling(analysis: Analysis, settings_of: Callable[[EntryRecord], Settings]) -> Iterator[Emission]:
    """What the visible calls of one function, one after the other, would make Dynamo compile again and again."""
    for calls_of_one in analysis.followed.values():
        record = calls_of_one[0][0]
        settings = settings_of(record)
        causes = guards.recompiles([called for _, called in calls_of_one], settings.dynamic)
        root = Frame(analysis, record.module, None, settings, traced=True)
        for cause, times in guards.telling(causes).items():
            root.declare(Recompiled(cause.place.span, cause.kind, times, len(causes)), cause.place)
        yield from root.emissions


def _explore_external(analysis: Analysis, record: EntryRecord, settings: Settings) -> list[Emission]:
    """`torch.compile(nn.Sequential(...))`: the first-party modules inside are reached by calling it."""
    root = Frame(analysis, record.module, None, settings, traced=True)
    arguments = [seen.arguments for seen in record.calls] or [Arguments((UNKNOWN,))]
    for each in arguments:
        calls.call(root, record.span, known(record.compiled.target), each)
    if record.calls:
        positional = zip(*(each.positional for each in arguments), strict=False)
        values = tuple((str(index), tuple(dict.fromkeys(column))) for index, column in enumerate(positional))
        root.declare(CallsSeen(record.span, record.compiled, values))
    return root.emissions


def _optional(name: str, value: Value, function: Function) -> Value:
    """Mark what a parameter that may be left out was given, so that findings can say so."""
    match value:
        case Maybe():
            return replace(value, origin=name)
    return value


def _seen(
    analysis: Analysis, record: EntryRecord, function: Function, receiver: Value | None
) -> list[dict[str, Value]]:
    rows: list[dict[str, Value]] = []
    own = () if receiver is None else (receiver,)
    for call in record.calls:
        arguments = replace(call.arguments, positional=own + call.arguments.positional)
        env = calls.bind_arguments(analysis, function, arguments)
        if env is not None:
            rows.append(env)
    return rows


def _joined(generic: dict[str, Value], seen: list[dict[str, Value]]) -> dict[str, Value]:
    """Per parameter what the visible calls pass, or anything where that is unknown."""
    joined: dict[str, Value] = {}
    for name, anything in generic.items():
        value = join_all([row[name] for row in seen])
        varies = len({row[name] for row in seen}) > 1
        if value == UNKNOWN:
            joined[name] = anything
        elif varies and isinstance(value, (Host, Const)):
            joined[name] = Host(value.kind, f"argument {name}")
        else:
            joined[name] = value
    return joined


def _distinct(seen: list[dict[str, Value]]) -> tuple[tuple[str, tuple[Value, ...]], ...]:
    return tuple((name, tuple(dict.fromkeys(row[name] for row in seen))) for name in seen[0])


def _doubted(emission: Emission) -> Emission:
    return replace(emission, hit=replace(emission.hit, confidence=Confidence.POSSIBLE))


def _once(emission: Emission) -> Emission:
    """A compiled function that is called once can't recompile."""
    if emission.effect.value != "recompile":
        return emission
    return _doubted(emission)
