"""The reports of all targets for people: findings with their verdicts, what nobody had predicted, a table."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence

import click

from fullgraph.lint.emit.look import readable
from fullgraph.lint.findings import Severity, Verdict

from .events import Break, BreakKind, Called, Observation, Recompile, Share, Status
from .mend import emit_text as mend
from .recompiles import NEWEST, OLDEST, failed_guard
from .verify import Judged, Stale, TargetReport

SHOWN = 20
"""Items of one kind shown for a target; JSON has them all."""
SHOWN_OUTPUT = 4
"""Last lines of a program that did not end well."""
COLOURS = {Verdict.CONFIRMED: "red", Verdict.REFUTED: "green", Verdict.NOT_REACHED: "yellow"}
COLUMNS = ("findings", "confirmed", "refuted", "not reached", "unpredicted", "breaks", "recompiles")


def render(reports: Sequence[TargetReport], notes: bool, width: int | None) -> str:
    """Styled; the caller decides about colour when it echoes. `width` is the terminal's, None if there is none."""
    lines = [line for report in reports for line in _target(report, notes)]
    return "\n".join([*(_cut(line, width) for line in lines), *_table(reports, notes)]) + "\n"


def _target(report: TargetReport, notes: bool) -> Iterator[str]:
    seen = report.observation
    graphs = sum(frame.graphs for frame in seen.frames)
    ops = sum(graph.ops for graph in seen.graphs)
    yield click.style(seen.target, bold=True) + f": {_count(graphs, 'graph')}, {_count(ops, 'operator')}"
    if seen.status is not Status.OK:
        yield f"  {click.style(seen.status.value, fg='red')}: {readable(seen.detail or '')}"
        yield from (f"  | {readable(line)}" for line in _last_output(seen))
    for remark in seen.remarks:
        yield _line("note", "", remark)
    yield from _capped([_line("process", "", _share(item))] for item in seen.shares)
    yield from _findings(report, notes)
    yield from _capped(_unpredicted(item) for item in report.unpredicted)
    yield from _capped(_stale(item) for item in report.stale)
    yield from _capped(_recompiled(report))
    yield from _varied(report)
    for failure in seen.failures:
        yield _line("error", "red", f"{failure.path}:{failure.line}: {failure.kind}: {failure.reason}")
    for error in seen.backend_errors:
        yield _line(
            "error", "red", f"{error.site.path}:{error.site.line}: {error.backend}: {error.kind}: {error.reason}"
        )
    yield from _lowered(seen)
    yield from _capped([_line("failed", "yellow", text)] for item in seen.lowered for text in item.failures)
    yield from _stages(seen)
    if report.mended:
        yield from mend.lines(report.mended)
    yield ""


def _share(item: Share) -> str:
    process = item.process
    rank = "" if process.rank is None else f"rank {process.rank}, "
    counts = (_count(item.breaks, "break"), _count(item.recompiles, "recompile"), _count(item.graphs, "graph"))
    return f"{rank}pid {process.pid}: {', '.join(counts)}: {process.command}"


def _last_output(seen: Observation) -> Sequence[str]:
    """What the program said last, unless the detail has told it."""
    lines = [line for line in seen.output if line.strip()][-SHOWN_OUTPUT:]
    return [line for line in lines if line.strip() not in (seen.detail or "")]


def _findings(report: TargetReport, notes: bool) -> Iterator[str]:
    """Each with its verdict; of a program that did not come to its end only what it came to."""
    shown = _shown(report, notes)
    if report.observation.status is not Status.OK:
        missed = sum(item.verdict is Verdict.NOT_REACHED for item in shown)
        shown = [item for item in shown if item.verdict is not Verdict.NOT_REACHED]
        if missed:
            yield _line("not reached", "yellow", f"{_count(missed, 'finding')}: the program did not come to its end")
    yield from _capped(_finding(item) for item in shown)
    if hidden := len(report.judged) - len(_shown(report, notes)):
        yield _line("notes", "", f"{_count(hidden, 'finding')} of no consequence; --notes shows what they are")


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


def _capped(items: Iterable[Sequence[str]]) -> Iterator[str]:
    every = list(items)
    for lines in every[:SHOWN]:
        yield from lines
    if len(every) > SHOWN:
        yield _line("", "", f"and {len(every) - SHOWN} more; --output-format json shows all")


def _line(label: str, colour: str, text: str) -> str:
    return f"  {click.style(f'{label:<11}', fg=colour or None)}  {readable(text)}"


def _cut(line: str, width: int | None) -> str:
    """The line on one row of the terminal; styles take no room and end before any cut."""
    plain = click.unstyle(line)
    return line if width is None or len(plain) <= width else line[: len(line) - len(plain) + width - 1] + "…"


