"""The report for people: each finding with its source underlined, why the line is traced and what to do about it."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Mapping
from functools import cache
from itertools import groupby

import click

from ..findings import CheckReport, Effect, Entry, Finding, Span
from ..lines import lines_of
from .concise import COLOURS, headline, shown
from .look import PLAIN, Look, printable

NARROWEST = 40
"""Cells of source shown of one line at least, whatever the width."""
LINES = 4
"""Lines shown of one span."""

HOW = {
    "decorator": "decorated with torch.compile",
    "call": "passed to torch.compile",
    "assumed": "assumed to be compiled",
    "option": "named by --entry",
}


def render(report: CheckReport, notes: bool, look: Look = PLAIN) -> str:
    """The findings, a hint and a summary line; styled, so that the caller decides about colour when it echoes."""
    return "\n".join(_blocks(report, notes, look)) + "\n"


def _blocks(report: CheckReport, notes: bool, look: Look) -> Iterator[str]:
    read = cache(lines_of)
    findings = shown(report, notes)
    entries = _named(report.entries)
    for finding in findings:
        yield (
            "\n".join(
                [
                    headline(finding, look),
                    *_source(finding, read(finding.span.path, finding.span.cell), look.width),
                    *_details(finding, entries),
                ]
            )
            + "\n"
        )
    if findings:
        worst = min(findings, key=lambda finding: (list(COLOURS).index(finding.severity), finding.sort_key))
        yield f"`fullgraph rules explain {worst.code}` says more about a rule."
    yield from _worst(findings)
    yield _summary(report, findings)


def _source(finding: Finding, lines: list[str], width: int) -> Iterator[str]:
    """Long lines are cut around the span."""
    span = finding.span
    numbers = range(span.line, min(span.end_line, span.line + LINES - 1, len(lines)) + 1)
    if not numbers:
        return
    margin = len(str(numbers[-1]))
    bar = click.style("|", fg="cyan")
    yield f"{'':{margin}} {bar}"
    for number in numbers:
        text, marks = _underlined(lines[number - 1], number, span, max(NARROWEST, width - margin - 3))
        yield f"{click.style(f'{number:>{margin}}', fg='cyan')} {bar} {text}".rstrip()
        if marks.strip():
            yield f"{'':{margin}} {bar} {click.style(marks, fg=COLOURS[finding.severity], bold=True)}"
    if numbers[-1] < span.end_line:
        yield f"{'':{margin}} {bar} ..."


def _underlined(line: str, number: int, span: Span, width: int) -> tuple[str, str]:
    """A line as shown, and the row of `^` below it, both measured in terminal cells."""
    indent = len(line) - len(line.lstrip())
    start = span.column if number == span.line else indent
    end = span.end_column if number == span.end_line else len(line.rstrip())
    first, last = _window(line, start, width)
    before, marked = line[first:start], line[start : min(end, last)]
    lead, tail = "…" if first else "", "…" if last < len(line) else ""
    text = _printable(f"{lead}{line[first:last]}{tail}")
    return text, " " * _cells(_printable(lead + before)) + "^" * max(
        _cells(_printable(marked)), start < len(line) or number == span.line
    )


def _window(line: str, start: int, width: int) -> tuple[int, int]:
    """The part of a line to show, so that `start` is in it; an ellipsis on either side has room."""
    if _cells(_printable(line)) <= width:
        return 0, len(line)
    first = max(0, start - width // 3)
    last = first
    room = width - 2
    while last < len(line) and (room := room - _cells(_printable(line[last]))) >= 0:
        last += 1
    return first, last


def _printable(text: str) -> str:
    """Tabs become four spaces, as the marks below a line are counted by them."""
    return printable(text.replace("\t", "    "))


def _cells(text: str) -> int:
    return len(text) if text.isascii() else sum(map(_width, text))


def _width(character: str) -> int:
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def _named(entries: tuple[Entry, ...]) -> dict[str, list[Entry]]:
    """The entries by their qualified names."""
    found: dict[str, list[Entry]] = {}
    for entry in entries:
        found.setdefault(entry.qualname, []).append(entry)
    return found


def _details(finding: Finding, entries: Mapping[str, list[Entry]]) -> Iterator[str]:
    if finding.via:
        chain = " → ".join(finding.via)
        entry = _entry_of(finding, entries)
        yield _detail("traced because", f"{chain}; {finding.via[0]} is {HOW[entry.how]}" if entry else chain)
    if finding.root not in ("", finding.span.start):
        yield _detail("root", printable(finding.root))
    if len(finding.impact.callers) > 1:
        yield _detail("called by", ", ".join(finding.impact.callers))
    if conditions := list(_conditions(finding)):
        yield _detail("holds", ", ".join(conditions))
    if finding.advice:
        yield _detail("help", finding.advice)
    for fix in finding.fixes:
        yield _detail("fix", f"{fix.title} ({fix.safety})")


def _detail(label: str, text: str) -> str:
    return f"  = {click.style(f'{label}:', bold=True)} {text}"


def _entry_of(finding: Finding, entries: Mapping[str, list[Entry]]) -> Entry | None:
    named = entries.get(finding.via[0], [])
    return next((entry for entry in named if entry.path == finding.span.path), named[0] if named else None)


def _conditions(finding: Finding) -> Iterator[str]:
    match [mode for mode, outcome in finding.modes if outcome == "breaks"]:
        case ["default"]:
            yield "under default compile (fullgraph=True captures it)"
        case ["fullgraph"]:
            yield "with fullgraph=True"
    if finding.when.training is not None:
        yield "in training" if finding.when.training else "in evaluation"
    yield from (f"when `{name}` is passed" for name in finding.when.given)
    if finding.when.dtype:
        yield f"for {finding.when.dtype}"


def _worst(findings: list[Finding]) -> Iterator[str]:
    """The break that costs most, where that can be told among several."""
    breaks = [finding for finding in findings if finding.effect in (Effect.GRAPH_BREAK, Effect.SKIPPED_FRAME)]
    worst = max(breaks, key=lambda finding: finding.impact.weight, default=None)
    if worst is not None and len(breaks) > 1 and (cost := _cost(worst)):
        yield f"worst: {printable(worst.span.start)} {cost}"


def _cost(finding: Finding) -> str:
    impact = finding.impact
    parts = [f"splits {impact.entries} entries"] if impact.entries > 1 else []
    parts += ["in a loop"] if impact.loop else []
    parts += ["in the middle of the graph"] if impact.where == "middle" else []
    return ", ".join(parts)


def _summary(report: CheckReport, findings: list[Finding]) -> str:
    if not report.files:
        return click.style("no Python files here", bold=True)
    files = len({finding.span.path for finding in findings})
    hidden = len(report.findings) - len(findings)
    counted = f"{_count(len(findings), 'finding')} in {files} of {_count(report.files, 'file')}"
    text = counted if findings else f"no findings in {_count(report.files, 'file')}"
    if hidden:
        text += f" ({_count(hidden, 'note')} hidden, --notes shows them)"
    if report.projects > 1:
        text += f" of {report.projects} projects, each by its own settings"
    return click.style(f"{text}; {_entries(report.entries)}; judged for torch {report.torch}", bold=True)


def _entries(entries: tuple[Entry, ...]) -> str:
    if not entries:
        return "nothing is compiled here (name an entry with --entry, or see --assume-compiled)"
    asked = sorted(entry.how for entry in entries if entry.asked)
    elsewhere = len(entries) - len(asked)
    if all(entry.how == "assumed" for entry in entries):
        text = f"no compile call found: {_count(len(asked), 'function')} assumed to be compiled"
    else:
        kinds = " and ".join(how for how, _ in groupby(asked))
        text = _count(len(asked), "entry", "entries") + (f" by {kinds}" if kinds else "")
    return f"{text}, {elsewhere} in files not asked about" if elsewhere else text


def _count(number: int, noun: str, plural: str = "") -> str:
    return f"{number} {noun if number == 1 else plural or noun + 's'}"
