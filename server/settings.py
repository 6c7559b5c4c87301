"""What the client sets: `initializationOptions`, and `fullgraph` in `workspace/didChangeConfiguration`."""

from __future__ import annotations

import sys
from typing import Any

import msgspec


class Settings(msgspec.Struct, frozen=True, rename="camel"):
    trusted: bool = False
    """Whether the code in the workspace may be run."""
    interpreter: str = sys.executable
    """The Python that runs it; fullgraph[jit] has to be installed there."""
    verify_arguments: tuple[str, ...] = ()
    """More arguments for `fullgraph verify`."""
    notes: bool = False
    """Show notes although the project's settings don't ask for them."""


def settings(given: Any) -> Settings:
    """Raises msgspec.ValidationError, which says what is wrong. What is not ours is passed over."""
    own = given.get("fullgraph", given) if isinstance(given, dict) else {}
    return msgspec.convert(own or {}, Settings)
