"""Where the packages that a project uses are installed, told from the folders alone: nothing is imported."""

from __future__ import annotations

import os
import sys
import sysconfig
from pathlib import Path, PurePath

from .vocabulary import words

NEVER_ENTERED = words(
    """
    functorch hypothesis mpmath networkx numpy onnx onnxruntime pandas scipy sklearn sympy tabulate tensorflow tensorrt
    torch torchgen tqdm triton xarray
    """
)
"""Packages whose functions are operators, or that Dynamo does not trace."""
INSTALLED = frozenset({"site-packages", "dist-packages"})
"""Names of folders that hold installed packages."""


def is_installed(path: PurePath) -> bool:
    """Whether it lies in such a folder."""
    return not INSTALLED.isdisjoint(path.parts)


def site_packages(root: Path) -> str | None:
    """The folder of the active virtual environment, else of the one in `root`, else of the running interpreter."""
    named = os.environ.get("VIRTUAL_ENV")
    for environment in ([Path(named)] if named else []) + [root / ".venv", root / "venv"]:
        for folder in (*sorted(environment.glob("lib/python*/site-packages")), environment / "Lib" / "site-packages"):
            if folder.is_dir():
                return os.path.normpath(folder.absolute())
    own = Path(sysconfig.get_path("purelib"))
    return str(own) if own.is_dir() else None


def may_be_entered(dotted: str) -> bool:
    """Whether calls into the package of this module are followed where its source is installed."""
    top = dotted.partition(".")[0]
    return top not in NEVER_ENTERED and top not in sys.stdlib_module_names
