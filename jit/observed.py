"""What the events of one process amount to: an observation."""

from __future__ import annotations

import signal
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from .events import (
    BackendError,
    Break,
    Called,
    End,
    Event,
    Failure,
    Frame,
    Graph,
    Lowered,
    Observation,
    Probed,
    Recompile,
    Remark,
    Result,
    Reuse,
    Stage,
    Status,
    Traced,
    distinct_breaks,
    latest,
)
from .mend.trial import Compared, Composition, Executed
from .wire import decode

NOTHING = "no call of a compiled function was seen"


def read(file: Path) -> list[Event]:
    """The events written so far; a process that was killed may have left half a line."""
    return [decode(line) for line in file.read_text().splitlines(keepends=True) if line.endswith("\n")]


def compiled(events: Iterable[Event]) -> bool:
    """Whether Dynamo had anything to do."""
    return any(isinstance(event, Frame | Break | Failure | Traced) for event in events)


def cause_of_death(exit_code: int) -> str:
    """Of a process that did not say how it ended; negative codes are signals."""
    if exit_code >= 0:
        return f"the process ended itself with exit code {exit_code}"
    try:
        return f"killed by {signal.Signals(-exit_code).name}"
    except ValueError:
        return f"killed by signal {-exit_code}"


def observation(target: str, written: Sequence[Event]) -> Observation:
    """Of a process that ended well, as long as nobody says otherwise."""
    calls = {event.number: event for event in written if isinstance(event, Called)}
    events = list(_of_successful_calls(written, calls))
    return Observation(
        target=target,
        status=Status.OK,
        detail=None,
        breaks=distinct_breaks(event for event in events if isinstance(event, Break)),
        recompiles=tuple(event for event in events if isinstance(event, Recompile)),
        frames=tuple(event for event in events if isinstance(event, Frame)),
        graphs=tuple(event for event in events if isinstance(event, Graph)),
        failures=tuple(event for event in events if isinstance(event, Failure)),
        backend_errors=tuple(event for event in events if isinstance(event, BackendError)),
        traced=tuple(dict.fromkeys(event for event in events if isinstance(event, Traced))),
        reused=frozenset(event.frame for event in events if isinstance(event, Reuse)),
        varied=frozenset((event.frame, name) for event in events if isinstance(event, Reuse) for name in event.varied),
        results=tuple(event for event in events if isinstance(event, Result)),
        probed=tuple(event for event in events if isinstance(event, Probed)),
        lowered=latest(event for event in events if isinstance(event, Lowered)),
        stages=tuple(event for event in events if isinstance(event, Stage)),
        executed=tuple(event for event in written if isinstance(event, Executed)),
        compositions=tuple(event for event in written if isinstance(event, Composition)),
        compared=next((event for event in written if isinstance(event, Compared)), None),
        calls=tuple(calls.values()),
        remarks=tuple(dict.fromkeys(event.text for event in events if isinstance(event, Remark))),
    )


def _of_successful_calls(events: Iterable[Event], calls: dict[int, Called]) -> Iterator[Event]:
    """Without what happened during a variation that the program cannot be called with, which says nothing about it."""
    current = Called(0, "", "")
    for event in events:
        match event:
            case Called(number):
                current = calls[number]
            case Recompile() if current.variation and not current.error:
                yield replace(event, variation=current.variation)
            case Remark() | End():
                yield event
            case _ if not (current.variation and current.error):
                yield event
