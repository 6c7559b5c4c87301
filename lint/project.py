"""Linking: the modules of the project, found by path or dotted name and loaded from their summaries on demand."""

from __future__ import annotations

import os
from collections import defaultdict
from pathlib import Path

from . import notebook as notebooks
from .cache import SummaryCache
from .notebook import SUFFIX, Notebook
from .source import SourceFile
from .summary import Summary, SyntaxProblem, summarise
from .symbols import Module

NEVER_FIRST_PARTY = frozenset({"torch", "numpy"})


class Project:
    """The first-party code below `root`; loads modules on demand and remembers them."""

    def __init__(self, root: Path, cache: SummaryCache | None, first_party: tuple[str, ...] = ()) -> None:
        self._root = str(root)
        self._cache = cache
        self._first_party = first_party
        self._by_path: dict[str, Module | None] = {}
        self._sources: dict[str, SourceFile] = {}
        self._places: dict[tuple[str, str], str | None] = {}
        self._packages: dict[str, tuple[str, str]] = {}
        self.asked: defaultdict[str, set[str]] = defaultdict(set)
        """The dotted names that the interpreter looked for, by the path of the importing module."""
        self.problems: dict[str, SyntaxProblem] = {}
        """Files that could not be parsed, by absolute path."""

    def parsed(self) -> dict[str, SyntaxProblem | None]:
        """The files loaded so far, and why one of them could not be parsed."""
        return {path: self.problems.get(path) for path in self._by_path}

    def load(self, path: str) -> Module | None:
        """The module in `path` (absolute). None where it can't be read or parsed; a syntax error is kept in `problems`.

        Raises OSError where the file itself can't be read.
        """
        if path not in self._by_path:
            self._by_path[path] = self._load(path, _read(path))
        return self._by_path[path]

    def source(self, path: str) -> SourceFile:
        """The text of `path` (absolute), whether it is a module or not.

        Raises OSError where the file can't be read.
        """
        module = self._by_path.get(path)
        if module is not None:
            return module
        if path not in self._sources:
            notebook = _read(path)
            self._sources[path] = SourceFile(path, notebook.source, cells=notebook.cells)
        return self._sources[path]

    def _load(self, path: str, notebook: Notebook) -> Module | None:
        if notebook.problem is not None:
            self.problems[path] = notebook.problem
        summary = summarise(notebook.source, self._cache)
        match summary:
            case SyntaxProblem():
                self.problems[path] = summary
                return None
            case Summary():
                name, package, base = self.name_of(path)
                return Module(path, notebook.source, name, package, base, summary.body, cells=notebook.cells)

    def find(self, dotted: str, importer: Module) -> Module | None:
        """The first-party module that `import dotted` means in `importer`."""
        if dotted.partition(".")[0] in NEVER_FIRST_PARTY:
            return None
        self.asked[importer.path].add(dotted)
        path = self.locate(dotted, importer.base)
        if path is None:
            return None
        if not path.endswith(".py"):
            return Module(path, b"", dotted, dotted, importer.base, ())  # a package without `__init__.py`
        try:
            return self.load(path)
        except OSError:
            return None

    def locate(self, dotted: str, base: str) -> str | None:
        """Where the first-party module `dotted` lies for code below `base`; a folder if it has no `__init__.py`."""
        key = (dotted, base)
        if key not in self._places:
            self._places[key] = self._locate(dotted, base)
        return self._places[key]

    def _locate(self, dotted: str, importer_base: str) -> str | None:
        for base in dict.fromkeys((importer_base, self._root, os.path.join(self._root, "src"))):
            if not self._is_first_party(base, dotted):
                continue
            place = os.path.join(base, *dotted.split("."))
            for candidate in (os.path.join(place, "__init__.py"), place + ".py"):
                if os.path.isfile(candidate):
                    return candidate
            if base != importer_base and os.path.isdir(place):
                return place
        return None

    def name_of(self, path: str) -> tuple[str, str, str]:
        """`(dotted name, package, base folder)` of a file, by the `__init__.py` files above it."""
        folder, file = os.path.split(path)
        package, base = self._package(folder)
        stem = os.path.splitext(file)[0]
        name = package if stem == "__init__" else f"{package}.{stem}" if package else stem
        return name, package, base

    def _package(self, folder: str) -> tuple[str, str]:
        if folder not in self._packages:
            if not os.path.isfile(os.path.join(folder, "__init__.py")):
                self._packages[folder] = ("", folder)
            else:
                parent, name = os.path.split(folder)
                package, base = self._package(parent)
                self._packages[folder] = (f"{package}.{name}" if package else name, base)
        return self._packages[folder]

    def _is_first_party(self, base: str, dotted: str) -> bool:
        if dotted.partition(".")[0] in self._first_party:
            return True
        inside = base == self._root or base.startswith(self._root + os.sep)
        return inside and "site-packages" not in base[len(self._root) :]


def _read(path: str) -> Notebook:
    """A file as Python; only a notebook has cells."""
    data = Path(path).read_bytes()
    return notebooks.read(data) if path.endswith(SUFFIX) else Notebook(data)
