"""The parts of a check that can be done one by one, in any order and in any process: a task in, its `Result` out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from . import entries, roots, torch_api
from .config import AssumeCompiled, Config, EntryPoint, Mode
from .emission import Emission
from .findings import Entry
from .interpret import calls
from .interpret.analysis import Analysis, EntryRecord
from .interpret.cutoff import gives_the_same
from .interpret.frame import Settings
from .project import Project
from .results import Kind, Result, Task, entry_order, packed
from .rulebook import RuleBook
from .ruleset import RuleSet
from .summary import SyntaxProblem
from .symbols import Module
from .type_source import TypeSource

WANTED = {Kind.FORWARD: b"forward", Kind.ALL: b"def "}
"""Without this word nothing in a file is taken for compiled."""
ROOM = 12_000
"""Calls that a process remembers, at some ten kilobytes each."""
FULLGRAPH = {None: None, Mode.DEFAULT: False, Mode.FULLGRAPH: True}


class Units:
    """Does tasks, with what all of them share."""

    def __init__(
        self,
        project: Project,
        config: Config,
        ruleset: RuleSet,
        environment: frozenset[str],
        lasting: bool = False,
        types: TypeSource | None = None,
    ) -> None:
        """What is found is kept for good with `lasting`, for files that are being edited."""
        self.remarks: list[str] = []
        """On files for which there are no types."""
        self._types = types
        self._api = torch_api.load()
        self._book = RuleBook(ruleset, self._api)
        self._project = project
        self._environment = environment
        self._fullgraph, self._backend = FULLGRAPH[config.mode], config.backend
        self._packed: Callable[[Iterable[Emission]], bytes | tuple[Emission, ...]] = tuple if lasting else packed
        self._analysis = self._new_analysis()

    def _new_analysis(self) -> Analysis:
        book = self._book
        return Analysis(
            self._project,
            self._api,
            book.judge,
            book.effects.__getitem__,
            book.classes,
            environment=self._environment,
            oracle=None if self._types is None else self._types.oracle(self._project, self.remarks.append),
        )

    @property
    def full(self) -> bool:
        return len(self._analysis.memo) > ROOM

    def learned(self) -> tuple[dict[str, set[str]], dict[str, SyntaxProblem | None]]:
        """See `Project.learned`."""
        return self._project.learned()

    def drop(self, mask: int | None) -> None:
        """Forget what rests on these parts of the project; with None, everything."""
        if mask is None:
            self._analysis = self._new_analysis()
        elif mask.bit_count() > 1 or not gives_the_same(self._analysis, mask):
            self._analysis.drop(mask)

    def resting(self, task: Task) -> tuple[Result, int]:
        """What `assumed` gives, and the parts of the project that it rests on."""
        tracker = self._analysis.tracker
        tracker.rests = 0
        result = self.assumed(task)
        return result, tracker.rests

    def assumed(self, task: Task) -> Result:
        """The file's functions are compiled, as far as the task says so."""
        module = self._loaded(task.path, task.kind)
        if module is None or task.kind is Kind.PARSE:
            return Result()
        self._analysis.entries, self._analysis.followed = {}, {}
        roots.assume(self._analysis, module, AssumeCompiled(task.kind.value))
        return self._explored()

    def found(self, paths: Iterable[str], named: Iterable[EntryPoint]) -> tuple[dict[str, Result], Result]:
        """What the files' own code compiles: what each brings up by itself, and what all the entries do together.

        Raises click.UsageError for a named entry that does not exist.
        """
        analysis = self._analysis
        analysis.entries, analysis.followed = {}, {}
        analysis.driven, analysis.compiled_in_place = set(), {}
        for entry in named:
            roots.named(analysis, entry)
        modules = [module for path in paths if (module := self._loaded(path)) is not None]
        emissions: dict[str, list[Emission]] = {module.path: [] for module in modules}
        active: set[str] = set()
        for step in (lambda module: [roots.around(analysis, module)], lambda module: roots.undriven(analysis, module)):
            for module in modules:
                touched = analysis.touched
                for frame in step(module):
                    emissions[module.path] += frame.emissions
                if analysis.touched > touched:
                    active.add(module.path)
        alone = {path: Result(self._packed(items), active=path in active) for path, items in emissions.items()}
        return alone, self._explored()

    def _loaded(self, path: str, kind: Kind = Kind.FIND) -> Module | None:
        """As far as its kind of task needs it; None also where the file has been removed meanwhile."""
        try:
            return self._project.load(path) if kind is Kind.FIND else self._project.load_if(path, WANTED.get(kind))
        except OSError:
            return None

    def _explored(self) -> Result:
        """Follow the entries registered."""
        emissions: dict[Emission, None] = {}
        records = list(self._analysis.entries.values())
        for record in records:
            emissions.update(dict.fromkeys(self._brought_up(record)))
        emissions.update(dict.fromkeys(entries.recompiling(self._analysis, self._settings_of)))
        return Result(self._packed(emissions), tuple(sorted(set(self._entries(records)), key=entry_order)))

    def _brought_up(self, record: EntryRecord) -> tuple[Emission, ...]:
        analysis, tracker, settings = self._analysis, self._analysis.tracker, self._settings_of(record)
        key = (record.compiled, record.module.path, record.span, tuple(record.calls), settings)
        held = analysis.explored.get(key)
        if held is not None:
            tracker.rests |= analysis.explored.rests[key]
            return held
        outer, tracker.rests = tracker.rests, 0
        touched = analysis.touched
        held = tuple(entries.explore(analysis, record, settings))
        if tracker.rests and analysis.touched == touched:
            analysis.explored[key] = held
            analysis.explored.add(key, tracker.rests)
        tracker.rests |= outer
        return held

    def _settings_of(self, record: EntryRecord) -> Settings:
        return roots.settings_of(self._analysis, record, self._fullgraph, self._backend)

    def _entries(self, records: Iterable[EntryRecord]) -> Iterator[Entry]:
        for record in records:
            target = calls.target_of(self._analysis, record.compiled.target)
            if target is None:
                yield Entry(record.module.path, record.module.source_of(record.span), record.how)
            else:
                symbol = target[0].symbol
                yield Entry(symbol.module.path, symbol.qualname, record.how)
