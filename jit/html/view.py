"""What the page shows of the reports: roots, trees of frames, chains of recompiles, graphs and times."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate

from markupsafe import Markup

from fullgraph.lint.findings import Verdict

from ..events import Break, CallSite, CompileTime, Frame, Graph, Guard, Lowered, Mismatch, Recompile, Stage
from ..recompiles import CACHE_ENTRY
from ..verify import TargetReport
from .anchors import Anchors
from .highlight import ir
from .source import File, files

PHASES = ("dynamo", "aot", "backend", "guards")
"""Of a compilation, in their order."""
TIMED = 60
"""Compilations in the timeline: the longest ones."""


@dataclass(frozen=True, slots=True)
class Root:
    """One cause: where tracing really stopped, and the breaks that would be gone with it."""

    place: str
    inside: str
    """Where in a library it stopped, if it did; `place` is the user's then."""
    gb: str | None
    gb_type: str
    breaks: int
    sites: tuple[tuple[str, int], ...]
    targets: int
    advice: str
    """Of a finding that one of the breaks confirms, else Dynamo's own."""
    link: str | None


@dataclass(frozen=True, slots=True)
class FrameView:
    frame: Frame
    anchor: str
    recompile: str | None
    """Where it is told why it was compiled again."""

    @property
    def guards(self) -> tuple[Guard, ...]:
        """With the lines that made them necessary, if Dynamo tells them at all."""
        if self.frame.guard_tree:
            return tuple(self.frame.guard_tree.walk())
        return tuple(Guard("", text, None) for text in self.frame.guards)


@dataclass(slots=True)
class Node:
    """Calls that lead from one to the next, the frames that were compiled there, and where it goes on."""

    sites: list[CallSite]
    frames: list[FrameView] = field(default_factory=list)
    children: dict[CallSite, Node] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Step:
    recompile: Recompile
    anchor: str
    failed: tuple[Mismatch, ...]


@dataclass(frozen=True, slots=True)
class Chain:
    """One function that was compiled again and again."""

    frame: str
    path: str
    line: int
    function: str
    steps: tuple[Step, ...]
    repeated: bool
    """It counts: more than once, or up to the limit."""


@dataclass(frozen=True, slots=True)
class StageView:
    stage: Stage
    html: Markup
    lines: int


@dataclass(frozen=True, slots=True)
class GraphView:
    graph: Graph
    anchor: str
    lowered: tuple[Lowered, ...]
    stages: tuple[StageView, ...]


@dataclass(frozen=True, slots=True)
class Bar:
    """A phase in the timeline; start and width are percents of the whole."""

    phase: str
    start: float
    width: float
    seconds: float


@dataclass(frozen=True, slots=True)
class Timed:
    frame: Frame
    bars: tuple[Bar, ...]


@dataclass(frozen=True, slots=True)
class Timeline:
    """Compilations one after the other; `left_out` were shorter than those that are shown."""

    total: float
    phases: tuple[Bar, ...]
    rows: tuple[Timed, ...]
    left_out: int


@dataclass(frozen=True, slots=True)
class TargetView:
    report: TargetReport
    anchor: str
    anchors: Anchors
    files: tuple[File, ...]
    tree: Node
    chains: tuple[Chain, ...]
    graphs: tuple[GraphView, ...]
    timeline: Timeline | None

    @property
    def counts(self) -> dict[str, int]:
        """As the overview names them."""
        seen = self.report.observation
        verdicts = {v.value.replace("-", " "): sum(i.verdict is v for i in self.report.judged) for v in Verdict}
        return {
            **verdicts,
            "unpredicted": len(self.report.unpredicted) + len(self.report.stale),
            "breaks": len(seen.breaks),
            "recompiles": len(seen.recompiles),
            "graphs": sum(frame.graphs for frame in seen.frames),
            "operators": sum(graph.ops for graph in seen.graphs),
        }


def view(report: TargetReport, number: int | None, read: Callable[[str], str]) -> TargetView:
    """`number` is the target's among several."""
    anchors = Anchors("" if number is None else f"t{number}-")
    seen = report.observation
    framed = [(frame, anchors.new("frame", frame.id)) for frame in seen.frames]
    chains = tuple(_chains(report, anchors))
    told = {step.recompile.frame: step.anchor for chain in chains for step in chain.steps}
    return TargetView(
        report,
        anchors.new("target"),
        anchors,
        files(report, anchors, read),
        _tree(FrameView(frame, anchor, told.get(frame.id)) for frame, anchor in framed),
        chains,
        tuple(_graph(report, graph, anchors) for graph in seen.graphs),
        _timeline(seen.frames),
    )


