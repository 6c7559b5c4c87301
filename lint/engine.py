"""The static half from end to end: a `CheckRequest` in, a `CheckReport` out.

What earlier checks found out is used again where nothing that it rests on has changed; the rest is summarised, linked
and interpreted, and what the rules say of the facts becomes findings. Modules that only fresh work needs are imported
when there is some: most checks find nothing new.
"""

from __future__ import annotations

import contextlib
import gc
import hashlib
import re
import shutil
import sys
import tempfile
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from fullgraph import rules

from .cache import SummaryCache, cache_folder, prune
from .closure import Closure
from .config import AssumeCompiled, Types
from .discover import SUFFIXES, project_files, python_files
from .environment import sets_variables, variables_set
from .findings import CheckReport, Entry, Finding
from .index import DIGEST_SIZE, FileRecord, Index, digest_of
from .libraries import site_packages
from .project import STUB, Project
from .request import CheckRequest
from .results import Done, Kind, Result, Task, entry_order
from .room import with_room
from .source import display
from .twins import generator_named, generator_of
from .type_source import TypeSource, type_source
from .vocabulary import SUPPRESSING

if TYPE_CHECKING:
    from .comments import Comments
    from .report import Reporter
    from .ruleset import RuleSet
    from .units import Units
    from .workers import Told

UNREADABLE = b"unreadable"
FOLDER = b"folder"
IMPORT = re.compile(rb"^[ \t\"]*(?:from|import)[ \t].*", re.M)
IMPORTED = re.compile(rb"[A-Za-z_]\w*")
COMPILES = re.compile(rb"\b(?:compile|_dynamo)\b")
UNUSED = "FG902"
SUMMARIES, PROJECTS, TYPES = "summaries", "projects", "types"
TOGETHER = "together"
"""The name of the result of everything that compiles something, which has to be looked at as a whole."""


Advance = Callable[[int, int], None]
"""Told how many of how many files are done."""


def check(request: CheckRequest, advance: Advance = lambda done, total: None) -> CheckReport:
    """Check the request's files. Raises click.UsageError for an entry that does not exist."""
    with uncollected():
        return with_room(Run(request, advance).report)


@contextlib.contextmanager
def uncollected() -> Iterator[None]:
    """Without the garbage collector: hundreds of thousands of small tuples are made, and nearly all of them kept.

    What was made is old afterwards, or the next collection would go through all of it.
    """
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.freeze()
            gc.unfreeze()
            gc.enable()


