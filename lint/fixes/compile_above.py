"""A compiled function → only the lines above one that breaks the graph are compiled, as a function of their own.

That line and what comes after it are left to Python, and the decorator moves to the new function. It takes the plain
assignments right above. No rule names this fix: it is for breaks that nothing removes.
"""

from __future__ import annotations

from ..blocks import lines_of
from ..findings import Fix
from ..search import holds
from ..slice import Slice
from ..splitting import is_movable, part_before, split


def fix(found: Slice, path: str) -> Fix | None:
    function = found.function
    if function is None or not is_movable(found):
        return None
    at = next((at for at, line in enumerate(lines_of(function.body)) if holds(line, found.statement)), 0)
    part = part_before(function, at, with_value=False)
    edits = None if part is None else split(found, path, part)
    return None if edits is None else Fix("compile only the lines above", "unsafe", edits)
