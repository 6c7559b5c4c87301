"""Which files are the user's own, and how a file is shown."""

from __future__ import annotations

import importlib.util
import sysconfig
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from fullgraph.lint.libraries import is_installed

OURS = Path(__file__).parents[1]
STDLIB = Path(sysconfig.get_path("stdlib"))


@dataclass(frozen=True)
class Paths:
    """The folder that paths are shown from, and those that hold first-party code; `named` do although installed."""

    working: Path
    roots: tuple[Path, ...]
    named: tuple[Path, ...] = ()
    _known: dict[str, bool] = field(default_factory=dict)

    @classmethod
    def naming(cls, working: Path, roots: tuple[Path, ...], names: Iterable[str]) -> Paths:
        """`names` are those of packages, or absolute paths."""
        return cls(working, roots, tuple(_folders(names)))

    def first_party(self, filename: str) -> bool:
        if (known := self._known.get(filename)) is None:
            known = self._known[filename] = self._decide(Path(filename))
        return known

    def _decide(self, path: Path) -> bool:
        if any(path.is_relative_to(root) for root in self.named):
            return True
        under = any(path.is_relative_to(root) for root in self.roots)
        return under and not is_installed(path) and not path.is_relative_to(OURS) and not path.is_relative_to(STDLIB)

    def shown(self, filename: str) -> str:
        path = Path(filename)
        return path.relative_to(self.working).as_posix() if path.is_relative_to(self.working) else path.as_posix()


def _folders(names: Iterable[str]) -> Iterator[Path]:
    """Where packages lie."""
    for name in names:
        if Path(name).is_absolute():
            yield Path(name)
            continue
        top, *inner = name.split(".")
        if spec := importlib.util.find_spec(top):
            folders = spec.submodule_search_locations or ([spec.origin] if spec.origin else [])
            yield from (Path(folder, *inner) for folder in folders)
