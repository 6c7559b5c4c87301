"""`compiled = torch.compile(f)` in a loop's body → before the loop."""

from __future__ import annotations

import libcst as cst
import libcst.matchers as m

from ..blocks import around
from ..findings import Fix
from ..search import findall, names_in
from ..slice import Slice


def fix(found: Slice, path: str) -> Fix | None:
    line = found.line
    match found.statement, around(found.tree, line):
        case (
            cst.Assign(targets=[cst.AssignTarget(target=cst.Name(value=name))], value=value),
            [
                *_,
                (cst.IndentedBlock() | cst.Module()) as outer,
                (cst.For() | cst.While()) as loop,
                cst.IndentedBlock() as block,
            ],
        ) if found.code(value) == found.source and isinstance(line, cst.SimpleStatementLine) and len(line.body) == 1:
            at = next(i for i, other in enumerate(block.body) if other is line)
            rest = [*block.body[:at], *block.body[at + 1 :]]
            if not rest or _names(loop.with_deep_changes(block, body=block.body[:at]), name) or _binds(rest, name):
                return None
            left = loop.with_changes(body=block.with_changes(body=rest), leading_lines=())
            moved = line.with_changes(leading_lines=[*loop.leading_lines, *line.leading_lines])
            i = next(i for i, other in enumerate(outer.body) if other is loop)
            changed = outer.with_changes(body=[*outer.body[:i], moved, left, *outer.body[i + 1 :]])
            return Fix("compile before the loop", "unsafe", (found.replace(path, outer, changed),))
    return None


def _names(node: cst.CSTNode, name: str) -> bool:
    """Whether the name occurs in the loop's header, or before it is set."""
    return any(inner.value == name for inner in names_in(node))


def _binds(lines: list[cst.BaseStatement], name: str) -> bool:
    bound = m.AssignTarget(target=m.Name(name)) | m.AugAssign(target=m.Name(name)) | m.Del(target=m.Name(name))
    return any(findall(line, bound) for line in lines)
