"""What one test made Dynamo do: the breaks and recompiles among the events, by root site."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from .events import Break, BreakKind, Event, Recompile


@dataclass(frozen=True, slots=True, order=True)
class Site:
    """A line that broke the graph or was compiled again, with why."""

    path: str
    line: int
    kind: str
    """`graph-break`, `skipped-frame` or `recompile`."""
    gb: str
    reason: str
    function: str
    in_library: bool = False
    """A break inside a library that the line calls."""

    def as_plain(self) -> dict[str, Any]:
        return asdict(self)

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.kind}{f' {self.gb}' if self.gb else ''}: {self.reason}"


@dataclass
class Tally:
    """Collects events; an event that comes again, better informed, counts once."""

    _breaks: dict[int, Site] = field(default_factory=dict)
    _recompiles: list[Site] = field(default_factory=list)

    def __call__(self, event: Event) -> None:
        match event:
            case Break():
                self._breaks[event.number] = _broken(event)
            case Recompile():
                self._recompiles.append(_recompiled(event))

    def breaks(self, libraries: bool = True) -> list[Site]:
        """The distinct lines that broke; those inside libraries can be left out."""
        return sorted({site for site in self._breaks.values() if libraries or not site.in_library})

    def recompiles(self) -> list[Site]:
        """Every recompile, one by one."""
        return sorted(self._recompiles)


def _broken(event: Break) -> Site:
    reason = event.reason.split("\n", 1)[0]
    kind = BreakKind(event.kind).value
    return Site(event.path, event.line, kind, event.gb or "", reason, event.function, event.in_library)


def _recompiled(event: Recompile) -> Site:
    reason = event.failed_guards[0] if event.failed_guards else "a guard failed"
    if event.limit_hit:
        reason += " (the recompile limit is reached)"
    return Site(event.path, event.line, "recompile", "", reason, event.function)


@contextmanager
def watched(root: Path) -> Iterator[Tally]:
    """Tally what Dynamo does; first-party is what lies under `root`. Imports torch."""
    from .capture import Paths, observe

    tally = Tally()
    with observe(tally, Paths(root, (root,))):
        yield tally
