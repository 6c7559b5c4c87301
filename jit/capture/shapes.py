"""The symbolic sizes of one frame: which were made, from what, and which tracing tied to a number."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ..events import CallSite, Symbol


class Shapes:
    """Dynamo may begin a frame anew, with a new environment and the same names: the last one counts."""

    def __init__(self) -> None:
        self._environment: object = None
        self._symbols: dict[str, Symbol] = {}

    def created(self, environment: object, made: Any, source: str, hint: str) -> None:
        """`made` is an expression of sympy's, a number where Dynamo decided for a fixed size."""
        if environment is not self._environment:
            self._environment = environment
            self._symbols.clear()
        if made.is_Symbol:
            self._symbols.setdefault(str(made), Symbol(str(made), source, hint))

    def replaced(self, environment: object, name: str, by: Any, site: CallSite) -> None:
        if environment is self._environment and name in self._symbols and by.is_number:
            self._symbols[name] = replace(self._symbols[name], value=str(by), site=site)

    def symbols(self) -> tuple[Symbol, ...]:
        return tuple(self._symbols.values())
