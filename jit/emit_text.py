"""The reports of all targets for people: findings with their verdicts, what nobody had predicted, a table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

import click

from fullgraph.lint.findings import Severity, Verdict

from .events import Break, BreakKind, Observation, Recompile, Status
from .verify import Judged, TargetReport

WIDTH = 120
SHOWN = 20
"""Lines of one kind shown for a target; JSON has them all."""
COLOURS = {Verdict.CONFIRMED: "red", Verdict.REFUTED: "green", Verdict.NOT_REACHED: "yellow"}
COLUMNS = ("findings", "confirmed", "refuted", "not reached", "unpredicted", "breaks", "recompiles")


def render(reports: Sequence[TargetReport], notes: bool) -> str:
    """Styled; the caller decides about colour when it echoes."""
    return "\n".join([*(line for report in reports for line in _target(report, notes)), *_table(reports, notes)]) + "\n"


def _target(report: TargetReport, notes: bool) -> Iterator[str]:
    seen = report.observation
    graphs = sum(frame.graphs for frame in seen.frames)
    ops = sum(graph.ops for graph in seen.graphs)
    yield click.style(seen.target, bold=True) + f": {_count(graphs, 'graph')}, {_count(ops, 'operator')}"
    if seen.status is not Status.OK:
        yield click.style(f"  {seen.status.value}: {_cut(seen.detail or '', WIDTH - 20)}", fg="red")
    yield from _capped(_finding(item) for item in _shown(report, notes))
    yield from _capped(_unpredicted(item) for item in report.unpredicted)
    yield from _capped(_recompiling(items) for items in report.recompiling)
    for failure in seen.failures:
        yield _line("error", "red", f"{failure.path}:{failure.line}: {failure.kind}: {failure.reason}")
    yield from _lowered(seen)
    yield from _capped(_line("failed", "yellow", text) for item in seen.lowered for text in item.failures)
    yield from _stages(seen)
    yield ""


def _lowered(seen: Observation) -> Iterator[str]:
    """What the MLIR backend made of all graphs, in a line or two."""
    if seen.no_mlir:
        yield _line("mlir", "yellow", f"eager stands in: {seen.no_mlir}")
    if not seen.lowered:
        return
    left = Counter[str]()
    for item in seen.lowered:
        for part in item.left:
            left[part.reason] += part.count
    native = sum(item.mlir_ops for item in seen.lowered)
    errors = [item.max_abs_error for item in seen.lowered if item.max_abs_error is not None]
    differ = f", at most {max(errors):.1e} from eager" if errors else ""
    seconds = sum(item.compile_s for item in seen.lowered)
    yield _line("mlir", "", f"{native} of {native + left.total()} ATen operators native{differ}, {seconds:.1f} s")
    if left:
        yield _line("", "", "eager: " + ", ".join(f"{count} {reason}" for reason, count in left.most_common()))


def _stages(seen: Observation) -> Iterator[str]:
    for item in seen.stages:
        place = f"graph {item.graph}, {item.phase.value}" + (f", {item.region}" if item.region else "")
        yield click.style(f"  // {place}: {item.name}", bold=True)
        yield item.text.rstrip()


def _shown(report: TargetReport, notes: bool) -> list[Judged]:
    return [item for item in report.judged if notes or item.finding.severity is not Severity.NOTE]


def _capped(lines: Iterator[str]) -> Iterator[str]:
    every = list(lines)
    yield from every[:SHOWN]
    if len(every) > SHOWN:
        yield _line("", "", f"and {len(every) - SHOWN} more; --output-format json shows all")


def _line(label: str, colour: str, text: str) -> str:
    return f"  {click.style(f'{label:<11}', fg=colour or None)}  {_cut(text, WIDTH - 15)}"


def _cut(text: str, room: int) -> str:
    return text if len(text) <= room else text[: room - 1] + "…"


def _finding(item: Judged) -> str:
    span = item.finding.span
    label = item.verdict.value.replace("-", " ")
    place = f"{span.path}:{span.line}:{span.column + 1}: {item.finding.code}"
    return _line(label, COLOURS[item.verdict], f"{place} ({item.evidence}) {item.finding.message}")


def _unpredicted(item: Break) -> str:
    skips = ", the whole frame runs eagerly" if item.kind is BreakKind.SKIPPED_FRAME else ""
    times = f", {item.count} times" if item.count > 1 else ""
    cause = f" after {item.root_gb}" if item.root_gb and item.root_gb != item.gb else ""
    inside = f" in {item.root}" if item.in_library else ""
    place = f"{item.path}:{item.line}:{(item.column or 0) + 1}: {item.gb or 'no GB id'}{cause}"
    return _line("unpredicted", "magenta", f"{place} {item.gb_type}{inside}{skips}{times}")


def _recompiling(items: Sequence[Recompile]) -> str:
    first, last = items[0], items[-1]
    limit = ", then the limit: it runs eagerly from there" if any(item.limit_hit for item in items) else ""
    guard = f"; last failed guard: {last.failed_guards[0]}" if last.failed_guards else ""
    text = f"{first.path}:{first.line}: {first.function} {_count(len(items), 'time')}{limit}{guard}"
    return _line("recompiled", "magenta", text)


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _table(reports: Sequence[TargetReport], notes: bool) -> Iterator[str]:
    width = max([6, *(len(report.observation.target) for report in reports)])
    status = max([6, *(len(report.observation.status.value) for report in reports)])
    yield click.style(f"{'target':<{width}}  {'status':<{status}}  {'  '.join(COLUMNS)}", bold=True)
    for report in reports:
        seen = report.observation
        numbers = (
            len(judged := _shown(report, notes)),
            *(sum(item.verdict is verdict for item in judged) for verdict in Verdict),
            len(report.unpredicted),
            len(seen.breaks),
            len(seen.recompiles),
        )
        cells = (f"{number:>{len(name)}}" for name, number in zip(COLUMNS, numbers, strict=True))
        yield f"{seen.target:<{width}}  {seen.status.value:<{status}}  {'  '.join(cells)}"
