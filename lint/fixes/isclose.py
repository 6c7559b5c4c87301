"""`torch.allclose(a, b)` that is asserted or returned → `torch.isclose(a, b).all()`, which stays a tensor."""

from __future__ import annotations

import libcst as cst
import libcst.matchers as m

from ..findings import Fix
from ..slice import Slice
from ..truth import kept

CLOSE = m.Call(func=m.Attribute(attr=m.Name("allclose")))


def fix(found: Slice, path: str) -> Fix | None:
    match found.statement:
        case cst.Return(value=value) | cst.Assert(test=value) if value is not None and m.matches(value, CLOSE):
            return Fix("compare with `isclose`", "unsafe", (found.replace(path, value, kept(value)),))
    return None
