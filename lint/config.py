"""Settings: `[tool.fullgraph]` of the nearest pyproject.toml, or the nearest fullgraph.toml, becomes a `Config`.

Read only here and by the command line, which lays its options over it; everything else is handed a `Config`.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from enum import Enum
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, TypeVar

import click

from fullgraph.rules.model import Rule

from . import own_rules
from .findings import Confidence, Finding


class Mode(str, Enum):
    """How the code is compiled; a mode asked for outranks what the compile call says."""

    DEFAULT = "default"
    FULLGRAPH = "fullgraph"


class AssumeCompiled(str, Enum):
    """What is taken for an entry beside the compile calls and decorators in the code."""

    AUTO = "auto"
    """Every `nn.Module.forward`, but only when the non-test files under the root compile nothing."""
    NONE = "none"
    FORWARD = "forward"
    ALL = "all"


class Types(str, Enum):
    """Whom to ask what an expression is of which the linter knows nothing."""

    NONE = "none"
    MYPY = "mypy"


@dataclass(frozen=True, slots=True)
class EntryPoint:
    """A function that the user names as an entry: `PATH::QUALNAME`."""

    path: Path
    qualname: str


@dataclass(frozen=True, slots=True)
class ConfiguredTarget:
    """What `fullgraph verify NAME` means; the settings are those of its options, and unread here."""

    name: str
    target: str
    arguments: tuple[str, ...] = ()
    inputs: tuple[str, ...] = ()
    init: str | None = None
    vary: tuple[str, ...] = ()
    train: bool | None = None
    fake: bool = False
    device: str | None = None


@dataclass(frozen=True, slots=True)
class Config:
    """Everything a check depends on beside the sources. Paths are absolute."""

    root: Path
    """The folder of the config file, else the working directory; first-party code lies under it."""
    source: Path | None = None
    """The config file, None if there is none."""
    select: tuple[str, ...] = ()
    """Codes or prefixes of codes to report; empty: all."""
    ignore: tuple[str, ...] = ()
    min_confidence: Confidence = Confidence.LIKELY
    target_torch: str | None = None
    mode: Mode | None = None
    backend: str | None = None
    """What runs all graphs, whatever the code says; only a run of the code has one."""
    assume_compiled: AssumeCompiled = AssumeCompiled.AUTO
    entry: tuple[EntryPoint, ...] = ()
    exclude: tuple[str, ...] = ()
    """gitignore patterns, relative to `root`."""
    per_file_ignores: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """`(glob relative to root, codes or prefixes)` pairs."""
    first_party: tuple[str, ...] = ()
    """Names of packages, or absolute paths, that count as first-party although they lie elsewhere."""
    include_libraries: bool = False
    notes: bool = False
    types: Types = Types.NONE
    targets: tuple[ConfiguredTarget, ...] = ()
    rules: tuple[Rule, ...] = ()
    """The project's own, beside the built-in ones."""
    rule_files: tuple[Path, ...] = ()
    """Where they are written."""

    def reports(self, finding: Finding) -> bool:
        """Whether selection, per-file ignores and the confidence bound let this finding through."""
        return finding.confidence.rank >= self.min_confidence.rank and self.enables(finding.code, finding.span.path)

    def enables(self, code: str, path: str) -> bool:
        """Whether selection and per-file ignores let a rule's findings in this file through."""
        if self.select and not code.startswith(self.select):
            return False
        return not code.startswith((*self.ignore, *self._ignored_in(path)))

    def _ignored_in(self, path: str) -> tuple[str, ...]:
        if not self.per_file_ignores:
            return ()
        relative = Path(os.path.relpath(path, self.root)).as_posix()
        return tuple(code for glob, codes in self.per_file_ignores if _matches(relative, glob) for code in codes)


def _matches(relative: str, glob: str) -> bool:
    """A glob without a slash matches any one file or folder name, as in a .gitignore; `*` crosses slashes."""
    if "/" in glob:
        return fnmatchcase(relative, glob)
    return any(fnmatchcase(part, glob) for part in relative.split("/"))


def load(paths: tuple[Path, ...], known_codes: frozenset[str], file: Path | None = None) -> Config:
    """The config for a check of `paths`: from `file` if given, else from the nearest config file above them all."""
    start = _common_folder(paths)
    found = _read(file) if file else _nearest(start)
    if found is None:
        working = Path.cwd()
        return Config(root=working if start.is_relative_to(working) else start)
    source, table = found
    return _from_table(source, table, known_codes)


