"""A fix, or two at once, and what came of running the program with it."""

from __future__ import annotations

from dataclasses import dataclass

from fullgraph.lint.findings import Fix

from ..events import Break
from .lab import Contents
from .sites import Site
from .verdict import Version


@dataclass(frozen=True, slots=True)
class Measured:
    """What was seen with other contents, and why they are refused."""

    version: Version
    reason: str | None = None
    later: bool = False
    """A break stopped the compiled program that had been hidden behind another one."""
    uncovered: Break | None = None
    """The break that they are refused for."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """A fix, or two at once, and what came of it."""

    title: str
    safety: str
    contents: Contents
    found: Measured
    seconds: tuple[tuple[Site, Fix], ...] = ()
    """Fixes of the break that it was refused for, each at its site."""