def _finding(item: Judged) -> list[str]:
    """What and why; of what is true, also what to do."""
    span = item.finding.span
    label = item.verdict.value.replace("-", " ")
    place = f"{span.path}:{span.line}:{span.column + 1}: {item.finding.code}"
    line = _line(label, COLOURS[item.verdict], f"{place} ({item.evidence}) {item.finding.message}")
    advised = item.verdict is Verdict.CONFIRMED and item.finding.advice
    return [line, _line("", "", f"= help: {item.finding.advice}")] if advised else [line]


def _unpredicted(item: Break) -> list[str]:
    skips = ", the whole frame runs eagerly" if item.kind is BreakKind.SKIPPED_FRAME else ""
    times = f", {item.count} times" if item.count > 1 else ""
    cause = f" after {item.root_gb}" if item.root_gb and item.root_gb != item.gb else ""
    inside = f" in {item.root}" if item.in_library else ""
    place = f"{item.path}:{item.line}:{(item.column or 0) + 1}: {item.gb or 'no GB id'}{cause}"
    line = _line("unpredicted", "magenta", f"{place} {item.gb_type}{inside}{skips}{times}")
    return [line, *(_line("", "", f"= help: {hint}") for hint in item.hints[:1])]


def _stale(item: Stale) -> list[str]:
    text = f"call {item.call} of {item.entry} gave an old result, other than eagerly: something in it is frozen"
    return [_line("unpredicted", "magenta", f"{item.path}:{item.line}: {text}")]


def _recompiled(report: TargetReport) -> Iterator[list[str]]:
    """A line for each function that was compiled again while nothing was varied; together, all such recompiles."""
    repeated = {items[0].frame for items in report.recompiling}
    lines = Counter(
        _line("recompiled", "magenta" if items[0].frame in repeated else "", _recompiling(items))
        for items in _by_frame(item for item in report.observation.recompiles if not item.variation)
    )
    for line, times in lines.items():
        yield [f"{line}, in {times} processes" if times > 1 and report.observation.shares else line]


def _by_frame(recompiles: Iterable[Recompile]) -> Iterable[list[Recompile]]:
    found: dict[str, list[Recompile]] = defaultdict(list)
    for item in recompiles:
        found[item.frame.partition("/")[0]].append(item)
    return found.values()


def _recompiling(items: Sequence[Recompile]) -> str:
    first = items[0]
    limit = ", then the limit: it runs eagerly from there" if any(item.limit_hit for item in items) else ""
    often = f"{first.path}:{first.line}: {first.function} {_count(len(items), 'time')}{limit}"
    return often + failed_guard(items[-1], NEWEST)


def _varied(report: TargetReport) -> Iterator[str]:
    """What each variation did: nothing, recompiles, or that the program cannot be called so."""
    seen = report.observation
    calls: dict[str, list[Called]] = defaultdict(list)
    for call in seen.calls:
        if call.variation:
            calls[call.variation].append(call)
    for variation, items in calls.items():
        good = [item for item in items if not item.error]
        head = f"{variation}: {_changes(good or items)}"
        if not good:
            yield _line("varied", "", f"{head}: cannot be called so: {items[0].error}")
            continue
        functions = list(_by_frame(item for item in seen.recompiles if item.variation == variation))
        if not functions:
            yield _line("varied", "green", f"{head}: nothing was compiled again")
        for recompiles in functions:
            settled = len(recompiles) < len(good)
            often = (
                f"{_count(len(good), 'call')}, {'only ' if settled else ''}{_count(len(recompiles), 'recompile')} of"
            )
            site = recompiles[0]
            place = f"{site.path}:{site.line}: {site.function}{failed_guard(recompiles[0], OLDEST)}"
            yield _line("varied", "" if settled or len(good) == 1 else "magenta", f"{head}: {often} {place}")


def _changes(calls: Sequence[Called]) -> str:
    """`2 → 3`, `2 → 4` in short: `2 → 3, 4`."""
    befores = {call.change.partition(" → ")[0] for call in calls}
    if len(befores) == 1 and all(" → " in call.change for call in calls):
        return f"{befores.pop()} → {', '.join(call.change.partition(' → ')[2] for call in calls)}"
    return "; ".join(call.change for call in calls)


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
            len(report.unpredicted) + len(report.stale),
            len(seen.breaks),
            len(seen.recompiles),
        )
        cells = (f"{number:>{len(name)}}" for name, number in zip(COLUMNS, numbers, strict=True))
        yield f"{seen.target:<{width}}  {seen.status.value:<{status}}  {'  '.join(cells)}"
