"""What two versions of torch do differently, by their evidence."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from textwrap import wrap

from .measured import Cell, Evidence

Change = tuple[str, str]
"""What happened before and after, as text."""


def changes(old: Evidence, new: Evidence) -> dict[Change, list[str]]:
    """Change → the examples and symbols that it happened to; what only one side measured is no change."""
    before, after = _cells(old), _cells(new)
    found: dict[Change, list[str]] = defaultdict(list)
    for name in sorted(before.keys() & after.keys()):
        was, now = before[name], after[name]
        if was != now and "not measured" not in (was.default.kind, now.default.kind):
            found[str(was), str(now)].append(name)
    return dict(sorted(found.items()))


def _cells(evidence: Evidence) -> Mapping[str, Cell]:
    cells: dict[str, Cell] = {}
    for code, proven in evidence.rules.items():
        for kind, examples in (("bad", proven.bad), ("good", proven.good)):
            cells.update((f"{code} {kind} {number}", cell) for number, cell in enumerate(examples.values(), 1))
    for symbol, found in evidence.symbols.items():
        for expression, cell in found.items():
            cells[symbol if len(found) == 1 else f"{symbol} `{expression}`"] = cell
    return cells


def render(found: Mapping[Change, list[str]]) -> Iterator[str]:
    """What breaks now and did not first, then what no longer does, then the rest."""
    groups: dict[str, list[str]] = {"Breaks now": [], "Captured now": [], "Otherwise changed": []}
    for (was, now), names in found.items():
        title = "Breaks now" if was == "captured" else "Captured now" if now == "captured" else "Otherwise changed"
        groups[title] += ["", f"  {was} -> {now}: {len(names)}"]
        groups[title] += wrap(
            ", ".join(names), 110, initial_indent="    ", subsequent_indent="    ", break_long_words=False
        )
    for title, lines in groups.items():
        if lines:
            yield f"{title}:"
            yield from lines[1:]
            yield ""
    yield f"{sum(map(len, found.values()))} changes"
