"""`fullgraph --version`: the versions that matter in a report, read from what is installed; nothing is imported."""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError, version

from fullgraph.rules import __version__

BESIDE = ("torch", "torch-mlir")


def versions() -> str:
    """A line each, fullgraph's own first."""
    return "\n".join(
        (
            f"fullgraph {__version__}",
            *(f"{name} {_installed(name)}" for name in BESIDE),
            f"Python {platform.python_version()}",
        )
    )


def _installed(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"
