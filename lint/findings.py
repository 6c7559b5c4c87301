"""The static half's data model: what `fullgraph check` reports. Imports nothing of ours; everything in `lint`, `jit`
and `cli` may import it.

Lines count from 1, columns from 0 in code points; paths are relative to the working directory and use `/`.
"""

from __future__ import annotations

from enum import Enum

from msgspec import Struct


class Effect(str, Enum):
    """What happens to the compiled program."""

    GRAPH_BREAK = "graph-break"
    SKIPPED_FRAME = "skipped-frame"
    RECOMPILE = "recompile"
    FROZEN_VALUE = "frozen-value"
    PLACEMENT = "placement"
    USER_ERROR = "user-error"


class Severity(str, Enum):
    """`error` and `warning` set the exit code; `note` never does."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


class Cause(str, Enum):
    """The three kinds of cause in PyTorch's troubleshooting guide."""

    FUNDAMENTAL = "fundamental"
    UNSUPPORTED = "unsupported"
    USER_ERROR = "user-error"


class Confidence(str, Enum):
    """How much of the claim rests on assumptions about values the linter could not see."""

    CERTAIN = "certain"
    LIKELY = "likely"
    POSSIBLE = "possible"

    @property
    def rank(self) -> int:
        return ("possible", "likely", "certain").index(self.value)


class Verdict(str, Enum):
    """What compiling said about a finding."""

    CONFIRMED = "confirmed"
    REFUTED = "refuted"
    NOT_REACHED = "not-reached"


class Span(Struct, frozen=True):
    """A region of source text: lines from 1, columns from 0 in code points, the end exclusive."""

    path: str
    line: int
    column: int
    end_line: int
    end_column: int
    cell: int | None = None
    """The notebook's cell in which the lines are counted."""

    @property
    def start(self) -> str:
        """`path:line`, and the cell between them in a notebook."""
        return f"{self.path}:{self.line}" if self.cell is None else f"{self.path}:cell {self.cell}:line {self.line}"


class Edit(Struct, frozen=True):
    """Replace the text of `path` from `start` to `end` (line, column) by `text`."""

    path: str
    start: tuple[int, int]
    end: tuple[int, int]
    text: str


class Fix(Struct, frozen=True):
    """A suggested change; `safe` cannot change the program's meaning, `unsafe` may, `display` is only to be read."""

    title: str
    safety: str
    edits: tuple[Edit, ...]

    @property
    def is_applicable(self) -> bool:
        """Whether an edit is what it is for."""
        return self.safety != "display"


class When(Struct, frozen=True):
    """The conditions under which a finding holds; None or empty means 'always'."""

    training: bool | None = None
    given: tuple[str, ...] = ()
    dtype: str | None = None


class Impact(Struct, frozen=True):
    """What a finding costs."""

    loop: bool = False
    """In a loop, here or in a caller."""
    where: str | None = None
    """`start`, `middle` or `end` of the compiled function; None where that can't be told."""
    entries: int = 1
    """How many entries reach it."""
    callers: tuple[str, ...] = ()
    """Qualified names of all the functions that call the one it stands in."""

    @property
    def weight(self) -> tuple[bool, bool, int]:
        return (self.loop, self.where == "middle", self.entries)


class Finding(Struct, frozen=True):
    """One root site: a source line that will break the graph, recompile, freeze a value or fail."""

    code: str
    rule: str
    span: Span
    function: str
    message: str
    advice: str
    effect: Effect
    severity: Severity
    cause: Cause | None
    confidence: Confidence
    modes: tuple[tuple[str, str], ...]
    """`(mode, "breaks" | "captured")` pairs."""
    when: When = When()
    gb: tuple[str, ...] = ()
    root: str = ""
    via: tuple[str, ...] = ()
    """Qualified names of the functions between the entry and this line, the entry first."""
    fixes: tuple[Fix, ...] = ()
    impact: Impact = Impact()

    @property
    def sort_key(self) -> tuple[str, int, int, int, str]:
        return (self.span.path, self.span.cell or 0, self.span.line, self.span.column, self.code)


class Entry(Struct, frozen=True):
    """A place where compilation starts. `how` is `decorator`, `call`, `assumed` or `option`."""

    path: str
    qualname: str
    how: str
    asked: bool = True
    """It lies in a file that was asked about."""


class CheckReport(Struct, frozen=True):
    """Everything one `fullgraph check` learned."""

    torch: str
    entries: tuple[Entry, ...]
    findings: tuple[Finding, ...]
    files: int = 0
    """How many files were looked at."""
    remarks: tuple[str, ...] = ()
    """One-line remarks for the reader, e.g. that the target torch lies outside the measured range."""
    projects: int = 1
    """How many projects, each with a config of its own, the files belong to."""