def override(config: Config, known_codes: frozenset[str], options: Mapping[str, Any]) -> Config:
    """Lay command-line options over the config; None and empty mean 'not given'."""
    given = {name: value for name, value in options.items() if value not in (None, (), False)}
    known_codes |= {rule.code for rule in config.rules}
    enums = {"mode": Mode, "assume_compiled": AssumeCompiled, "min_confidence": Confidence, "types": Types}
    for name, enum in enums.items():
        if name in given:
            given[name] = enum(given[name])
    for name in ("select", "ignore"):
        if name in given:
            given[name] = codes(given[name], known_codes, f"--{name}")
    if "first_party" in given:
        given["first_party"] = first_party(given["first_party"], Path.cwd())
    if "entry" in given:
        given["entry"] = tuple(_entry(text, Path.cwd(), "--entry") for text in given["entry"])
    return replace(config, **given)


def codes(values: tuple[str, ...], known: frozenset[str], where: str) -> tuple[str, ...]:
    """Rule codes or prefixes, comma-separated or one by one; every one must begin some known code."""
    parts = tuple(part.strip() for value in values for part in value.split(",") if part.strip())
    for part in parts:
        if not any(code.startswith(part.upper()) for code in known):
            raise click.UsageError(
                f"{where}: no rule has the code or prefix {part!r}; `fullgraph rules list` shows all"
            )
    return tuple(part.upper() for part in parts)


def first_party(items: tuple[str, ...], base: Path) -> tuple[str, ...]:
    """What exists below `base` or cannot be a module's name is a path and made absolute; names stay as they are."""
    return tuple(
        item if _is_dotted_name(item) and not (base / item).exists() else os.path.normpath(base / item)
        for item in items
    )


def _is_dotted_name(text: str) -> bool:
    return all(part.isidentifier() for part in text.split("."))


def _common_folder(paths: tuple[Path, ...]) -> Path:
    common = Path(os.path.commonpath([os.path.normpath(path.absolute()) for path in paths] or [str(Path.cwd())]))
    return common.parent if common.is_file() else common


def _nearest(start: Path) -> tuple[Path, dict[str, Any]] | None:
    return next((found for folder in (start, *start.parents) if (found := _in(folder))), None)


def _in(folder: Path) -> tuple[Path, dict[str, Any]] | None:
    for name in ("fullgraph.toml", "pyproject.toml"):
        # Unlike Path.is_file, this is false where the folder may not be read.
        if os.path.isfile(folder / name) and (found := _read(folder / name)):  # noqa: PTH113
            return found
    return None


def nearest_files(folders: Iterable[Path]) -> dict[Path, Path | None]:
    """The config file that is the nearest one of each folder (absolute), None where there is none."""
    found: dict[Path, Path | None] = {}

    def look(folder: Path) -> Path | None:
        if folder not in found:
            own = _in(folder)
            above = None if folder == folder.parent else folder.parent
            found[folder] = own[0] if own is not None else None if above is None else look(above)
        return found[folder]

    return {folder: look(folder) for folder in folders}


def _read(file: Path) -> tuple[Path, dict[str, Any]] | None:
    """A config file and its settings; None for a pyproject.toml that says nothing about fullgraph."""
    try:
        document = tomllib.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise click.UsageError(f"{_shown(file)}: cannot read it: {error.strerror}") from None
    except ValueError as error:
        raise click.UsageError(f"{_shown(file)}: not valid TOML: {error}") from None
    if file.name != "pyproject.toml":
        return file.absolute(), document
    tool = document.get("tool", {})
    return (file.absolute(), tool["fullgraph"]) if "fullgraph" in tool else None


