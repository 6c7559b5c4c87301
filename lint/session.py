"""Checks of a project while its files are edited: an edit takes away what rests on the lines it touches, and the rest
is used again.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from .comments import Comments
from .config import Types
from .discover import project_files
from .engine import TOGETHER, Run, uncollected
from .findings import CheckReport, Finding
from .project import Project
from .report import Reporter
from .request import CheckRequest
from .results import Kind, Result, Task
from .room import with_room
from .units import Units


class Session:
    """One project, whose files hold what `update` said last, and else what the disk has.

    Of the request the settings count. They and the libraries are taken not to change; where they do, begin another
    session. Types are not asked for: mypy takes longer than an edit.
    """

    def __init__(self, request: CheckRequest) -> None:
        self._contents = dict(request.contents)
        config = replace(request.config, types=Types.NONE)
        self._run = _Lasting(replace(request, config=config, files=(), use_cache=False, contents=self._contents))

    def update(self, path: str, source: bytes | None) -> None:
        """The file (absolute) holds this now; with None, what the disk has."""
        if source is None:
            self._contents.pop(path, None)
        else:
            self._contents[path] = source
        with uncollected():
            self._run.edited(path)

    def report(self, path: str, fixes: bool = False) -> CheckReport:
        """What a check of this file says, with its fixes or without: they take longer than all the rest."""
        with uncollected():
            return self._run.report_of(path, fixes)


class _Lasting(Run):
    """A check that goes on: what it found out stays until an edit takes it away."""

    def __init__(self, request: CheckRequest) -> None:
        super().__init__(request, lambda done, total: None)
        self._given: list[str] = []
        self._fixes = False
        self._begin()
        self._exist = {*self._all}

    def _begin(self) -> None:
        """Forget all that was found out."""
        bits = itertools.count()
        config = self._config
        self._project = Project(config.root, None, config.first_party, self._request.contents, lambda: 1 << next(bits))
        self._units = None
        self._all = project_files(config.root, config.exclude)
        self._results: dict[Task, tuple[Result, int]] = {}

    def edited(self, path: str) -> None:
        """The file has changed."""
        self._index.forget(path)
        exists = Path(path).is_file()
        if exists != (path in self._exist) and self._project.is_first_party(path):
            self._begin()  # other files may have looked for it in vain, or for what lies elsewhere under its name
            self._exist ^= {path}
            return
        mask = self._project.edited(path)
        if mask is None:
            self._results.clear()
        else:
            self._results = {
                task: kept for task, kept in self._results.items() if task.path != path and not kept[1] & mask
            }
        if self._units is not None:
            self._units.drop(mask)

    def report_of(self, path: str, fixes: bool) -> CheckReport:
        self._given, self._fixes = [path], fixes
        self._request = replace(self._request, files=(Path(path),))
        self._asked_about = {path}
        self._remarks = list(self._request.remarks)
        return with_room(self.report)

    def report(self) -> CheckReport:
        given, others = self._files()
        considered = sorted({*given, *others})
        self._surround(frozenset(name for path in considered for name in self._index.look(path).environment))
        results = self._found(considered)
        results |= self._assumed(self._tasks(given, considered, bool(results[TOGETHER].entries)))
        return self._judged(self._reported(given, results), considered)

    def _surround(self, environment: frozenset[str]) -> None:
        """The environment variables that the project sets may decide anything."""
        if environment != self._environment:
            self._environment, self._units = environment, None
            self._results.clear()

    def _files(self) -> tuple[list[str], list[str]]:
        given, _ = super()._files()
        return given, [path for path in self._all if self._torch(path)] if self._looks_at_whole_project else []

    def _found(self, considered: list[str]) -> dict[str, Result]:
        paths = [path for path in considered if self._index.look(path).compiles]
        alone, together = self._here().found(paths, self._config.entry)
        active = [path for path, result in alone.items() if result.active]
        if callers := [path for path in self._callers(active, considered) if path not in alone]:
            alone, together = self._here().found(sorted({*active, *callers}), self._config.entry)
        return {**{Task(Kind.FIND, path).name: result for path, result in alone.items()}, TOGETHER: together}

    def _assumed(self, tasks: list[Task]) -> dict[str, Result]:
        for task in tasks:
            if task not in self._results:
                self._results[task] = self._here().resting(task)
        return {task.name: self._results[task][0] for task in tasks}

    def _here(self) -> Units:
        if self._units is None:
            self._units = Units(self._project, self._config, self._rules(), self._environment, lasting=True)
        return self._units

    def _kept(self, reporter: Reporter, comments: Comments) -> Iterator[Finding]:
        for finding, emission in reporter.findings():
            if self._config.reports(finding) and not comments.hide(finding.code, finding.span):
                yield reporter.with_fixes(finding, emission) if self._fixes else finding
