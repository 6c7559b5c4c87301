"""Runs each script that it is given twice in this process, unwatched and watched. Prints, as JSON, the breaks in the
log of torch's own of the first run and those reported of the second, as file, line and kind, and which cost a frame.

    python breaks_of.py SCRIPT...
"""

from __future__ import annotations

import contextlib
import io
import json
import logging
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TypeAlias

import torch
import torch._dynamo

from fullgraph.jit.backend import overridden
from fullgraph.jit.capture import Paths, observe
from fullgraph.jit.events import Break, BreakKind, Event
from fullgraph.jit.targets import Settings

Site: TypeAlias = tuple[str, int, str]
NOWHERE = Path("/nowhere")
"""Where paths are shown from: all are absolute."""
PLACE = re.compile(r"Graph break in user code at (.+):(\d+)\n")
WRAPPED = "*** While handling this graph break, another graph break occurred: ***"
PREFIXES = ("Encountered graph break", "Failed to handle graph break gracefully", "Graph break encountered:")


class Log(logging.Handler):
    """Keeps what it gets."""

    def __init__(self) -> None:
        super().__init__()
        self.messages: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.messages.append(record.getMessage())


def site(message: str) -> Site | None:
    """Of a message in the log; the kind is the one of the break raised last."""
    if not (place := PLACE.search(message)):
        return None
    reason = message.partition("Graph Break Reason: ")[2].rpartition(WRAPPED)[2]
    lines = [line for line in reason.splitlines() if line.strip() and not line.startswith(PREFIXES)]
    return place[1], int(place[2]), lines[0].strip()


@contextlib.contextmanager
def torchs_own_log() -> Iterator[list[str]]:
    log = Log()
    torch._logging.set_logs(graph_breaks=True)
    loggers = [logging.getLogger(name) for name in logging.root.manager.loggerDict if name.endswith("__graph_breaks")]
    for logger in loggers:
        logger.addHandler(log)
        logger.propagate = False
    try:
        yield log.messages
    finally:
        for logger in loggers:
            logger.removeHandler(log)
        torch._logging.set_logs()


def run(script: Path) -> None:
    torch._dynamo.reset()
    with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(Exception):
        exec(compile(script.read_bytes(), str(script), "exec"), {"__name__": "__main__", "__file__": str(script)})


def breaks_of(script: Path) -> dict[str, list[Site]]:
    events: list[Event] = []
    with overridden(Settings(backend="eager"), events.append):
        with torchs_own_log() as messages:
            run(script)
        with observe(events.append, Paths(NOWHERE, (script.parent,))):
            run(script)
    last = {event.number: event for event in events if isinstance(event, Break)}
    return {
        "logged": sorted({found for message in messages if (found := site(message))}),
        "reported": sorted({reported(item) for item in last.values()}),
        "skipped": sorted({reported(item) for item in last.values() if item.kind is BreakKind.SKIPPED_FRAME}),
    }


def reported(item: Break) -> Site:
    path, line = item.root.rsplit(":", 1)
    return path, int(line), item.gb_type


if __name__ == "__main__":
    print(json.dumps({name: breaks_of(Path(name)) for name in sys.argv[1:]}))
