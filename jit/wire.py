"""Events on their way between two processes: each is one line of JSON."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import asdict
from typing import Any, TypeVar

from .digest import Digest
from .events import (
    BackendError,
    Break,
    BreakKind,
    Called,
    CallSite,
    CompileTime,
    End,
    Event,
    Extent,
    Failure,
    Frame,
    Graph,
    Guard,
    GuardNode,
    Left,
    Lowered,
    Mismatch,
    Phase,
    Probed,
    Process,
    Recompile,
    Remark,
    Result,
    Reuse,
    Stage,
    Symbol,
    Traced,
)
from .mend.trial import Compared, Composition, Difference, Executed, Kind

S = TypeVar("S", Guard, Symbol)


def encode(event: Event) -> str:
    """One event as one line of JSON."""
    return json.dumps({"event": type(event).__name__, **asdict(event)})


def decode(line: str) -> Event:
    fields: dict[str, Any] = json.loads(line)
    match fields.pop("event"):
        case "Break":
            return Break(**_tuples(fields) | {"kind": BreakKind(fields["kind"]), "stack": _sites(fields["stack"])})
        case "Recompile":
            mismatches = tuple(Mismatch(**item) for item in fields["mismatches"])
            return Recompile(
                **_tuples(fields)
                | {name: _sites(fields[name]) for name in ("guard_sites", "stack")}
                | {"mismatches": mismatches}
            )
        case "Frame":
            tree, phases = fields["guard_tree"], fields["phases"]
            known: dict[str, Any] = {"guard_tree": tree and _node(tree), "phases": phases and CompileTime(**phases)}
            known |= {"symbols": tuple(map(_with_site(Symbol), fields["symbols"])), "stack": _sites(fields["stack"])}
            return Frame(**_tuples(fields) | known)
        case "Graph":
            return Graph(**fields)
        case "Lowered":
            left = tuple(Left(**item) for item in fields["left"])
            return Lowered(**_tuples(fields) | {"phase": Phase(fields["phase"]), "left": left})
        case "Stage":
            return Stage(**fields | {"phase": Phase(fields["phase"])})
        case "Reuse":
            return Reuse(**_tuples(fields))
        case "Failure":
            return Failure(**fields)
        case "BackendError":
            return BackendError(**fields | {"site": CallSite(*fields["site"])})
        case "Traced":
            return Traced(**fields | {"extents": tuple(Extent(*item) for item in fields["extents"])})
        case "Result":
            digests = {name: Digest.restored(fields[name]) for name in ("arguments", "value")}
            return Result(**_tuples(fields) | digests)
        case "Probed":
            return Probed(**fields)
        case "Called":
            return Called(**fields)
        case "Remark":
            return Remark(**fields)
        case "Executed":
            return Executed(**_tuples(fields))
        case "Composition":
            kinds = tuple(Kind(**item | {"functions": _pairs(item["functions"])}) for item in fields["kinds"])
            return Composition(**fields | {"kinds": kinds, "modules": _pairs(fields["modules"])})
        case "Compared":
            return Compared(**fields | {"differences": tuple(Difference(**item) for item in fields["differences"])})
        case "Process":
            return Process(**fields)
        case "End":
            raised = CallSite(*fields["raised"]) if fields["raised"] else None
            return End(fields["error"], raised)
        case other:
            raise ValueError(f"no event is called {other!r}")


def _tuples(fields: dict[str, Any]) -> dict[str, Any]:
    return {name: tuple(value) if isinstance(value, list) else value for name, value in fields.items()}


def _pairs(items: Iterable[Iterable[Any]]) -> tuple[Any, ...]:
    return tuple(map(tuple, items))


def _node(fields: dict[str, Any]) -> GuardNode:
    guards, children = map(_with_site(Guard), fields["guards"]), map(_node, fields["children"])
    return GuardNode(fields["source"], fields["type"], tuple(guards), tuple(children))


def _with_site(kind: type[S]) -> Callable[[dict[str, Any]], S]:
    return lambda fields: kind(**fields | {"site": fields["site"] and CallSite(*fields["site"])})


def _sites(items: Iterable[Iterable[Any]]) -> tuple[CallSite, ...]:
    return tuple(CallSite(*item) for item in items)
