"""A compiled training step → only the lines up to its `backward()` are compiled, as a function of their own.

What comes before and after, such as the optimizer's work, is left to Python, and the decorator moves to the new
function. It takes the plain assignments right before the first line that asks for gradients; where none does, those at
the end of the function, with what it returns.
"""

from __future__ import annotations

from ..blocks import lines_of
from ..findings import Fix
from ..search import findall
from ..slice import Slice
from ..splitting import is_movable, method, part_before, split
from ..vocabulary import words

GRADIENTS = words("backward grad")


def fix(found: Slice, path: str) -> Fix | None:
    function = found.function
    if function is None or not is_movable(found):
        return None
    lines = lines_of(function.body)
    at = next((at for at, line in enumerate(lines) if findall(line, method(GRADIENTS))), len(lines) - 1)
    part = part_before(function, at, with_value=True)
    edits = None if part is None else split(found, path, part)
    return None if edits is None else Fix("compile only the forward pass", "unsafe", edits)
