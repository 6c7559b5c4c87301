"""Whether types can be had for what the interpreter knows nothing of, and what they rest on. mypy itself is imported
by who asks first.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from .libraries import site_packages

if TYPE_CHECKING:
    from .interpret.analysis import Oracle
    from .project import Project

INSTALL = "pip install 'fullgraph[types]'"


@dataclass(frozen=True, slots=True)
class TypeSource:
    """What a process needs to ask for types."""

    folder: Path
    """For mypy's own cache, and for the way by which it finds torch and no other library."""
    torch: Path
    identity: str
    """The versions of all that decides what the types are, and the path that mypy reads from the environment."""

    def oracle(self, project: Project, remark: Callable[[str], None]) -> Oracle:
        """Whom to ask; told of each file for which there are no types."""
        from .types_mypy import MypyOracle

        return MypyOracle(project, self, remark)


def type_source(root: Path, folder: Path) -> TypeSource:
    """Where types come from for the project below `root`; all that is kept lies in `folder`.

    Raises click.UsageError where something is not installed.
    """
    try:
        from mypy.version import __version__ as mypy
    except ImportError:
        raise click.UsageError(f"types come from mypy, which is not installed: {INSTALL}") from None
    libraries = site_packages(root)
    torch = Path(libraries or "", "torch")
    try:
        version = (torch / "version.py").read_text(encoding="utf-8")
    except OSError:
        raise click.UsageError(
            f"types need those of torch, which is not installed in {libraries}: pip install torch"
        ) from None
    own = hashlib.blake2b(str(torch).encode(), digest_size=8).hexdigest()
    return TypeSource(folder / own, torch, repr((mypy, str(torch), version, os.environ.get("MYPYPATH"))))
