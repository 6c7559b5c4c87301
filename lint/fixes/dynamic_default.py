"""`torch.compile(…, dynamic=False)` → without `dynamic`: a size that changes becomes symbolic."""

from __future__ import annotations

import libcst as cst
import libcst.matchers as m

from ..findings import Fix
from ..slice import Slice

STATIC = m.Arg(keyword=m.Name("dynamic"), value=m.Name("False"))


def fix(found: Slice, path: str) -> Fix | None:
    match found.underlined:
        case cst.Call(args=args) as call:
            kept = [arg for arg in args if not m.matches(arg, STATIC)]
            if len(kept) == len(args) - 1:
                if kept:
                    kept[-1] = kept[-1].with_changes(comma=args[-1].comma)
                edit = found.replace(path, call, call.with_changes(args=kept))
                return Fix("leave `dynamic` at its default", "unsafe", (edit,))
    return None
