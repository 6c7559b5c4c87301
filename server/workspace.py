"""Everything that asks the linter: files and what editors hold of them → reports, each file by its project's settings.

Runs in one thread. Paths in the engine's answers are relative to the working directory, so that it is the project's
folder while the engine works; what leaves has absolute ones.
"""

from __future__ import annotations

import contextlib
from dataclasses import replace
from pathlib import Path

import msgspec

from fullgraph.lint.config import Config, load, nearest_files
from fullgraph.lint.discover import lexically_absolute
from fullgraph.lint.findings import CheckReport, Edit, Entry, Finding
from fullgraph.lint.request import CheckRequest
from fullgraph.lint.session import Session
from fullgraph.lint.target import resolve
from fullgraph.rules import load as load_rules


class Workspace:
    """The projects that open files belong to. Raises click.UsageError for settings that are wrong."""

    def __init__(self) -> None:
        self._folders: tuple[Path, ...] = ()
        self._contents: dict[str, bytes] = {}
        self._roots: dict[Path, Path] = {}
        """By folder; finding them means reading settings."""
        self._sessions: dict[Path, tuple[Config, Session]] = {}

    def forget(self, folders: tuple[Path, ...]) -> None:
        """Settings or the workspace's folders have changed."""
        self._folders = folders
        self._roots.clear()
        self._sessions.clear()

    def update(self, path: str, text: bytes | None) -> None:
        """What an editor holds of a file, None when it is closed; only what differs from the disk is told on."""
        if text is None:
            self._contents.pop(path, None)
        else:
            self._contents[path] = text
        root = self._roots.get(Path(path).parent)
        if root in self._sessions:
            self._sessions[root][1].update(path, self._contents.get(path))

    def config(self, path: str) -> Config:
        return self._session(path)[0]

    def report(self, path: str, fixes: bool) -> CheckReport:
        """What is found in one file; nothing where its project is gone."""
        root = self.root(path)
        if not root.is_dir():
            self.forget(self._folders)
            return CheckReport("", (), ())
        with contextlib.chdir(root):
            return _absolute(self._session(path)[1].report(path, fixes))

    def root(self, path: str) -> Path:
        """The folder of the nearest config file, else the workspace's folder, else the file's own."""
        folder = Path(path).parent
        if folder not in self._roots:
            source = nearest_files((folder,))[folder]
            around = [each for each in self._folders if folder.is_relative_to(each)]
            outer = max(around, key=lambda each: len(each.parts), default=folder)
            self._roots[folder] = outer if source is None else source.parent
        return self._roots[folder]

    def _session(self, path: str) -> tuple[Config, Session]:
        root = self.root(path)
        if root not in self._sessions:
            config = replace(load((root,), frozenset(load_rules())), root=root)
            torch = resolve(config.target_torch, root).torch
            held = {file: text for file, text in self._contents.items() if self.root(file) == root}
            request = CheckRequest((), config, torch, judge_comments=True, jobs=1, contents=held)
            self._sessions[root] = config, Session(request)
        return self._sessions[root]


def _absolute(report: CheckReport) -> CheckReport:
    def entry_at(entry: Entry) -> Entry:
        return msgspec.structs.replace(entry, path=_whole(entry.path))

    return msgspec.structs.replace(
        report, entries=tuple(map(entry_at, report.entries)), findings=tuple(map(_finding_at, report.findings))
    )


def _finding_at(finding: Finding) -> Finding:
    """The finding with absolute paths instead of those from the working directory."""

    def edit_at(edit: Edit) -> Edit:
        return msgspec.structs.replace(edit, path=_whole(edit.path))

    return msgspec.structs.replace(
        finding,
        span=msgspec.structs.replace(finding.span, path=_whole(finding.span.path)),
        root=_whole(finding.root) if finding.root else "",  # `path:line`: what follows the path has no separator
        fixes=tuple(msgspec.structs.replace(fix, edits=tuple(map(edit_at, fix.edits))) for fix in finding.fixes),
    )


def _whole(path: str) -> str:
    return str(lexically_absolute(Path(path)))
