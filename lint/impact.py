"""What a break costs: the ways that lead to a line become an `Impact`."""

from __future__ import annotations

from .emission import Emission
from .findings import Impact
from .ir import Block
from .project import Project


class Ways:
    """All the ways on which one line is reached."""

    def __init__(self) -> None:
        self._entries: set[tuple[str, str]] = set()
        self._callers: set[str] = set()
        self._loop = False

    def add(self, emission: Emission) -> None:
        chain = steps(emission)
        self._entries.add(chain[0][:2])
        self._callers.update(function for _, function, _ in chain[-2:-1])
        self._loop = self._loop or emission.repeated

    def impact(self, emission: Emission, project: Project) -> Impact:
        """Their impact; `emission` is the one that the finding tells of."""
        return Impact(self._loop, _where(emission, project), len(self._entries), tuple(sorted(self._callers)))


def steps(emission: Emission) -> list[tuple[str, str, int]]:
    """`(path, function, line)` from the entry's own function to the line itself."""
    calls = [site for site in reversed(emission.calls) if site.function != "<module>"]
    own = (emission.path, emission.function, emission.hit.span[0])
    return [*((site.path, site.function, site.span[0]) for site in calls), own]


def _where(emission: Emission, project: Project) -> str | None:
    """Where in the first function on the way that does more than pass on to the next."""
    for path, function, line in steps(emission):
        module = project.load(path)
        symbol = None if module is None else module.symbol(function)
        if symbol is None:
            return None
        body = _without_docstring(symbol.body)
        if len(body) > 1:
            first, last = body[1][1][0], body[-1][1][0]
            return "start" if line < first else "end" if line >= last else "middle"
    return None


def _without_docstring(body: Block) -> Block:
    is_text = bool(body) and body[0][0] == "expr" and body[0][2][0] == "const"
    return body[1:] if is_text else body
