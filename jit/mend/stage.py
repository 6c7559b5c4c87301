"""Where a trial runs: its program finds other contents in source files, and a working directory of its own.

Source files are not copied for that, so that packages, installed ones too, and the data beside them are where they are.
"""

from __future__ import annotations

import contextlib
import importlib.util
import linecache
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from importlib.machinery import EXTENSION_SUFFIXES, SOURCE_SUFFIXES, ExtensionFileLoader, FileFinder, SourceFileLoader
from pathlib import Path
from typing import Any

MOST_ENTRIES = 2000
MOST_COPIED = 1 << 20
"""Bytes of a file that is copied into the working directory; a larger one is linked."""
LINKED = frozenset({".git", ".hg", ".venv", "venv", "node_modules", "__pycache__", "site-packages"})


@contextlib.contextmanager
def staged(contents: Mapping[str, bytes], scratch: Path) -> Iterator[None]:
    """Until the context closes, imports read `contents`, by absolute path, and the working directory is a new one."""
    with tempfile.TemporaryDirectory(dir=scratch, prefix="work-", ignore_cleanup_errors=True) as folder:
        before = Path.cwd()
        mirror(before, Path(folder))
        os.chdir(folder)
        sys.path_hooks.insert(0, _finder(Path(folder).resolve(), before))
        try:
            with _shadowed(contents):
                yield
        finally:
            del sys.path_hooks[0]
            os.chdir(before)


def _finder(copy: Path, original: Path) -> Callable[[str], FileFinder]:
    """What is imported from the copy comes from the original, so that a module has one place."""

    def hook(name: str) -> FileFinder:
        path = Path(name).resolve()
        if not path.is_relative_to(copy):
            raise ImportError("not in the copy")
        loaders = (ExtensionFileLoader, EXTENSION_SUFFIXES), (SourceFileLoader, SOURCE_SUFFIXES)
        return FileFinder(str(original / path.relative_to(copy)), *loaders)

    return hook


@contextlib.contextmanager
def _shadowed(contents: Mapping[str, bytes]) -> Iterator[None]:
    loader: Any = SourceFileLoader
    stats, data = loader.path_stats, loader.get_data

    def path_stats(self: Any, path: str) -> Any:
        if _real(path) in contents:
            raise OSError("no compiled file holds what is shown")
        return stats(self, path)

    def get_data(self: Any, path: str) -> bytes:
        known = contents.get(_real(path))
        found: bytes = data(self, path) if known is None else known
        return found

    loader.path_stats, loader.get_data = path_stats, get_data
    for path, source in contents.items():
        remember(path, source)
    try:
        yield
    finally:
        loader.path_stats, loader.get_data = stats, data


def _real(path: str) -> str:
    return os.path.abspath(path)  # noqa: PTH100  (links stay as they are written)


def remember(path: str, source: bytes) -> None:
    """Let its lines be known whatever is on disk: without a time stamp they are not looked up anew."""
    with contextlib.suppress(UnicodeError, SyntaxError):  # importing it will tell
        text = importlib.util.decode_source(source)
        linecache.cache[path] = (len(source), None, text.splitlines(keepends=True), path)


def mirror(source: Path, target: Path) -> None:
    """Small files are copied, large ones and whatever comes after a bound are linked."""
    left = MOST_ENTRIES
    waiting = [(source, target)]
    for folder, made in waiting:
        with contextlib.suppress(OSError):  # a folder that cannot be read
            for entry in sorted(os.scandir(folder), key=lambda item: item.name):
                left -= 1
                place = made / entry.name
                if left > 0 and entry.is_dir(follow_symlinks=False) and not _is_linked(entry):
                    place.mkdir()
                    waiting.append((Path(entry.path), place))
                elif left > 0 and entry.is_file(follow_symlinks=False) and entry.stat().st_size <= MOST_COPIED:
                    shutil.copy2(entry.path, place)
                else:
                    place.symlink_to(entry.path)


def _is_linked(entry: os.DirEntry[str]) -> bool:
    return entry.name in LINKED or Path(entry.path, "pyvenv.cfg").exists()
