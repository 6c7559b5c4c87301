"""The dynamic half's data model: what Dynamo was seen to do. Never imports torch.

Lines count from 1, columns from 0 in code points; paths use `/`, relative inside the working directory, else absolute.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from enum import Enum
from typing import NamedTuple, TypeAlias

from .digest import Digest
from .mend.trial import Compared, Composition, Executed


class BreakKind(str, Enum):
    """A graph break leaves the graphs before and after it; a skipped frame leaves none."""

    GRAPH_BREAK = "graph-break"
    SKIPPED_FRAME = "skipped-frame"


class Status(str, Enum):
    """How a target ended."""

    OK = "ok"
    FAILED = "failed"
    """The program raised, or asked to exit with an error."""
    TIMEOUT = "timeout"
    CRASHED = "crashed"
    """The process ended without saying so: a signal, `os._exit`."""
    NOTHING_COMPILED = "nothing-compiled"


class CallSite(NamedTuple):
    """One level of a user's call stack."""

    path: str
    line: int
    function: str


@dataclass(frozen=True, slots=True)
class Break:
    """Tracing stopped at a line of the user's."""

    number: int
    """Events with one number are one event, the later one better informed."""
    kind: BreakKind
    path: str
    """The innermost first-party call; the place of the cause itself may be a library's, see `root`."""
    line: int
    column: int | None
    end_column: int | None
    """Of the expression, as far as it lies on this line; None where the interpreter does not know."""
    function: str
    reason: str
    gb: str | None
    gb_type: str
    root: str
    """`path:line` where tracing really stopped."""
    root_gb: str | None
    """Differs from `gb` where this break was raised while handling another one."""
    stack: tuple[CallSite, ...] = ()
    """The first-party calls that lead here, outermost first, without the innermost."""
    hints: tuple[str, ...] = ()
    in_library: bool = False
    count: int = 1

    @property
    def site(self) -> tuple[str, int, str]:
        return (self.path, self.line, self.gb or self.gb_type)

    @property
    def sort_key(self) -> tuple[str, int, int, str, str]:
        return (self.path, self.line, self.column or 0, self.gb or "", self.kind.value)


@dataclass(frozen=True, slots=True)
class Mismatch:
    """A guard that failed, with what it expected and what came, where that is known."""

    guard: str
    expected: str | None
    actual: str | None


@dataclass(frozen=True, slots=True)
class Recompile:
    """A function was compiled again because no compiled version of it admits the new arguments."""

    frame: str
    path: str
    line: int
    function: str
    failed_guards: tuple[str, ...]
    guard_sites: tuple[CallSite, ...] = ()
    """Where the failed guards were made, as far as Dynamo says."""
    limit_hit: bool = False
    mismatches: tuple[Mismatch, ...] = ()
    """One for each failed guard."""
    variation: str = ""
    """What the call that did it had changed, see `Called`."""
    stack: tuple[CallSite, ...] = ()
    """The first-party calls that lead to the function, outermost first."""


@dataclass(frozen=True, slots=True)
class Guard:
    """One check; `site` is the user's line that made it necessary, if Dynamo says."""

    kind: str
    expression: str
    site: CallSite | None


@dataclass(frozen=True, slots=True)
class GuardNode:
    """A value that is guarded, and the values that are reached through it."""

    source: str
    type: str
    guards: tuple[Guard, ...]
    children: tuple[GuardNode, ...]

    def walk(self) -> Iterator[Guard]:
        yield from self.guards
        for child in self.children:
            yield from child.walk()


@dataclass(frozen=True, slots=True)
class Symbol:
    """A size or number that stands for many values."""

    name: str
    source: str
    hint: str
    """Its value while tracing."""
    value: str | None = None
    """The number that tracing tied it to, if it did."""
    site: CallSite | None = None
    """The line that did."""


@dataclass(frozen=True, slots=True)
class CompileTime:
    """Seconds of the phases of one compilation."""

    dynamo_s: float
    aot_s: float
    backend_s: float
    guards_s: float


@dataclass(frozen=True, slots=True)
class Frame:
    """A function that Dynamo compiled."""

    id: str
    path: str
    line: int
    function: str
    graphs: int
    ops: int
    compile_s: float
    guards: tuple[str, ...] = ()
    guard_tree: GuardNode | None = None
    symbols: tuple[Symbol, ...] = ()
    phases: CompileTime | None = None
    stack: tuple[CallSite, ...] = ()
    """The first-party calls that lead to it, outermost first."""


@dataclass(frozen=True, slots=True)
class Graph:
    """A graph handed to the backend; `compile_s` is the backend's share."""

    frame: str
    ops: int
    compile_s: float
    number: int = 0
    """Counts the graphs of the process."""


GRAPH_NUMBER = "fullgraph_number"
"""The key under which a graph's `meta` tells the backend its number."""


class Phase(str, Enum):
    """What a lowered graph computes."""

    INFERENCE = "inference"
    FORWARD = "forward"
    BACKWARD = "backward"


@dataclass(frozen=True, slots=True)
class Left:
    """Calls of one ATen operator that run eagerly for one reason."""

    operator: str
    reason: str
    count: int


@dataclass(frozen=True, slots=True)
class Lowered:
    """What the MLIR backend made of a graph. Two events with one graph and phase are one, the later better informed."""

    graph: int
    """The `number` of the graph."""
    phase: Phase
    mlir_ops: int
    left: tuple[Left, ...]
    compile_s: float
    max_abs_error: float | None = None
    """From eager, over all regions compared; None if none has run yet."""
    failures: tuple[str, ...] = ()
    """What went wrong and left operators to eager."""

    @property
    def eager_ops(self) -> int:
        return sum(item.count for item in self.left)


