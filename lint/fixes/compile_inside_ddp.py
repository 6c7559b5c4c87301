"""`torch.compile(DDP(model), …)` → `DDP(torch.compile(model, …))`."""

from __future__ import annotations

import libcst as cst
import libcst.matchers as m

from ..findings import Fix
from ..search import findall
from ..slice import Slice

WRAPPER = m.Name("DDP") | m.Name("DistributedDataParallel") | m.Attribute(attr=m.Name("DistributedDataParallel"))
COMPILE = m.Name("compile") | m.Attribute(attr=m.Name("compile"))
NESTED = m.Call(func=COMPILE, args=[m.Arg(m.Call(func=WRAPPER, args=[m.Arg(), m.ZeroOrMore()])), m.ZeroOrMore()])


def fix(found: Slice, path: str) -> Fix | None:
    match findall(found.statement, NESTED):
        case [cst.Call(args=[cst.Arg(value=cst.Call() as inner) as first, *options]) as outer]:
            model = inner.args[0]
            compiled = outer.with_changes(args=[first.with_changes(value=model.value), *options])
            wrapped = inner.with_changes(args=[model.with_changes(value=compiled), *inner.args[1:]])
            edit = found.replace(path, outer, wrapped)
            return Fix("compile the model inside the DistributedDataParallel wrapper", "unsafe", (edit,))
    return None
