"""What became of each site, for people: a line or two each, then the figures as a table that fits 80 columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import click

from fullgraph.lint.emit.look import readable

from .report import Figures, Mended, Outcome, Row

COLOURS = {Outcome.VERIFIED: "green", Outcome.REJECTED: "yellow", Outcome.NO_FIX: ""}
COLUMNS = ("breaks", "recompiles", "difference", "gradient", "compile s", "step ms")
NOTHING = "–"
SITE = 24
"""The most columns of a place in the table."""


def lines(mended: Mended) -> Iterator[str]:
    if mended.remark:
        yield _line("fixes", "yellow", mended.remark)
    if mended.rows and not mended.remark:
        yield from _told(mended)
        yield from _table(mended.rows)


def _told(mended: Mended) -> Iterator[str]:
    for row in mended.rows:
        place = f"{row.path}:{row.line}: {row.code}"
        yield _line(row.outcome.value.replace("-", " "), COLOURS[row.outcome], f"{place} {row.title or row.reason}")
        if row.title and row.remark:
            yield _line("", "", f"= {row.remark}")
    tried = max((row.inputs for row in mended.rows), default=0)
    if tried:
        modes = f", in {' and '.join(mended.modes)} mode" if mended.modes else ""
        yield _line("", "", f"compared on {tried} input{'s' * (tried > 1)}{modes}")


def _table(rows: Sequence[Row]) -> Iterator[str]:
    header = ("", *COLUMNS)
    cells = [(_place(row), *_cells(row)) for row in rows if row.outcome is not Outcome.NO_FIX]
    if not cells:
        return
    widths = [max(map(len, column)) for column in zip(header, *cells, strict=True)]
    for row in (header, *cells):
        first, *rest = (
            text.ljust(width) if not at else text.rjust(width)
            for at, (text, width) in enumerate(zip(row, widths, strict=True))
        )
        text = "  ".join((readable(first), *rest))
        yield "  " + (click.style(text, bold=True) if row is header else text)


def _place(row: Row) -> str:
    text = f"{row.path}:{row.line}"
    return text if len(text) <= SITE else "…" + text[1 - SITE :]


def _cells(row: Row) -> Iterator[str]:
    before, after = row.before, row.after
    yield _change(before.breaks, None if after is None else after.breaks)
    yield _change(before.recompiles, None if after is None else after.recompiles)
    yield NOTHING if row.difference is None else f"{row.difference:.1g}"
    yield NOTHING if row.gradient_difference is None else f"{row.gradient_difference:.1g}"
    yield _change(before.compile_s, None if after is None else after.compile_s)
    yield _change(_milliseconds(before), _milliseconds(after))


def _milliseconds(figures: Figures | None) -> float | None:
    return None if figures is None or figures.step_s is None else 1000 * figures.step_s


def _change(before: float | None, after: float | None) -> str:
    return f"{_number(before)}→{_number(after)}"


def _number(value: float | None) -> str:
    if value is None:
        return NOTHING
    return str(value) if isinstance(value, int) else f"{value:.2g}" if value < 100 else f"{value:.0f}"


def _line(label: str, colour: str, text: str) -> str:
    return f"  {click.style(f'{label:<11}', fg=colour or None)}  {readable(text)}"
