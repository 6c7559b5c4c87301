"""Levels of Python call stacks, as Dynamo and the interpreter know them."""

from __future__ import annotations

import linecache
import re
from collections.abc import Iterable
from pathlib import Path
from traceback import FrameSummary
from types import FrameType
from typing import NamedTuple

from torch._dynamo import convert_frame

from ..places import code_points

DYNAMO = str(Path(convert_frame.__file__).parent)
RESUME = re.compile(r"torch_dynamo_resume_in_(.+)_at_\d+$")


class Call(NamedTuple):
    """One level of a Python call stack; columns count UTF-8 bytes and may be unknown."""

    filename: str
    line: int
    function: str
    column: int | None = None
    end_column: int | None = None

    @property
    def columns(self) -> tuple[int, int] | tuple[None, None]:
        """Start and end in code points; the end is the line's if the expression goes on after it."""
        if self.column is None or self.end_column is None:
            return None, None
        end = self.end_column if self.column < self.end_column else None
        text = linecache.getline(self.filename, self.line)
        return code_points(text, self.column), code_points(text, end)


def user_name(name: str) -> str:
    """The function's name as it was before Dynamo made a resumption of it."""
    return RESUME.sub(r"\1", name)


def is_resumption(name: str) -> bool:
    return RESUME.search(name) is not None


def calls_in(stack: Iterable[FrameSummary]) -> list[Call]:
    """What Dynamo keeps of the calls that it traced."""
    return [
        Call(entry.filename, entry.lineno or 0, user_name(entry.name), entry.colno, entry.end_colno) for entry in stack
    ]


def calls_above(frame: FrameType | None, resumed: bool) -> list[Call]:
    """Running calls, outermost first, without Dynamo's own. A function and the resumptions that it calls, one inside
    the other, are one call of which the innermost counts; `resumed` says that the call below is a resumption.
    """
    calls: list[Call] = []
    while frame:
        code = frame.f_code
        if not code.co_filename.startswith(DYNAMO):
            if not resumed:
                _, _, column, end_column = list(code.co_positions())[frame.f_lasti // 2]
                calls.append(Call(code.co_filename, frame.f_lineno, user_name(code.co_qualname), column, end_column))
            resumed = is_resumption(code.co_name)
        frame = frame.f_back
    return calls[::-1]
