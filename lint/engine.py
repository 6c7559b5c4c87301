"""The static half from end to end: a `CheckRequest` in, a `CheckReport` out.

Summaries are linked into a project, entries found in it, the code they reach interpreted, and what the rules say of
the facts becomes findings.
"""

from __future__ import annotations

import gc
from collections.abc import Iterable, Iterator
from pathlib import Path

import platformdirs

from fullgraph import rules

from . import entries, roots, torch_api
from .cache import SummaryCache
from .config import AssumeCompiled, Mode
from .discover import project_files
from .findings import CheckReport, Entry, Finding
from .interpret import calls
from .interpret.analysis import Analysis, EntryRecord
from .interpret.frame import Frame
from .project import Module, Project
from .report import Reporter, display, syntax_finding
from .request import CheckRequest
from .rulebook import RuleBook
from .suppress import Suppressions, suppressions


def check(request: CheckRequest) -> CheckReport:
    """Check the request's files. Raises click.UsageError for an entry that does not exist."""
    collecting = gc.isenabled()
    gc.disable()  # hundreds of thousands of small tuples, nearly all of them kept
    try:
        return _Run(request).report()
    finally:
        if collecting:
            gc.enable()


class _Run:
    """The state of one check."""

    def __init__(self, request: CheckRequest) -> None:
        config = request.config
        cache = _cache() if request.use_cache else None
        book = RuleBook(rules.load(), torch_api.load())
        self._request = request
        self._config = config
        self._project = Project(config.root, cache, config.first_party)
        self._analysis = Analysis(self._project, torch_api.load(), book.judge, book.effects.__getitem__, book.classes)
        self._remarks: list[str] = list(request.remarks)

    def report(self) -> CheckReport:
        reporter = Reporter({str(path) for path in self._request.files}, everywhere=bool(self._config.entry))
        for frame in self._find_entries():
            reporter.add(frame.emissions, frame.settings)
        records = list(self._analysis.entries.values())
        for record in records:
            settings = roots.settings_of(self._analysis, record, _FULLGRAPH[self._config.mode])
            reporter.add(entries.explore(self._analysis, record, settings), settings)
        return CheckReport(
            torch=self._request.torch,
            entries=tuple(sorted({self._entry(record) for record in records}, key=_entry_order)),
            findings=tuple(map(reporter.with_fixes, self._kept([*reporter.findings(), *self._syntax_findings()]))),
            files=len(self._request.files),
            remarks=tuple(self._remarks),
        )

    def _find_entries(self) -> list[Frame]:
        """Register the entries; gives the frames of the code around them."""
        config, analysis = self._config, self._analysis
        given = list(self._load(self._request.files))
        whole_project = config.assume_compiled is AssumeCompiled.AUTO and not config.entry
        others = project_files(config.root, config.exclude) if whole_project else ()
        modules = list(dict.fromkeys([*given, *self._load(path for path in others if _mentions_torch(path))]))
        for entry in config.entry:
            roots.named(analysis, entry)
        frames = roots.find(analysis, modules)
        if config.assume_compiled in (AssumeCompiled.FORWARD, AssumeCompiled.ALL):
            roots.assume(analysis, given, config.assume_compiled)
        elif whole_project and not analysis.entries:
            roots.assume(analysis, modules, AssumeCompiled.FORWARD)
        return frames

    def _load(self, paths: Iterable[Path]) -> Iterator[Module]:
        """The modules in these files; one that can't be read gets a remark."""
        for path in paths:
            try:
                module = self._project.load(str(path))
            except OSError as error:
                self._remarks.append(f"{display(str(path))} was left out: {error.strerror}")
                continue
            if module is not None:
                yield module

    def _entry(self, record: EntryRecord) -> Entry:
        target = calls.target_of(self._analysis, record.compiled.target)
        if target is None:
            return Entry(display(record.module.path), record.module.source_of(record.span), record.how)
        symbol = target[0].symbol
        return Entry(display(symbol.module.path), symbol.qualname, record.how)

    def _syntax_findings(self) -> Iterator[Finding]:
        given = {str(path) for path in self._request.files}
        for path, problem in self._project.problems.items():
            if path in given:
                yield syntax_finding(display(path), problem)

    def _kept(self, found: Iterable[Finding]) -> list[Finding]:
        """The findings that the settings and the comments in the code let through, in order."""
        sources = {display(module.path): module for module in self._project.modules}
        comments: dict[str, Suppressions] = {}
        kept: list[Finding] = []
        for finding in sorted(found, key=lambda finding: finding.sort_key):
            path = finding.span.path
            if path not in comments:
                comments[path] = suppressions(sources[path].text) if path in sources else Suppressions()
            if self._config.reports(finding) and not comments[path].hide(finding.code, finding.span):
                kept.append(finding)
        return kept


def _mentions_torch(path: Path) -> bool:
    """A file that does not even name torch can't compile anything; it is parsed only where others import it."""
    try:
        return b"torch" in path.read_bytes()
    except OSError:
        return False  # unreadable and not asked for


_FULLGRAPH = {None: None, Mode.DEFAULT: False, Mode.FULLGRAPH: True}


def _entry_order(entry: Entry) -> tuple[str, str, str]:
    return (entry.path, entry.qualname, entry.how)


def _cache() -> SummaryCache:
    return SummaryCache(
        Path(platformdirs.user_cache_dir("fullgraph", appauthor=False)) / "summaries", rules.__version__
    )