class Run:
    """The state of one check."""

    def __init__(self, request: CheckRequest, advance: Advance) -> None:
        config = request.config
        self._advance = advance
        folder = self._folder = cache_folder() if request.use_cache else None
        self._request = request
        self._config = config
        self._cache = None if folder is None else SummaryCache(folder / SUMMARIES, rules.__version__)
        self._project = Project(config.root, self._cache, config.first_party, request.contents)
        self._asked_about = {str(path) for path in request.files}
        self._types = self._type_source()
        file = None if folder is None or request.contents else folder / PROJECTS / _name(request, self._types)
        self._index = Index(file, self._describe, self._is_installed, request.contents)
        self._remarks: list[str] = list(request.remarks)
        self._environment: frozenset[str] = frozenset()
        self._units: Units | None = None
        self._known_keys: _Keys | None = None
        self._fresh = False
        """Whether anything had to be worked out anew."""
        self._untyped: dict[str, None] = {}
        """Remarks on files for which there are no types; what was found without them is not remembered."""

    def report(self) -> CheckReport:
        given, others = self._files()
        considered = sorted({*given, *others})
        records = map(self._index.look, considered)
        self._environment = frozenset(name for record in records for name in record.environment)
        results = self._found(considered)
        results |= self._assumed(self._tasks(given, considered, bool(results[TOGETHER].entries)))
        report = self._reported(given, results) if self._untyped else self._remembered(given, results)
        if self._fresh and self._folder is not None:
            for kind in (SUMMARIES, PROJECTS, TYPES):
                prune(self._folder / kind)
        self._remarks += sorted(self._untyped)
        self._remarks += [remark for path in given for remark in self._unknown_codes(path)]
        return self._judged(report, considered)

    def _remembered(self, given: list[str], results: dict[str, Result]) -> CheckReport:
        """The report that an earlier check made of the same, else a new one; the next check has it."""
        self._remember(results)
        key = self._report_key(given, results)
        report = self._index.recall_report(key)
        if report is None:
            report = self._reported(given, results)
            self._index.keep_report(key, report)
        self._index.save()
        return report

    def _judged(self, report: CheckReport, considered: list[str]) -> CheckReport:
        """The report with all remarks, and without a judgement of comments where not all was seen that they hide."""
        if any(finding.code == UNUSED for finding in report.findings) and not self._saw_all(considered):
            findings = tuple(finding for finding in report.findings if finding.code != UNUSED)
            report = msgspec.structs.replace(report, findings=findings)
        return msgspec.structs.replace(report, remarks=tuple(dict.fromkeys(self._remarks)))

    def _saw_all(self, considered: list[str]) -> bool:
        """Whether no file was left out, a test say, that might be what a suppression comment is needed for."""
        unseen = {*map(str, python_files([self._config.root], self._config.root, self._config.exclude))} - {*considered}
        if self._looks_at_whole_project:
            return not any(self._torch(path) and self._index.look(path).compiles for path in unseen)
        return not any(map(self._torch, unseen))

    def _unknown_codes(self, path: str) -> Iterator[str]:
        own = {rule.code for rule in self._config.rules}
        for line, code in self._index.look(path).unknown_codes:
            if not any(known.startswith(code) for known in own):
                yield f"{display(path)}:{line}: no rule has the code or prefix {code!r} of this ignore comment"

    def _reported(self, given: list[str], results: dict[str, Result]) -> CheckReport:
        from .comments import Comments
        from .report import Reporter
        from .twins import Twins

        reporter = Reporter(
            self._project,
            Twins(self._project, self._generator),
            set(given),
            self._rules().every,
            everywhere=bool(self._config.entry),
            libraries=self._config.include_libraries,
            commented=frozenset(path for path in given if self._index.look(path).suppresses),
        )
        for result in results.values():
            reporter.add(result.emissions)
        comments = Comments(self._project, reporter.passed())
        entries = _entries(results.values(), set(given))
        findings = [*self._kept(reporter, comments), *self._syntax_findings(given)]
        if self._request.judge_comments and entries:
            findings += comments.unused(given, self._config, self._rules())
        return CheckReport(
            torch=self._request.torch,
            entries=entries,
            findings=tuple(sorted(findings, key=lambda finding: finding.sort_key)),
            files=len(self._request.files),
        )

    # files

    def _files(self) -> tuple[list[str], list[str]]:
        """The files asked about that can be read, and the others that may compile something."""
        given: list[str] = []
        for path in map(str, self._request.files):
            try:
                self._index.look(path)
            except OSError as error:
                self._remarks.append(f"{display(path)} was left out: {error.strerror}")
            else:
                given.append(path)
        if not self._looks_at_whole_project:
            return given, []
        project = project_files(self._config.root, self._config.exclude)
        return given, [path for path in project if self._torch(path)]

    @property
    def _looks_at_whole_project(self) -> bool:
        return self._config.assume_compiled is AssumeCompiled.AUTO and not self._config.entry

    def _torch(self, path: str) -> bool:
        """A file that does not even name torch can't compile anything; it is parsed only where others import it."""
        try:
            return self._index.look(path).torch
        except OSError:
            return False  # unreadable and not asked for

    def _generator(self, path: str) -> str | None:
        try:
            named = self._index.look(path).generator
        except OSError:
            return None
        return generator_of(path, named, self._config.root) if named else None

    def _is_installed(self, path: str) -> bool:
        return path not in self._asked_about and not self._project.is_first_party(path)

    def _describe(self, path: str, source: bytes, mtime_ns: int) -> FileRecord:
        module = self._project.load(path) if sets_variables(source) else None
        return FileRecord(
            mtime_ns=mtime_ns,
            size=len(source),
            digest=digest_of(source),
            torch=b"torch" in source,
            compiles=any(word in source for word in (b"compile", b"_dynamo")) and COMPILES.search(source) is not None,
            imports=b" ".join(dict.fromkeys(IMPORTED.findall(b" ".join(IMPORT.findall(source))))).decode(),
            generator=generator_named(source),
            environment=() if module is None else tuple(sorted(set(variables_set(module)))),
            unknown_codes=_unknown_codes(source) if b"fullgraph:" in source and path.endswith(".py") else (),
            suppresses=any(word.encode() in source.lower() for word in SUPPRESSING),
        )

    # results

    def _found(self, considered: list[str]) -> dict[str, Result]:
        """What the files that may compile something, or call what others compile, bring up: each and all together."""
        named = self._config.entry
        keys = self._keys()
        paths = [path for path in considered if self._index.look(path).compiles]
        alone = self._known(paths)
        if not (unknown := [path for path in paths if alone[path] is None]):
            alone |= self._known(self._callers(_active(alone), considered))
            unknown = [path for path, result in alone.items() if result is None]
        active = _active(alone)
        together = None if named or unknown else self._index.recall_whole(_joined(map(keys, sorted(active))))
        if together is None:
            self._fresh = True
            fresh, together = self._here().found(sorted({*active, *unknown}), named)
            alone |= fresh
            self._untyped |= dict.fromkeys(self._here().remarks)
            if callers := [path for path in self._callers(_active(fresh), considered) if path not in fresh]:
                self._units = None
                fresh, together = self._here().found(sorted({*_active(fresh), *callers}), named)
                alone |= fresh
                self._untyped |= dict.fromkeys(self._here().remarks)
        results = {Task(Kind.FIND, path).name: result for path, result in alone.items() if result is not None}
        return {**results, TOGETHER: together}

    def _known(self, paths: list[str]) -> dict[str, Result | None]:
        keys = self._keys()
        return {path: self._index.recall(Task(Kind.FIND, path).name, keys(path)) for path in paths}

    def _callers(self, active: list[str], considered: list[str]) -> list[str]:
        """Files that import one of these by name, and compile nothing themselves."""
        names = {self._project.name_of(path)[0].rpartition(".")[2] for path in active}
        records = {path: self._index.look(path) for path in considered if names}
        return [
            p for p, record in records.items() if not record.compiles and names.intersection(record.imports.split())
        ]

    def _tasks(self, given: list[str], considered: list[str], compiled: bool) -> list[Task]:
        match self._config.assume_compiled:
            case AssumeCompiled.FORWARD | AssumeCompiled.ALL as how:
                return [Task(Kind(how.value), path) for path in given]
            case AssumeCompiled.AUTO if self._looks_at_whole_project and not compiled:
                return [Task(Kind.FORWARD, path) for path in considered]
        return [Task(Kind.PARSE, path) for path in given]

    def _assumed(self, tasks: list[Task]) -> dict[str, Result]:
        keys = self._keys()
        results = {task: self._index.recall(task.name, keys(task.path)) for task in tasks}
        missing = [task for task in tasks if results[task] is None]
        count = 0
        for done, remarks, _ in self._work(missing):
            results.update(done.results)
            self._learn(done)
            self._untyped |= dict.fromkeys(remarks)
            count += len(done.results)
            self._advance(count, len(missing))
        return {task.name: result for task, result in results.items() if result is not None}

    def _work(self, tasks: list[Task]) -> Iterator[Told]:
        if not tasks:
            return
        self._fresh = True
        from .workers import Setup, done_by, processes_for, run

        request, here = self._request, self._here()
        if processes := processes_for(len(tasks), request.jobs):
            setup = Setup(self._config, request.torch, self._cache, self._environment, request.contents, self._types)
            yield from run(tasks, setup, processes, here)
        else:
            yield done_by(here, tasks)

    def _here(self) -> Units:
        from .units import Units

        if self._units is None:
            self._units = Units(self._project, self._config, self._rules(), self._environment, types=self._types)
        return self._units

    def _type_source(self) -> TypeSource | None:
        """Without a cache, what mypy keeps is gone with this check."""
        if self._config.types is Types.NONE:
            return None
        if self._folder is not None:
            return type_source(self._config.root, self._folder / TYPES)
        folder = tempfile.mkdtemp(prefix="fullgraph-types-")
        weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        return type_source(self._config.root, Path(folder))

    def _rules(self) -> RuleSet:
        from .ruleset import ruleset

        return ruleset(self._request.torch, self._config.rules)

    # what is remembered

    def _learn(self, done: Done) -> None:
        if done.asked:
            self._known_keys = None
        for path, names in done.asked.items():
            with contextlib.suppress(OSError):  # removed meanwhile
                self._index.look(path)
            self._index.note_asked(path, names)
        for path, problem in done.parsed.items():
            self._index.note_parsed(path, problem)

    def _remember(self, results: dict[str, Result]) -> None:
        self._learn(Done((), *self._project.learned()))
        keys = self._keys()
        active = []
        for name, result in results.items():
            if name != TOGETHER:
                path = name.partition(" ")[2]
                self._index.keep(name, keys(path), result)
                if result.active:
                    active.append(path)
        if not self._config.entry:
            self._index.keep_whole(_joined(keys(path) for path in sorted(active)), results[TOGETHER])

    def _report_key(self, given: list[str], results: dict[str, Result]) -> bytes:
        """The digest of all that the report rests on: settings, files, results, and from where paths are shown."""
        keys = self._keys()
        paths = {*given, *(name.partition(" ")[2] for name in results if name != TOGETHER)}
        generators = {generator for path in paths if (generator := self._generator(path)) is not None}
        settings = repr((self._config, self._request.judge_comments, sorted(results), given, Path.cwd()))
        return _joined((settings.encode(), *map(keys, sorted(paths | generators))))

    def _keys(self) -> _Keys:
        """Those of what is known by now: what has been learned since may have given files more to rest on."""
        if self._known_keys is None:
            self._known_keys = _Keys(self._index, self._project, self._environment)
        return self._known_keys

    # findings

    def _syntax_findings(self, given: list[str]) -> Iterator[Finding]:
        from .report import syntax_finding

        problems = self._project.problems
        for path in given:
            problem = problems.get(path) or self._index.look(path).problem
            if problem is not None:
                yield syntax_finding(display(path), problem, self._rules().every)

    def _kept(self, reporter: Reporter, comments: Comments) -> Iterator[Finding]:
        """The findings that the settings and the comments in the code let through, with their fixes."""
        for finding, emission in reporter.findings():
            if self._config.reports(finding) and not comments.hide(finding.code, finding.span):
                yield reporter.with_fixes(finding, emission)


