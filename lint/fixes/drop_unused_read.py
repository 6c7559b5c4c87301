"""`start = time.time()` whose name nothing reads → left out."""

from __future__ import annotations

import libcst as cst
import libcst.matchers as m

from ..blocks import block_of
from ..findings import Fix
from ..search import comments_in, findall, names_in
from ..slice import Slice

CLOCK = m.MatchRegex(r"(time|perf_counter|monotonic|process_time)(_ns)?")
CLOCKS = m.Call(func=m.Attribute(value=m.Name("time"), attr=m.Name(CLOCK)), args=[])
REFLECTION = m.Call(func=m.Name(m.MatchRegex(r"locals|vars|eval|exec|dir")))


def fix(found: Slice, path: str) -> Fix | None:
    function, line = found.function, found.line
    match found.statement:
        case cst.Assign(targets=[cst.AssignTarget(target=cst.Name(value=name))], value=value) if function is not None:
            block = block_of(found.tree, line)
            if block is None or len(block.body) == 1 or comments_in(line):
                return None
            if not m.matches(value, CLOCKS) or found.code(value) != found.source:
                return None
            if [inner.value for inner in names_in(function)].count(name) > 1 or findall(function, REFLECTION):
                return None
            if not isinstance(line, cst.SimpleStatementLine) or len(line.body) > 1:
                return None
            left = block.with_changes(body=[other for other in block.body if other is not line])
            return Fix("leave out what nothing reads", "unsafe", (found.replace(path, block, left),))
    return None
