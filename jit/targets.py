"""What to verify and how: one TARGET of the command line becomes a `Target`, and together with the settings a `Job`."""

from __future__ import annotations

import importlib.machinery
import importlib.util
import os
import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import TypeAlias

from .mend.trial import Trial
from .sources import Watch

STAGES = (
    *("aten", "partition", "torch", "torch-backend", "linalg"),
    *("abi", "fused", "schedule", "memref", "loops", "functions", "llvm"),
)
"""What the MLIR backend can show of a graph, in the order in which it is lowered."""
VARIATIONS = ("batch", "seq", "dtype", "strides", "mode", "grad", "scalars")
"""What further calls can change, see `vary`."""


class FailOn(str, Enum):
    """What makes a verification fail."""

    ANY = "any"
    CONFIRMED = "confirmed"
    UNPREDICTED = "unpredicted"
    RECOMPILE = "recompile"


class TargetError(ValueError):
    """The user named something that cannot be verified; the text says what and what to do."""


@dataclass(frozen=True, slots=True)
class Script:
    """A file to run as `__main__`."""

    path: Path
    shown: str
    """As it was typed: the script's own `sys.argv[0]`."""
    arguments: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Module:
    """A module to run as `python -m` does."""

    path: Path
    name: str
    arguments: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Object:
    """A function or module, to compile and call: of a file, or of an importable module."""

    path: Path
    qualname: str
    module: str | None = None
    make: bool = False
    """Call it first: what it returns is meant."""


@dataclass(frozen=True, slots=True)
class PytestTest:
    """A pytest test, with further options of pytest's."""

    path: Path
    node: str
    arguments: tuple[str, ...] = ()


Program: TypeAlias = Script | Module | Object | PytestTest


@dataclass(frozen=True, slots=True)
class Target:
    """A program, and how the user calls it. Paths are absolute."""

    text: str
    program: Program

    @property
    def path(self) -> Path:
        return self.program.path


@dataclass(frozen=True, slots=True)
class Settings:
    """How to run targets."""

    inputs: tuple[str, ...] = ()
    init: str | None = None
    """The arguments from which a module is made."""
    vary: tuple[str, ...] = ()
    """Of `VARIATIONS`."""
    training: bool | None = None
    """None is evaluation mode, and the other one too where findings hold only there."""
    fake: bool = False
    device: str | None = None
    backend: str | None = None
    """The backend to force; None leaves each compile call its own, or `mlir` if it names none."""
    fullgraph: bool | None = None
    dynamic: bool | None = None
    timeout_s: float = 300.0
    memory_mb: int | None = None
    max_calls: int | None = None
    """End the program after so many calls of compiled functions."""
    stages: tuple[str, ...] = ()
    """Of the MLIR backend's lowering: those whose IR is told."""


@dataclass(frozen=True, slots=True)
class Job:
    """All that the child process has to know to run one target."""

    target: Target
    settings: Settings
    roots: tuple[Path, ...]
    """Folders that hold first-party code."""
    first_party: tuple[str, ...] = ()
    """Names of packages, or paths, that are first-party wherever they lie."""
    environment: tuple[tuple[str, str], ...] = ()
    """Variables that have to be set before torch is imported."""
    watch: Watch | None = None
    """What to record of the calls of compiled functions."""
    trial: Trial | None = None
    """What else its source files hold, and what its behaviour is held against."""


DOTTED = r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*"
QUALNAME = re.compile(rf"({DOTTED})(\(\))?")
IMPORTED = re.compile(rf"({DOTTED}):({DOTTED})(\(\))?")
TEST = re.compile(r"(?:\w+::)*test\w*(?:\[.*\])?", re.DOTALL)


def parse_target(text: str, arguments: tuple[str, ...] = (), base: Path | None = None) -> Target:
    """Understand one TARGET; its file must exist, relative to `base`."""
    base = base or Path.cwd()
    if match := IMPORTED.fullmatch(text):
        return Target(text, Object(located(match[1], base), match[2], match[1], make=bool(match[3])))
    name, separator, rest = text.partition("::")
    path = Path(os.path.abspath(base / name))  # noqa: PTH100  (links stay as they are written)
    if path.is_dir() and name:
        raise TargetError(f"{name} is a folder; name a script, or PATH::QUALNAME")
    if separator and name and is_test_file(path) and TEST.fullmatch(rest):
        return Target(text, PytestTest(_existing(path, name), rest, arguments))
    if separator:
        qualname = QUALNAME.fullmatch(rest)
        if not (name and qualname):
            raise TargetError(f"{text!r} is not of the form PATH::QUALNAME, such as model.py::Net")
        return Target(text, Object(_existing(path, name), qualname[1], make=bool(qualname[2])))
    return Target(text, Script(_existing(path, name), name, arguments))


def parse_script(name: str, arguments: tuple[str, ...]) -> Target:
    """Understand the name of a script, in the working directory."""
    path = Path(os.path.abspath(name))  # noqa: PTH100  (links stay as they are written)
    return Target(name, Script(_existing(path, name), name, arguments))


def parse_module(name: str, arguments: tuple[str, ...] = (), base: Path | None = None) -> Target:
    """Understand what follows `-m`."""
    if not re.fullmatch(DOTTED, name):
        raise TargetError(f"-m {name}: not the name of a module, such as package.train")
    return Target(f"-m {name}", Module(located(name, base or Path.cwd(), run=True), name, arguments))


def package_of(path: Path) -> tuple[Path, str]:
    """The folder that a file of Python's is imported from, and its dotted name there: with its packages, if any."""
    root, names = path.parent, [path.stem]
    while (root / "__init__.py").is_file():
        names.insert(0, root.name)
        root = root.parent
    return root, ".".join(names)


def is_test_file(path: Path) -> bool:
    """By the names that pytest collects."""
    return path.suffix == ".py" and (path.name.startswith("test_") or path.stem.endswith("_test"))


def _existing(path: Path, name: str) -> Path:
    if not path.is_file():
        raise TargetError(f"there is no file {name}")
    if path.suffix == ".ipynb":
        raise TargetError(
            f"{name} is a notebook; make a script of it: jupyter nbconvert --to script {shlex.quote(name)}"
        )
    return path


def located(name: str, base: Path, run: bool = False) -> Path:
    """The file of a module, found without importing anything; of a package to `run`, its `__main__.py`."""
    top, *inner = name.split(".")
    spec = importlib.machinery.PathFinder.find_spec(top, [str(base)]) or importlib.util.find_spec(top)
    if spec is None:
        raise TargetError(f"there is no module {top}, neither here nor installed")
    folders = [Path(folder, *inner[:-1]) for folder in spec.submodule_search_locations or ()]
    for file in _candidates(spec.origin, folders, inner, run):
        if file.is_file():
            return file.absolute()
    raise TargetError(f"there is no Python file of the module {name}" + (", or it cannot be run" if run else ""))


def _candidates(origin: str | None, folders: list[Path], inner: list[str], run: bool) -> Iterator[Path]:
    last = "__main__.py" if run else "__init__.py"
    for folder in folders:
        yield from (folder / f"{inner[-1]}.py", folder / inner[-1] / last) if inner else (folder / last,)
    if origin and not inner and not (run and folders):
        yield Path(origin)
