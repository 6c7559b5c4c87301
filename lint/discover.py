"""Which files to check: paths from the command line become a sorted list of Python files and notebooks, minding
.gitignore.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

SUFFIXES = (".py", ".ipynb")
SKIPPED = frozenset({"build", "dist", "node_modules", "site-packages", "venv", "__pycache__"})
"""Folders never walked into, beside hidden ones and whatever holds a virtual environment."""


def python_files(paths: Iterable[Path], root: Path, exclude: tuple[str, ...] = ()) -> tuple[Path, ...]:
    """The .py files and notebooks at or below the paths, absolute and sorted; a file named outright is always taken."""
    return tuple(map(Path, _python_files(paths, root, exclude)))


def _python_files(paths: Iterable[Path], root: Path, exclude: tuple[str, ...]) -> list[str]:
    """Sorted by the parts of their paths. As strings: thousands of `Path` objects cost more than the walk itself."""
    found: set[str] = set()
    links: set[str] = set()
    for path in paths:
        absolute = lexically_absolute(path)
        if _is_there(absolute) and not os.access(absolute, os.R_OK):
            raise click.UsageError(f"{path}: no permission to read it")
        if absolute.is_file():
            found.add(str(absolute))
        elif absolute.is_dir():
            for file, is_link in _walk(str(absolute), root, _spec(exclude), tuple(_ignores_above(absolute, root))):
                (links if is_link else found).add(file)
        elif _is_there(absolute):
            raise click.UsageError(f"{path}: neither a file nor a folder")
        else:
            raise click.UsageError(f"{path}: there is no such file or folder")
    return sorted((*found, *_leading_elsewhere(links - found, found)), key=lambda file: file.split(os.sep))


def _leading_elsewhere(links: Iterable[str], files: set[str]) -> Iterator[str]:
    """Links to files that are not met by another name: a finding is told once."""
    met = set(map(os.path.realpath, files)) if links else set()
    for link in sorted(links):
        target = os.path.realpath(link)
        if target not in met:
            met.add(target)
            yield link


def _is_there(path: Path) -> bool:
    try:
        return path.exists()
    except PermissionError:  # in a folder that may not be entered
        return True


def lexically_absolute(path: Path) -> Path:
    """Absolute and without `..`, but with links as the user wrote them."""
    return Path(os.path.normpath(path.absolute()))


def project_files(root: Path, exclude: tuple[str, ...] = ()) -> tuple[str, ...]:
    """All non-test files under the config root: those that `--assume-compiled auto` looks at for entries. Test code
    does not decide what the project compiles.
    """
    above = len(os.path.join(root, ""))
    return tuple(path for path in _python_files([root], root, exclude) if not _is_test(path[above:]))


def _is_test(relative: str) -> bool:
    *folders, name = relative.split(os.sep)
    is_test_name = name.startswith("test_") or name.endswith("_test.py") or name == "conftest.py"
    return is_test_name or "tests" in folders or "test" in folders


Ignore = tuple[Path, "GitIgnoreSpec"]
"""A folder and the patterns of its .gitignore."""


def _walk(folder: str, root: Path, excluded: GitIgnoreSpec, ignores: tuple[Ignore, ...]) -> Iterator[tuple[str, bool]]:
    """Files below the folder, and whether each is a link."""
    try:
        entries = os.scandir(folder)
    except OSError:  # access was promised and then denied, as in parts of /proc
        return
    ignores = (*ignores, *_ignores_in(Path(folder)))
    with entries:
        for entry in entries:
            is_folder = entry.is_dir(follow_symlinks=False)
            if not is_folder and not (entry.name.endswith(SUFFIXES) and _is_file(entry)):
                continue
            if _ignored(entry.path, is_folder, ignores) or _excluded(entry.path, is_folder, root, excluded):
                continue
            if not is_folder:
                yield entry.path, entry.is_symlink()
            elif not _skipped(entry):
                yield from _walk(entry.path, root, excluded, ignores)


def _is_file(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_file()
    except OSError:  # links that lead in a circle
        return False


def _skipped(folder: os.DirEntry[str]) -> bool:
    if folder.name.startswith(".") or folder.name in SKIPPED:
        return True
    # What nobody named and nobody may read: a database's or a container's folder, say.
    return not os.access(folder.path, os.R_OK | os.X_OK) or Path(folder.path, "pyvenv.cfg").exists()


def _ignored(path: str, is_folder: bool, ignores: tuple[Ignore, ...]) -> bool:
    """The deepest .gitignore that says anything about the path decides."""
    for folder, spec in reversed(ignores):
        verdict = spec.check_file(_relative(Path(path), folder, is_folder)).include
        if verdict is not None:
            return verdict
    return False


def _excluded(path: str, is_folder: bool, root: Path, excluded: GitIgnoreSpec) -> bool:
    if not excluded.patterns:  # a relative path costs more than all the rest of the walk
        return False
    return Path(path).is_relative_to(root) and excluded.match_file(_relative(Path(path), root, is_folder))


def _relative(path: Path, folder: Path, is_folder: bool) -> str:
    return path.relative_to(folder).as_posix() + ("/" if is_folder else "")


def _ignores_above(folder: Path, root: Path) -> Iterator[Ignore]:
    """The .gitignore files from the repository's top, or else the root, down to the folder's parent."""
    above: list[Path] = []
    for parent in (folder, *folder.parents):
        above.append(parent)
        if (parent / ".git").exists() or parent == root:
            break
    else:
        return
    for parent in reversed(above[1:]):
        yield from _ignores_in(parent)


def _ignores_in(folder: Path) -> Iterator[Ignore]:
    file = folder / ".gitignore"
    if file.is_file():
        yield folder, _spec(file.read_text(encoding="utf-8", errors="replace").splitlines())


def _spec(patterns: Iterable[str]) -> GitIgnoreSpec:
    # Imported here because it takes longer than all else that checking a file named outright needs.
    from pathspec import GitIgnoreSpec

    # Git ignores these two incomplete patterns, pathspec rejects them.
    return GitIgnoreSpec.from_lines(line for line in patterns if line.strip() not in ("!", "\\"))
