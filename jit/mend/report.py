"""What trying fixes came to: a row for each site, with what was measured before and after."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

ALL = 0.995
"""The share of what graphs compute from which on it is not worth a word that some is computed outside now."""


class Outcome(str, Enum):
    """`verified`: the cause is gone and nothing else is other than before."""

    VERIFIED = "verified"
    REJECTED = "rejected"
    NO_FIX = "no-fix"


@dataclass(frozen=True, slots=True)
class Figures:
    """What was measured of a program compiled, over all modes it was run in."""

    breaks: int
    recompiles: int
    compile_s: float
    step_s: float | None
    elements: int
    """Of all results in graphs, as often as these run."""


@dataclass(frozen=True, slots=True)
class Row:
    """A site and a fix that was tried there. Lines are those of the unchanged file."""

    path: str
    line: int
    code: str
    title: str
    safety: str
    outcome: Outcome
    reason: str
    """Why it was not accepted."""
    before: Figures
    after: Figures | None = None
    difference: float | None = None
    """The largest one between compiled results with the fix and eager ones without."""
    gradient_difference: float | None = None
    inputs: int = 0
    """Different arguments that compiled functions were called with."""

    @property
    def remark(self) -> str:
        """Why it was not accepted, or how much less is compiled with it."""
        if self.outcome is not Outcome.VERIFIED or self.after is None or not self.before.elements:
            return self.reason
        share = self.after.elements / self.before.elements
        return f"graphs compute {share:.0%} of the elements that they did" if share < ALL else ""


@dataclass(frozen=True, slots=True)
class Mended:
    """Of one target."""

    rows: tuple[Row, ...]
    modes: tuple[str, ...] = ()
    remark: str | None = None
    """Why nothing could be tried."""
    diff: str = ""
    """What the accepted fixes change in the files that this target runs."""
