"""What breaks, as data: the rules, their catalogue and the evidence. Imports nothing of ours."""

from __future__ import annotations

from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .model import Rule

__version__ = "0.1.0"


@cache
def load() -> MappingProxyType[str, Rule]:
    """The built-in rules by code, in order of their codes."""
    from .catalogue import FILE, unpack

    return MappingProxyType(unpack(FILE.read_text(encoding="utf-8")))