def _active(results: Mapping[str, Result | None]) -> list[str]:
    return [path for path, result in results.items() if result is not None and result.active]


def _unknown_codes(source: bytes) -> tuple[tuple[int, str], ...]:
    """What comments ask to ignore and no rule is called, with the line."""
    from .suppress import suppressions

    text = source.decode(errors="replace")
    return tuple(
        (comment.line, code)
        for comment in suppressions(text).comments
        if comment.ours
        for code in comment.codes or ()
        if not any(known.startswith(code) for known in rules.load())
    )


class _Keys:
    """Digests of all that a file's result rests on: itself, what it imports, and what the project sets."""

    def __init__(self, index: Index, project: Project, environment: frozenset[str]) -> None:
        self._index = index
        self._project = project
        self._salt = "\0".join(sorted(environment)).encode()
        self._closure = Closure(self._content, self._imports)

    def __call__(self, path: str) -> bytes:
        return _joined((self._salt, self._closure.digest(path)))

    def _content(self, path: str) -> bytes:
        if not path.endswith((*SUFFIXES, STUB)):
            return FOLDER
        try:
            return self._index.look(path).digest
        except OSError:
            return UNREADABLE

    def _imports(self, path: str) -> Iterable[str]:
        if self._content(path) in (FOLDER, UNREADABLE):
            return ()
        return self._project.located(self._index.look(path).asked, self._project.name_of(path)[2])


