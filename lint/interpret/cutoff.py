"""A method that has been edited may still give what it gave: then nothing that called it has to be looked at again."""

from __future__ import annotations

from typing import Any

from ..symbols import FunctionSymbol
from ..values import Function
from . import calls
from .analysis import Analysis
from .frame import Frame

MOST = 64
"""Calls of the method that are compared; with more it costs less to forget."""


def gives_the_same(analysis: Analysis, bit: int) -> bool:
    """Whether each call of the method that stands for `bit` brings up what it did before the edit.

    If so, only what is the method's own has been forgotten; if not, all that rests on it has to be.
    """
    own: list[tuple[Any, Any]] = []
    for table in analysis.tables:
        if table is analysis.memo or table is analysis.explored:
            continue
        for key in [key for key, rests in table.rests.items() if rests & bit]:
            if not _is_of(key[0] if isinstance(key, tuple) else key, bit):
                return False
            own.append((table, key))
    before = {
        key: analysis.memo[key] for key, rests in analysis.memo.rests.items() if rests & bit and _is_of(key[0], bit)
    }
    if len(before) > MOST:
        return False
    for table, key in (*own, *((analysis.memo, key) for key in before)):
        del table.rests[key]
        table.pop(key, None)
    for key, result in before.items():
        _call(analysis, key)
        if analysis.memo.get(key) != result:
            return False
    _go_on(analysis, bit, before)
    return True


def _is_of(owner: object, bit: int) -> bool:
    return isinstance(owner, FunctionSymbol) and owner.mask == bit


def _call(analysis: Analysis, key: Any) -> None:
    symbol, scope, env, traced, settings, eager = key
    caller = Frame(analysis, symbol.module, symbol, settings, traced, eager=eager)
    calls.work_out(caller, Function(symbol, scope), dict(env), traced, key)


def _go_on(analysis: Analysis, bit: int, called: dict[Any, Any]) -> None:
    """Callers rest on what the method rests on by now; its own entries are explored anew."""
    rests = 0
    for key in called:
        rests |= analysis.memo.rests.get(key, 0)
    for table in (analysis.memo, analysis.explored):
        for key in [key for key, held in table.rests.items() if held & bit]:
            table.rests[key] |= rests
    for key in [key for key, held in analysis.explored.rests.items() if held & bit]:
        target = calls.target_of(analysis, key[0].target)
        if target is None or _is_of(target[0].symbol, bit):
            del analysis.explored.rests[key]
            del analysis.explored[key]
