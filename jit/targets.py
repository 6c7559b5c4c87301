"""What to verify and how: `script.py` or `PATH::QUALNAME` becomes a `Target`, and together with the options a `Job`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

STAGES = ("aten", "partition", "torch", "torch-backend", "linalg", "abi", "fused", "memref", "loops", "llvm")
"""What the MLIR backend can show of a graph, in the order in which it is lowered."""


class TargetError(ValueError):
    """The user named something that cannot be verified; the text says what and what to do."""


@dataclass(frozen=True, slots=True)
class Target:
    """A script to run as `__main__`, or an object of a file to compile and call."""

    text: str
    path: Path
    """Absolute."""
    qualname: str | None = None


@dataclass(frozen=True, slots=True)
class Settings:
    """How to run targets."""

    inputs: tuple[str, ...] = ()
    training: bool = False
    backend: str | None = None
    """The backend to force; None leaves each compile call its own, or `mlir` if it names none."""
    fullgraph: bool | None = None
    dynamic: bool | None = None
    timeout_s: float = 300.0
    memory_mb: int | None = None
    show_ir: str | None = None
    """A stage of the MLIR backend's lowering."""


@dataclass(frozen=True, slots=True)
class Job:
    """All that the child process has to know to run one target."""

    target: Target
    settings: Settings
    roots: tuple[Path, ...]
    """Folders that hold first-party code."""


def parse_target(text: str) -> Target:
    """Understand one TARGET argument; the file must exist."""
    name, separator, qualname = text.partition("::")
    path = Path(name)
    if separator and not (name and all(part.isidentifier() for part in qualname.split("."))):
        raise TargetError(f"{text!r} is not of the form PATH::QUALNAME, such as model.py::Net")
    if path.is_dir():
        raise TargetError(f"{name} is a folder; name a script, or PATH::QUALNAME")
    if not path.is_file():
        raise TargetError(f"there is no file {name}")
    return Target(text, path.absolute(), qualname or None)
