"""What the engine is asked: the one argument of `fullgraph.lint.engine.check`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from .config import Config


@dataclass(frozen=True, slots=True)
class CheckRequest:
    """One check: the files to report on, the settings, and the torch version to judge by."""

    files: tuple[Path, ...]
    """Files to report findings for, absolute and sorted (see `discover.python_files`); readable or not, UTF-8 or not.
    """
    config: Config
    torch: str = "2.13"
    """Major and minor version, always one that the evidence covers."""
    remarks: tuple[str, ...] = ()
    """Remarks made while the request was put together; the report repeats them, its own after them."""
    use_cache: bool = True
    judge_comments: bool = False
    """Whether suppression comments that hide nothing are findings: only where nothing but the project's own settings
    decides what is looked for.
    """
    jobs: int | None = None
    """How many processes to use at most; None: one a core, where there is enough to do."""
    contents: Mapping[str, bytes] = field(default_factory=dict)
    """What these files (absolute paths) are taken to hold, whatever the disk says; nothing of it is remembered."""
