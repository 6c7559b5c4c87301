"""Linking: the modules of the project and of the libraries it uses, found by path or dotted name and loaded from
their summaries on demand.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path

from . import notebook as notebooks
from .cache import SummaryCache
from .libraries import may_be_entered, site_packages
from .notebook import SUFFIX, Notebook
from .open_module import OpenModule, is_utf8
from .source import SourceFile
from .summary import Summary, SyntaxProblem, check_syntax, summarise, syntax_problem
from .symbols import Module

NEVER_FIRST_PARTY = frozenset({"torch", "numpy"})
STUB = ".pyi"


class _Places(dict[str, "str | None"]):
    """Where modules lie for the code below one folder, looked for when they are first asked about."""

    def __init__(self, look: Callable[[str], str | None]) -> None:
        super().__init__()
        self._look = look

    def __missing__(self, dotted: str) -> str | None:
        self[dotted] = place = self._look(dotted)
        return place


class Project:
    """The first-party code below `root`; loads modules on demand and remembers them."""

    def __init__(
        self,
        root: Path,
        cache: SummaryCache | None,
        first_party: tuple[str, ...] = (),
        contents: Mapping[str, bytes] | None = None,
        bit: Callable[[], int] | None = None,
    ) -> None:
        """With `bit`, which gives one that nothing has, the files in `contents` are being edited."""
        self._root = str(root)
        self._cache = cache
        self._first_party = first_party
        self._contents = contents if contents is not None else {}
        self._bit = bit
        self._libraries = site_packages(root)
        self._by_path: dict[str, Module | None] = {}
        self._sources: dict[str, SourceFile] = {}
        self._checked: set[str] = set()
        self._places: dict[str, _Places] = {}
        self._begun: dict[str, bool] = {}
        self._packages: dict[str, tuple[str, str]] = {}
        self.asked: defaultdict[str, set[str]] = defaultdict(set)
        """Dotted names that files were seen to look for, by their paths, of which `learned` has not told."""
        self._told: set[str] = set()
        """The files of which `learned` has told."""
        self.problems: dict[str, SyntaxProblem] = {}
        """Files that could not be parsed, by absolute path."""

    def learned(self) -> tuple[dict[str, set[str]], dict[str, SyntaxProblem | None]]:
        """What is new since this was last asked: the dotted names that files were seen to look for, by their paths, and
        the files parsed, with why one could not be.
        """
        asked, self.asked = dict(self.asked), defaultdict(set)
        parsed = {path: self.problems.get(path) for path in (*self._by_path, *self._checked) if path not in self._told}
        self._told.update(parsed)
        return asked, parsed

    def load(self, path: str) -> Module | None:
        """The module in `path` (absolute). None where it can't be read or parsed; a syntax error is kept in `problems`.

        Raises OSError where the file itself can't be read.
        """
        if path not in self._by_path:
            self._by_path[path] = self._load(path, self._read(path))
        return self._by_path[path]

    def load_if(self, path: str, word: bytes | None) -> Module | None:
        """The module in `path` if it has that word; of another only the syntax is looked at.

        Raises OSError where the file can't be read.
        """
        if path not in self._by_path:
            notebook = self._read(path)
            if word is not None and word in notebook.source:
                self._by_path[path] = self._load(path, notebook)
            else:
                self._check(path, notebook)
        return self._by_path.get(path)

    def _check(self, path: str, notebook: Notebook) -> None:
        self._checked.add(path)
        problem = notebook.problem or check_syntax(notebook.source)
        if problem is not None:
            self.problems[path] = problem

    def edited(self, path: str) -> int | None:
        """Take over what `contents` or the disk have for a file by now: the mask of what has changed, None where all
        that was found out has to be forgotten.
        """
        self._sources.pop(path, None)
        self._checked.discard(path)
        self._told.discard(path)
        self.problems.pop(path, None)
        if path not in self._by_path:
            return 0
        module = self._by_path.pop(path)
        if module is None:
            return 0 if self.load(path) is None else None
        if not isinstance(module, OpenModule) or path not in self._contents:
            return module.everything
        try:
            mask = module.edited(self._contents[path])
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            self.problems[path] = syntax_problem(error)
            mask = 0
        self._by_path[path] = module
        return mask

    def source(self, path: str) -> SourceFile:
        """The text of `path` (absolute), whether it is a module or not.

        Raises OSError where the file can't be read.
        """
        module = self._by_path.get(path)
        if module is not None:
            return module
        if path not in self._sources:
            notebook = self._read(path)
            self._sources[path] = SourceFile(path, notebook.source, cells=notebook.cells)
        return self._sources[path]

    def _read(self, path: str) -> Notebook:
        """A file as Python; only a notebook has cells."""
        data = self._contents[path] if path in self._contents else Path(path).read_bytes()
        return notebooks.read(data) if path.endswith(SUFFIX) else Notebook(data)

    def _may_change(self, path: str) -> bool:
        """Whether an edit of the file is to be told from one of others."""
        return self._bit is not None and (path in self._contents or self.is_first_party(path))

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
                made_of = (path, notebook.source, name, package, base, summary.body)
                if self._bit is not None and path in self._contents and not notebook.cells and is_utf8(notebook.source):
                    return OpenModule(*made_of, bit=self._bit)
                mask = self._bit() if self._bit is not None and self._may_change(path) else 0
                return Module(*made_of, cells=notebook.cells, mask=mask, rebinding=mask)

    def find(self, dotted: str, importer: Module) -> Module | None:
        """The module that `import dotted` means in `importer`: a first-party one, or an installed library's."""
        if dotted.partition(".")[0] in NEVER_FIRST_PARTY:
            return None
        self.asked[importer.path].add(dotted)
        path = self.locate(dotted, importer.base)
        if path is None:
            return None
        if not path.endswith((".py", STUB)):
            return Module(path, b"", dotted, dotted, importer.base, ())  # a package without `__init__.py`
        try:
            return self.load(path)
        except OSError:
            return None

    def find_star(self, dotted: str, importer: Module, name: str) -> Module | None:
        """The module that `from dotted import *` means, if it may be where `name` comes from.

        Large libraries re-export everything from everywhere: only a file that has the name, or passes on another's, is
        worth parsing.
        """
        path = self.locate(dotted, importer.base)
        if path is not None and path not in self._by_path and os.path.isfile(path) and not self._may_change(path):
            source = self._read(path).source
            if name.encode() not in source and b"import *" not in source:
                self.asked[importer.path].add(dotted)
                return None
        return self.find(dotted, importer)

    def locate(self, dotted: str, base: str) -> str | None:
        """Where the module `dotted` lies for code below `base`; a folder if it has no `__init__.py`."""
        return self._places_for(base)[dotted]

    def located(self, names: Iterable[str], base: str) -> set[str]:
        """Where these modules lie, as far as they are found."""
        places = self._places_for(base)
        return {place for dotted in names if (place := places[dotted]) is not None}

    def _places_for(self, base: str) -> _Places:
        if base not in self._places:
            self._places[base] = _Places(partial(self._locate, importer_base=base))
        return self._places[base]

    def _locate(self, dotted: str, importer_base: str) -> str | None:
        installed = self._installed(dotted)
        for base in self._bases(importer_base):
            if not (self._is_first_party(base, dotted) and self._begins_in(base, dotted)):
                continue
            place = os.path.join(base, *dotted.split("."))
            if (file := _file(place)) is not None:
                return file
            if installed is None and _holds_code(place):
                return place
        return installed

    def _begins_in(self, base: str, dotted: str) -> bool:
        """Whether the folder has the package or module that the name begins with."""
        place = os.path.join(base, dotted.partition(".")[0])
        if place not in self._begun:
            self._begun[place] = os.path.isdir(place) or _file(place) is not None
        return self._begun[place]

    def _bases(self, importer_base: str) -> Iterator[str]:
        """Folders that first-party imports start from: the importer's own, and those between it and the root."""
        yield importer_base
        folder = importer_base if self._inside(importer_base) else self._root
        while self._inside(folder):
            yield folder
            yield os.path.join(folder, "src")
            folder = os.path.dirname(folder)

    def _inside(self, folder: str) -> bool:
        return folder == self._root or folder.startswith(self._root + os.sep)

    def _lies_in(self, folder: str) -> bool:
        """Whether the root is this folder or one below it, as where a package is checked from inside."""
        return self._root == folder or self._root.startswith(folder + os.sep)

    def _installed(self, dotted: str) -> str | None:
        if self._libraries is None or not may_be_entered(dotted):
            return None
        return _file(os.path.join(self._libraries, *dotted.split(".")))

    def is_first_party(self, path: str) -> bool:
        """Whether findings in this file may be reported without being asked for: it is no installed library's."""
        if any(path == place or path.startswith(place + os.sep) for place in self._first_party):
            return True
        if self._libraries is not None and path.startswith(self._libraries + os.sep):
            top = path[len(self._libraries) + 1 :].partition(os.sep)[0].removesuffix(".py")
            if top in self._first_party:
                return True
        start = len(self._root) if path.startswith(self._root + os.sep) else 0
        return os.sep + "site-packages" + os.sep not in path[start:]

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
        package = dotted.partition(".")[0]
        if package in self._first_party or self._lies_in(os.path.join(base, package)):
            return True
        return self._inside(base) and "site-packages" not in base[len(self._root) :]


def _file(place: str) -> str | None:
    """The package or module at a place; a stub stands in for one that is not written in Python."""
    for candidate in (f"{place}{os.sep}__init__.py", f"{place}.py", f"{place}{os.sep}__init__{STUB}", place + STUB):
        if os.path.isfile(candidate):
            return candidate
    return None


def _holds_code(place: str) -> bool:
    """Whether a folder without `__init__.py` is a package all the same, rather than data of that name."""
    try:
        entries = list(os.scandir(place))
    except OSError:
        return False
    below = [entry.path for entry in entries if entry.is_dir() and entry.name.isidentifier()]
    return any(entry.name.endswith(".py") for entry in entries) or any(map(_holds_code, below))
