"""`while t: …` → `while_loop`, with the names that the body binds as what it carries.

Legal only for a body of plain assignments of pure expressions to tensors that have values before it, none of which is
changed in place elsewhere. Whether each round gives the shape and dtype it was given is known only when compiling.
"""

from __future__ import annotations

import libcst as cst
import libcst.matchers as m

from ..arithmetic import Scope, has_comments, torch_name
from ..blocks import lines_of
from ..findings import Fix
from ..search import findall
from ..slice import Slice
from ..truth import Truth
from ..ways import is_tensor, names_of, owned, tuple_of, way_of

BARRED = m.Yield() | m.Await() | m.Global() | m.Nonlocal()


def fix(found: Slice, path: str) -> Fix | None:
    torch, function, loop = torch_name(found.module, found.function), found.function, found.statement
    if torch is None or function is None or findall(function, BARRED):
        return None
    if not isinstance(loop, cst.While) or loop.orelse is not None or has_comments(loop):
        return None
    new = _replaced(found, Scope(found, function), torch, loop)
    if new is None:
        return None
    return Fix("loop in the graph with `while_loop`", "unsafe", (found.replace(path, loop, new),))


def _replaced(found: Slice, scope: Scope, torch: str, loop: cst.While) -> cst.BaseStatement | None:
    way = way_of(found, lines_of(loop.body))
    condition = Truth(found, scope).of(loop.test)
    if way is None or way.result is not None or not way.writes or condition is None:
        return None
    carried = sorted(way.writes)
    if not all(scope.is_bound(cst.Name(name)) and scope.is_tensor(cst.Name(name)) for name in carried):
        return None
    if any(scope.is_mutated(name) for name in carried) or not set(names_of(loop.test)) & set(carried):
        return None
    if len(way.lines) != len(carried) or not all(is_tensor(scope, value, {}) for value in way.writes.values()):
        return None
    if any(set(names_of(way.writes[name])) & set(carried[:at]) for at, name in enumerate(carried)) and len(carried) > 1:
        return None  # one binding reads another that is new by then
    given = ", ".join(carried)
    values = tuple_of([found.code(owned(way.writes[name])) for name in carried])
    call = (
        f"{given}{',' * (len(carried) == 1)} = {torch}._higher_order_ops.while_loop("
        f"lambda {given}: {condition}, lambda {given}: {values}, {tuple_of(carried)})"
    )
    line = cst.parse_statement(call)
    assert isinstance(line, cst.SimpleStatementLine)
    return line.with_changes(leading_lines=loop.leading_lines)