def roots(targets: Sequence[TargetView]) -> list[Root]:
    """The causes of all breaks, the one that makes most of them first."""
    advice = {
        (id(target), number): judged.finding.advice
        for target in targets
        for judged in target.report.judged
        if judged.verdict is Verdict.CONFIRMED
        for number in judged.basis.breaks
    }
    by_root: dict[tuple[str, str], list[tuple[TargetView, Break]]] = defaultdict(list)
    for target in targets:
        for item in target.report.observation.breaks:
            by_root[item.root, item.root_gb or item.gb or item.gb_type].append((target, item))
    found = [_root(place, items, advice) for (place, _), items in by_root.items()]
    return sorted(found, key=lambda root: (-root.breaks, root.sites, root.place, root.gb_type))


def _root(place: str, items: Sequence[tuple[TargetView, Break]], advice: Mapping[tuple[int, int], str]) -> Root:
    target, first = items[0]
    path, _, line = place.rpartition(":")
    link = target.anchors.line(path, int(line)) or target.anchors.line(first.path, first.line)
    known = (advice.get((id(target), item.number)) for target, item in items)
    hints = (hint for _, item in items for hint in item.hints[:1])
    sites = dict.fromkeys((item.path, item.line) for _, item in items)
    return Root(
        f"{first.path}:{first.line}" if first.in_library else place,
        place if first.in_library else "",
        first.root_gb or first.gb,
        first.gb_type,
        sum(item.count for _, item in items),
        tuple(sites),
        len({id(target) for target, _ in items}),
        next((text for text in (*known, *hints) if text), ""),
        link,
    )


def _tree(frames: Iterable[FrameView]) -> Node:
    root = Node([])
    for item in frames:
        node = root
        for site in (*item.frame.stack, CallSite(item.frame.path, item.frame.line, item.frame.function)):
            node = node.children.setdefault(site, Node([site]))
        node.frames.append(item)
    return _shortened(root)


def _shortened(node: Node) -> Node:
    """Calls that only lead on to one other call go together with it."""
    while node.sites and not node.frames and len(node.children) == 1:
        (only,) = node.children.values()
        node = Node([*node.sites, *only.sites], only.frames, only.children)
    node.children = {site: _shortened(child) for site, child in node.children.items()}
    return node


def _chains(report: TargetReport, anchors: Anchors) -> Iterator[Chain]:
    repeated = {items[0].frame.partition("/")[0] for items in report.recompiling}
    by_frame: dict[str, list[Recompile]] = defaultdict(list)
    for item in report.observation.recompiles:
        by_frame[item.frame.partition("/")[0]].append(item)
    for frame, items in sorted(by_frame.items(), key=lambda pair: (pair[0] not in repeated, -len(pair[1]))):
        steps = tuple(Step(item, anchors.new("recompile", item.frame, item), _failed(item)) for item in items)
        yield Chain(frame, items[0].path, items[0].line, items[0].function, steps, frame in repeated)


def _failed(item: Recompile) -> tuple[Mismatch, ...]:
    """The failed guards without the version that they are of; several versions may have failed one guard."""
    mismatches = item.mismatches or tuple(Mismatch(text, None, None) for text in item.failed_guards)
    found = (replace(known, guard=CACHE_ENTRY.sub("", known.guard)) for known in mismatches)
    return tuple(dict.fromkeys(found))


def _graph(report: TargetReport, graph: Graph, anchors: Anchors) -> GraphView:
    seen = report.observation
    stages = [item for item in seen.stages if item.graph == graph.number]
    return GraphView(
        graph,
        anchors.new("graph", graph.number),
        tuple(item for item in seen.lowered if item.graph == graph.number),
        tuple(StageView(item, ir(item.text), item.text.count("\n")) for item in stages),
    )


def _timeline(frames: Sequence[Frame]) -> Timeline | None:
    timed = [(frame, frame.phases) for frame in frames if frame.phases]
    total = sum(sum(_seconds(phases)) for _, phases in timed)
    if not total:
        return None
    longest = {id(frame) for frame, _ in sorted(timed, key=lambda pair: -sum(_seconds(pair[1])))[:TIMED]}
    rows, begun = [], 0.0
    for frame, phases in timed:
        bars = _bars([phases], begun, total)
        begun += sum(bar.seconds for bar in bars)
        if id(frame) in longest:
            rows.append(Timed(frame, bars))
    return Timeline(total, _bars([phases for _, phases in timed], 0.0, total), tuple(rows), len(timed) - len(rows))


def _bars(times: Sequence[CompileTime], begun: float, total: float) -> tuple[Bar, ...]:
    sums = [sum(parts) for parts in zip(*map(_seconds, times), strict=True)]
    starts = accumulate(sums, initial=begun)
    return tuple(
        Bar(phase, 100 * start / total, 100 * seconds / total, seconds)
        for phase, start, seconds in zip(PHASES, starts, sums, strict=False)
    )


def _seconds(time: CompileTime) -> tuple[float, ...]:
    """As in `PHASES`; Dynamo's clocks may overlap by a hair."""
    return tuple(max(0.0, part) for part in (time.dynamo_s, time.aot_s, time.backend_s, time.guards_s))
