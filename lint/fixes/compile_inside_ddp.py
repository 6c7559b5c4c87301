"""`torch.compile(DDP(model), …)` → `DDP(torch.compile(model, …))`."""

from __future__ import annotations

import libcst as cst
import libcst.matchers as m

from ..findings import Edit, Fix
from ..slice import Slice

WRAPPERS = m.Name("DDP") | m.Name("DistributedDataParallel") | m.Attribute(attr=m.Name("DistributedDataParallel"))
COMPILE = m.Name("compile") | m.Attribute(attr=m.Name("compile"))
NESTED = m.Call(func=COMPILE, args=[m.Arg(m.Call(func=WRAPPERS, args=[m.Arg(), m.ZeroOrMore()])), m.ZeroOrMore()])


def fix(found: Slice, path: str) -> Fix | None:
    calls = m.findall(found.statement, NESTED)
    if len(calls) != 1:
        return None
    outer = calls[0]
    assert isinstance(outer, cst.Call)
    inner = outer.args[0].value
    assert isinstance(inner, cst.Call)
    compiled = outer.with_changes(args=[outer.args[0].with_changes(value=inner.args[0].value), *outer.args[1:]])
    wrapped = inner.with_changes(args=[inner.args[0].with_changes(value=compiled), *inner.args[1:]])
    changed = found.statement.deep_replace(outer, wrapped)
    assert isinstance(changed, cst.CSTNode)
    edit = Edit(path, found.start, found.end, found.code(changed))
    return Fix("compile the model inside the DistributedDataParallel wrapper", "unsafe", (edit,))
