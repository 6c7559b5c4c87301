"""Measures examples and probes on an interpreter's torch: evidence comes out, with what was known of other things."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Sequence

from fullgraph.rules.measured import Cell, Evidence, Proven, digest
from fullgraph.rules.model import Rule

from . import outcomes, studies
from .journal import Journal
from .pool import Pool
from .probes import Sheet
from .studies import ExampleStudy, ProbeStudy, Study


def prove(
    pool: Pool,
    rules: Sequence[Rule],
    sheets: Sequence[Sheet],
    *,
    journal: Journal,
    step: Callable[[], object] = lambda: None,
) -> Evidence:
    """On the pool's interpreter; `step` is called as each example and each probe is done."""
    examples: dict[tuple[str, bool, int], Cell] = {}
    symbols: dict[str, dict[str, Cell]] = {
        symbol: {symbol: outcomes.UNPROBED} for sheet in sheets for symbol in sheet.unprobed
    }
    groups: list[tuple[str, Iterable[Study]]] = [("", studies.of_rules(rules))]
    groups += [(sheet.prelude, studies.of_symbols(sheet)) for sheet in sheets]
    for prelude, group in groups:
        with pool.after(prelude) as prepared:
            for study, cell in _results(prepared, journal, group):
                match study:
                    case ExampleStudy(rule, bad, index):
                        examples[rule.code, bad, index] = cell
                    case ProbeStudy(probe):
                        symbols.setdefault(probe.symbol, {})[probe.text] = cell
                step()
    return Evidence(*pool.version(), {rule.code: _proven(rule, examples) for rule in rules}, symbols)


def _results(pool: Pool, journal: Journal, group: Iterable[Study]) -> Iterator[tuple[ExampleStudy | ProbeStudy, Cell]]:
    ask = journal.asking(pool.ask)

    def run(study: Study) -> Sequence[tuple[ExampleStudy | ProbeStudy, Cell]]:
        return study.run(ask)

    for done in pool.map(run, group):
        yield from done


def _proven(rule: Rule, cells: dict[tuple[str, bool, int], Cell]) -> Proven:
    bad, good = (
        {digest(example): cells[rule.code, kind, index] for index, example in enumerate(examples)}
        for kind, examples in ((True, rule.bad), (False, rule.good))
    )
    return Proven(bad, good)


def laid_over(new: Evidence, old: Evidence, codes: Container[str]) -> Evidence:
    """What was measured now, and what was known of everything else, of the rules with these codes."""
    rules = {code: proven for code, proven in {**old.rules, **new.rules}.items() if code in codes}
    return Evidence(new.torch, new.python, rules, new.symbols or old.symbols)


def count(rules: Iterable[Rule], sheets: Iterable[Sheet]) -> int:
    return sum(len(rule.bad) + len(rule.good) for rule in rules) + sum(len(sheet.probes) for sheet in sheets)
