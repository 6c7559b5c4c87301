"""One example of a rule, one probe of a symbol, or some probes at once: the tasks it takes, each depending on how the
last one ended.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from textwrap import indent
from typing import TypeAlias

from fullgraph.rules.measured import Cell
from fullgraph.rules.model import Example, Rule

from . import outcomes
from .probes import Probe, Sheet
from .tasks import Mode, Seen, Task

Ask: TypeAlias = Callable[[Task], Seen]
BATCH = 16
IMPORT = "import torch\n\n"
X = "torch.tensor([1.0, 2.0, 3.0, 4.0])"


@dataclass(frozen=True, slots=True)
class ExampleStudy:
    rule: Rule
    bad: bool
    index: int

    @property
    def example(self) -> Example:
        return (self.rule.bad if self.bad else self.rule.good)[self.index]

    def run(self, ask: Ask) -> list[tuple[ExampleStudy, Cell]]:
        runs = {Mode.DEFAULT: self._ask(ask, Mode.DEFAULT)}
        default = runs[Mode.DEFAULT]
        raises = self.bad and self.rule.proof(self.example) == "raise"
        if self.rule.effect == "frozen-value" or (default.error and not default.breaks and not raises):
            runs[Mode.EAGER] = self._ask(ask, Mode.EAGER)
        if default.breaks:
            runs[Mode.FULLGRAPH] = self._ask(ask, Mode.FULLGRAPH)
        return [(self, outcomes.of_example(self.rule, self.example, runs))]

    def _ask(self, ask: Ask, mode: Mode) -> Seen:
        return ask(Task(self.example.code, self.example.run, mode))


@dataclass(frozen=True, slots=True)
class ProbeStudy:
    probe: Probe
    prelude: str

    def run(self, ask: Ask) -> list[tuple[ProbeStudy, Cell]]:
        return [(self, self._cell(ask))]

    def _cell(self, ask: Ask) -> Cell:
        # Eager twice: what differs from call to call may be frozen, what fails is no probe of compiling.
        runs = {Mode.EAGER: self._ask(ask, Mode.EAGER, "result" if self.probe.is_expression else "x + 1", times=2)}
        if runs[Mode.EAGER].error or runs[Mode.EAGER].end:
            return outcomes.of_probe(runs, None)
        runs[Mode.DEFAULT] = self._ask(ask, Mode.DEFAULT)
        if runs[Mode.DEFAULT].breaks or runs[Mode.DEFAULT].error:
            runs[Mode.FULLGRAPH] = self._ask(ask, Mode.FULLGRAPH)
        differs = len(set(runs[Mode.EAGER].results)) > 1
        return outcomes.of_probe(runs, self._ask(ask, Mode.DEFAULT, "result", times=4) if differs else None)

    def _ask(self, ask: Ask, mode: Mode, returned: str = "x + 1", times: int = 1) -> Seen:
        code = IMPORT + self.function("probe", returned)
        return ask(Task(code, (self.call("probe"),) * times, mode, self.prelude))

    def function(self, name: str, returned: str = "x + 1") -> str:
        parameters = ", ".join(["x", *(f"a{number}" for number in range(len(self.probe.arguments)))])
        body = indent(self.probe.body, "    ")
        return f"@torch.compile\ndef {name}({parameters}):\n{body}\n    return {returned}\n"

    def call(self, name: str) -> str:
        return f"{name}({', '.join([X, *self.probe.arguments])})"


@dataclass(frozen=True, slots=True)
class BatchStudy:
    """Probes that leave nothing behind, as one program: those that all goes well with are done."""

    members: tuple[ProbeStudy, ...]

    def run(self, ask: Ask) -> list[tuple[ProbeStudy, Cell]]:
        names = [f"probe{number}" for number in range(len(self.members))]
        functions = [member.function(name) for member, name in zip(self.members, names, strict=True)]
        calls = tuple(member.call(name) for member, name in zip(self.members, names, strict=True))
        seen = ask(Task(IMPORT + "".join(functions), calls, prelude=self.members[0].prelude))
        done: list[tuple[ProbeStudy, Cell]] = []
        end = IMPORT.count("\n")
        for number, (member, text) in enumerate(zip(self.members, functions, strict=True)):
            start, end = end, end + text.count("\n")
            if number < len(seen.results) and not any(start < item.line <= end for item in seen.breaks):
                done.append((member, outcomes.SMOOTH))
            else:
                done += member.run(ask)
        return done


Study: TypeAlias = ExampleStudy | ProbeStudy | BatchStudy


def of_rules(rules: Iterable[Rule]) -> Iterator[ExampleStudy]:
    for rule in rules:
        for bad, examples in ((True, rule.bad), (False, rule.good)):
            yield from (ExampleStudy(rule, bad, index) for index in range(len(examples)))


def of_symbols(sheet: Sheet) -> Iterator[ProbeStudy | BatchStudy]:
    """What takes tensors made for it alone is taken for harmless."""
    harmless = [ProbeStudy(probe, sheet.prelude) for probe in sheet.probes if probe.arguments]
    for start in range(0, len(harmless), BATCH):
        yield BatchStudy(tuple(harmless[start : start + BATCH]))
    yield from (ProbeStudy(probe, sheet.prelude) for probe in sheet.probes if not probe.arguments)