@dataclass(frozen=True, slots=True)
class Stage:
    """The IR of a graph, or of one region of it, at one stage of its lowering."""

    graph: int
    phase: Phase
    region: str | None
    name: str
    text: str


@dataclass(frozen=True, slots=True)
class Reuse:
    """A graph of the frame `frame` (an id without the recompile number) ran again: a call needed no compilation.

    `varied` are the sizes and numbers that were others than at its first run; each is told once.
    """

    frame: str
    varied: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Failure:
    """Compiling raised an exception that reached the program."""

    kind: str
    path: str
    line: int
    function: str
    reason: str


@dataclass(frozen=True, slots=True)
class BackendError:
    """A backend raised an exception while compiling a graph of the frame, which `site` had come to."""

    frame: str
    backend: str
    kind: str
    reason: str
    site: CallSite


class Extent(NamedTuple):
    """An expression's place in its file, the end exclusive."""

    line: int
    column: int
    end_line: int
    end_column: int


@dataclass(frozen=True, slots=True)
class Traced:
    """Expressions of one function that Dynamo traced for the frame `frame` (an id without the recompile number)."""

    frame: str
    path: str
    function: str
    extents: tuple[Extent, ...]
    training: bool | None = None
    """The mode of the module that the frame runs, None if it runs none."""


@dataclass(frozen=True, slots=True)
class Result:
    """A call of a compiled function: what it got, what it gave, and the states of the sources that are watched."""

    entry: str
    arguments: Digest
    value: Digest
    states: tuple[str, ...]
    frames: tuple[str, ...]
    """Ids, without the recompile number, of the frames that were traced meanwhile."""
    hooks: int = 0
    """How often hooks had run until its end that were registered after the first call."""


@dataclass(frozen=True, slots=True)
class Probed:
    """The source with that number was changed and the compiled function called again; `stale` is None if it cannot be
    told, and `evidence` says why.
    """

    source: int
    entry: str
    stale: bool | None
    evidence: str


@dataclass(frozen=True, slots=True)
class Called:
    """The target is called, and what follows belongs to this call; a second event of one number tells that it failed.

    Calls with one `variation` change the same thing; it is empty while nothing is changed.
    """

    number: int
    variation: str
    change: str
    """In words."""
    error: str | None = None


@dataclass(frozen=True, slots=True)
class Remark:
    """Something that the reader should know, such as an argument that was made up."""

    text: str


@dataclass(frozen=True, slots=True)
class Process:
    """What follows was seen in this process, which is one of several of a program."""

    pid: int
    command: str
    rank: int | None = None
    """Among the processes of distributed training."""


@dataclass(frozen=True, slots=True)
class End:
    """The program came to its end; `error` says what was wrong, None if nothing."""

    error: str | None
    raised: CallSite | None = None
    """The innermost of the user's lines that an exception came from."""


Event: TypeAlias = (
    Break
    | Recompile
    | Frame
    | Graph
    | Lowered
    | Stage
    | Reuse
    | Failure
    | BackendError
    | Traced
    | Result
    | Probed
    | Called
    | Remark
    | Executed
    | Composition
    | Compared
    | Process
    | End
)


@dataclass(frozen=True, slots=True)
class Share:
    """How much of an observation was seen in one process."""

    process: Process
    breaks: int
    recompiles: int
    graphs: int


@dataclass(frozen=True, slots=True)
class Observation:
    """Everything seen of one target."""

    target: str
    status: Status
    detail: str | None
    torch: str = ""
    breaks: tuple[Break, ...] = ()
    recompiles: tuple[Recompile, ...] = ()
    frames: tuple[Frame, ...] = ()
    graphs: tuple[Graph, ...] = ()
    failures: tuple[Failure, ...] = ()
    backend_errors: tuple[BackendError, ...] = ()
    traced: tuple[Traced, ...] = ()
    reused: frozenset[str] = frozenset()
    """Frame ids without the recompile number."""
    varied: frozenset[tuple[str, str]] = frozenset()
    """Such an id, and a size or number that differed between calls that needed no compilation."""
    lowered: tuple[Lowered, ...] = ()
    stages: tuple[Stage, ...] = ()
    no_mlir: str | None = None
    """Why eager stood in for the MLIR backend, if it did."""
    raised: CallSite | None = None
    """Of an object: the line that raised when it was called, so that its inputs may be wrong."""
    results: tuple[Result, ...] = ()
    probed: tuple[Probed, ...] = ()
    calls: tuple[Called, ...] = ()
    """Of an object: each call, the ones that failed with their error and with nothing that Dynamo did during them."""
    remarks: tuple[str, ...] = ()
    shares: tuple[Share, ...] = ()
    """Of each process, where several were observed."""
    executed: tuple[Executed, ...] = ()
    compositions: tuple[Composition, ...] = ()
    """Of the modules that are compiled, where a fix is tried."""
    compared: Compared | None = None
    printed: str = ""
    """The end of what the program wrote to stdout."""
    output: tuple[str, ...] = ()
    """The last lines that the program wrote to stderr, if it did not end well."""


def latest(lowered: Iterable[Lowered]) -> tuple[Lowered, ...]:
    """What is known last of each graph and phase."""
    return tuple({(item.graph, item.phase): item for item in lowered}.values())


def distinct_breaks(breaks: Iterable[Break]) -> tuple[Break, ...]:
    """One break a site, counted: Dynamo reports a break again for every caller and every recompile that meets it.

    The first report says which kind it is: later ones may be of a resumed rest that has nothing left to compile.
    """
    latest = {item.number: item for item in breaks}
    sites: dict[object, Break] = {}
    for item in latest.values():
        known = sites.get(item.site)
        sites[item.site] = replace(known, count=known.count + 1) if known else item
    return tuple(sorted(sites.values(), key=lambda item: item.sort_key))
