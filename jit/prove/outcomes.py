"""What was seen of an example or a probe, as the outcomes that evidence holds."""

from __future__ import annotations

import re
from collections.abc import Mapping

from fullgraph.rules.measured import Cell, Outcome
from fullgraph.rules.model import Example, Rule

from .tasks import BreakAt, Mode, Seen

RunsOf = Mapping[Mode, Seen]
UNMEASURED = Outcome("not measured", "no run")
CAPTURED = Outcome("captured")
SMOOTH = Cell(CAPTURED, CAPTURED)
UNPROBED = Cell(Outcome("not measured", "no probe"), Outcome("not measured", "no probe"))


def marked(example: Example, code: str) -> frozenset[int]:
    """The lines that carry the rule's code."""
    lines = enumerate(example.code.splitlines(), 1)
    return frozenset(number for number, line in lines if re.search(rf"#.*\b{code}\b", line))


def of_example(rule: Rule, example: Example, runs: RunsOf) -> Cell:
    """In default mode and in fullgraph mode, which is run where default mode broke."""
    lines = marked(example, rule.code)
    default = of_run(runs.get(Mode.DEFAULT), runs.get(Mode.EAGER), lines)
    if default == CAPTURED and rule.effect == "frozen-value" and _stale(runs):
        default = Outcome("frozen")
    if Mode.FULLGRAPH not in runs:
        return Cell(default, default)
    return Cell(default, of_run(runs[Mode.FULLGRAPH], runs.get(Mode.EAGER), lines))


def of_probe(runs: RunsOf, again: Seen | None) -> Cell:
    """`again` is what its value was in two compiled calls, for one whose value differs from call to call."""
    default = of_run(runs.get(Mode.DEFAULT), runs.get(Mode.EAGER))
    if default == CAPTURED and again is not None and _repeats(again):
        default = Outcome("frozen")
    if Mode.FULLGRAPH not in runs:
        return Cell(default, default)
    return Cell(default, of_run(runs[Mode.FULLGRAPH], runs.get(Mode.EAGER)))


def of_run(seen: Seen | None, eager: Seen | None, lines: frozenset[int] = frozenset()) -> Outcome:
    """`lines` are those where a break is expected, if any are."""
    if eager is not None and (eager.error or eager.end):
        return Outcome("not measured", eager.end or _reason(eager))
    if seen is None:
        return UNMEASURED
    if seen.end:
        return Outcome("hung") if seen.end == "hung" else Outcome("crashed", seen.end.removeprefix("crashed "))
    here = [item for item in seen.breaks if not lines or item.line in lines]
    if seen.breaks:
        return _broke(here) if here else Outcome("breaks", "elsewhere")
    if seen.error:
        return Outcome("error", seen.error)
    return Outcome("recompiles") if seen.recompiles > 1 else CAPTURED


def _reason(seen: Seen) -> str:
    """In brief, and the same in every run."""
    return re.sub(r" at 0x[0-9a-f]+", "", f"{seen.error}: {seen.detail}".removesuffix(": "))[:90].strip()


def _broke(breaks: list[BreakAt]) -> Outcome:
    ids = " ".join(dict.fromkeys(item.gb if item.gb.startswith("GB") else "without id" for item in breaks))
    return Outcome("skips" if all(item.skipped for item in breaks) else "breaks", ids)


def _stale(runs: RunsOf) -> bool:
    eager = runs.get(Mode.EAGER)
    return eager is not None and runs[Mode.DEFAULT].results != eager.results


def _repeats(again: Seen) -> bool:
    return not again.breaks and not again.error and len(again.results) > 1 and len(set(again.results[1:])) == 1