def _joined(parts: Iterable[bytes]) -> bytes:
    whole = hashlib.blake2b(digest_size=DIGEST_SIZE)
    for part in parts:
        whole.update(digest_of(part))
    return whole.digest()


def _entries(results: Iterable[Result], given: set[str]) -> tuple[Entry, ...]:
    """One for each function, a compile call or a decorator rather than an assumption."""
    found: dict[tuple[str, str], Entry] = {}
    for entry in sorted((entry for result in results for entry in result.entries), key=entry_order):
        known = found.get((entry.path, entry.qualname))
        if known is None or known.how == "assumed":
            found[entry.path, entry.qualname] = entry
    shown = [
        msgspec.structs.replace(entry, path=display(entry.path), asked=entry.path in given) for entry in found.values()
    ]
    return tuple(sorted(shown, key=entry_order))


def _name(request: CheckRequest, types: TypeSource | None) -> str:
    """The name of the file for a project, the settings that decide what is found, and this very tool."""
    config = request.config
    settings = (
        *(str(config.root), site_packages(config.root), config.mode, config.backend, config.first_party),
        request.torch,
        config.rules,
        types and types.identity,
    )
    return digest_of(repr((settings, sys.version_info, list(_own_files()))).encode()).hex()


def _own_files() -> Iterator[tuple[str, int, int]]:
    for package in (Path(__file__).parent, Path(rules.__file__).parent):
        for file in sorted(package.rglob("*")):
            if file.suffix in (".py", ".json"):
                state = file.stat()
                yield str(file), state.st_size, state.st_mtime_ns