def _from_table(source: Path, table: dict[str, Any], known_codes: frozenset[str]) -> Config:
    root = source.parent
    if not isinstance(table, dict):
        raise click.UsageError(f"{_shown(source)}: `tool.fullgraph` must be a table")
    files = _rule_files(source, table)
    own = own_rules.read(files)
    known_codes |= {rule.code for rule in own}
    readers: dict[str, Callable[[str, Any], object]] = {
        "select": lambda where, value: codes(_strings(where, value), known_codes, where),
        "ignore": lambda where, value: codes(_strings(where, value), known_codes, where),
        "min-confidence": lambda where, value: _choice(where, value, Confidence),
        "target-torch": _string,
        "mode": lambda where, value: _choice(where, value, Mode),
        "assume-compiled": lambda where, value: _choice(where, value, AssumeCompiled),
        "entry": lambda where, value: tuple(_entry(text, root, where) for text in _strings(where, value)),
        "exclude": _strings,
        "per-file-ignores": lambda where, value: _per_file(where, value, known_codes),
        "first-party": lambda where, value: first_party(_strings(where, value), root),
        "include-libraries": _boolean,
        "notes": _boolean,
        "types": lambda where, value: _choice(where, value, Types),
        "targets": _targets,
        "rules": lambda where, value: own,
    }
    settings: dict[str, Any] = {}
    for key, value in table.items():
        where = f"{_shown(source)}: `{key}`"
        if key not in readers:
            raise click.UsageError(f"{where} is not a setting; the settings are {', '.join(readers)}")
        settings[key.replace("-", "_")] = readers[key](where, value)
    return Config(root=root, source=source, rule_files=files, **settings)


def _rule_files(source: Path, table: dict[str, Any]) -> tuple[Path, ...]:
    """The rule files that `rules` names, or that lie in the folders it names."""
    if "rules" not in table:
        return ()
    where = f"{_shown(source)}: `rules`"
    found: list[Path] = []
    for item in _strings(where, table["rules"]):
        path = source.parent / item
        if not path.exists():
            raise click.UsageError(f"{where}: there is no file or folder {item!r}")
        files = [path] if path.is_file() else sorted((*path.glob("*.yaml"), *path.glob("*.yml")))
        if not files:
            raise click.UsageError(f"{where}: no rule file (*.yaml) lies in {item!r}")
        found += files
    return tuple(dict.fromkeys(found))


def _string(where: str, value: object) -> str:
    if isinstance(value, str):
        return value
    raise click.UsageError(f"{where} must be a string")


def _boolean(where: str, value: object) -> bool:
    if isinstance(value, bool):
        return value
    raise click.UsageError(f"{where} must be true or false")


def _strings(where: str, value: object) -> tuple[str, ...]:
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return tuple(value)
    raise click.UsageError(f"{where} must be a list of strings")


Choice = TypeVar("Choice", bound=Enum)


def _choice(where: str, value: object, enum: type[Choice]) -> Choice:
    for member in enum:
        if value == member.value:
            return member
    raise click.UsageError(f"{where} must be one of {', '.join(str(member.value) for member in enum)}")


def _per_file(where: str, value: object, known: frozenset[str]) -> tuple[tuple[str, tuple[str, ...]], ...]:
    if not isinstance(value, dict):
        raise click.UsageError(f"{where} must be a table from glob to list of codes")
    return tuple((glob, codes(_strings(f"{where}: {glob!r}", items), known, where)) for glob, items in value.items())


def _targets(where: str, value: object) -> tuple[ConfiguredTarget, ...]:
    if not isinstance(value, dict):
        raise click.UsageError(f"{where} must be a table from name to target")
    return tuple(_target(f"{where}: `{name}`", name, item) for name, item in value.items())


def _target(where: str, name: str, value: object) -> ConfiguredTarget:
    table = {"target": value} if isinstance(value, str) else value
    if not (isinstance(table, dict) and "target" in table):
        raise click.UsageError(f'{where} must be a target, such as "model.py::Net", or a table with a `target`')
    readers: dict[str, Callable[[str, Any], Any]] = {
        "target": _string,
        "arguments": _strings,
        "inputs": _strings,
        "init": _string,
        "vary": _strings,
        "train": _boolean,
        "fake": _boolean,
        "device": _string,
    }
    if unknown := [key for key in table if key not in readers]:
        raise click.UsageError(f"{where}: `{unknown[0]}` is not a setting; the settings are {', '.join(readers)}")
    return ConfiguredTarget(name, **{key: readers[key](f"{where}: `{key}`", item) for key, item in table.items()})


def _entry(text: str, base: Path, where: str) -> EntryPoint:
    path, separator, qualname = text.rpartition("::")
    if not (separator and path and _is_dotted_name(qualname)):
        raise click.UsageError(f"{where}: {text!r} is not of the form PATH::QUALNAME, such as model.py::Net.forward")
    if not (base / path).is_file():
        raise click.UsageError(f"{where}: there is no file {path}")
    return EntryPoint(path=(base / path).absolute(), qualname=qualname)


def _shown(path: Path) -> str:
    return Path(os.path.relpath(path)).as_posix()
