"""One attempt of Dynamo's to compile one frame, and what is noted of it while it goes on."""

from __future__ import annotations

import dis
import time
from dataclasses import dataclass, field
from types import CodeType, FrameType

from ..events import Break, Graph, Recompile
from .calls import Call, calls_above, calls_in, is_resumption, user_name
from .clock import Clock
from .shapes import Shapes


@dataclass
class Conversion:
    """`caller` is the frame from which Dynamo was called."""

    code: CodeType
    caller: FrameType
    started: float = field(default_factory=time.perf_counter)
    clock: Clock = field(default_factory=Clock)
    id: str = ""
    """Empty until tracing begins."""
    traced: dict[CodeType, set[dis.Positions]] = field(default_factory=dict)
    last: tuple[CodeType, dis.Positions] | None = None
    """The instruction traced last."""
    graphs: list[Graph] = field(default_factory=list)
    breaks: list[tuple[BaseException, Break]] = field(default_factory=list)
    recompile: Recompile | None = None
    shapes: Shapes = field(default_factory=Shapes)
    training: bool | None = None
    """The mode of the module among the arguments, if there is one."""
    wrapped: frozenset[CodeType] = frozenset()
    """What the code, a decorator's wrapper, was made for."""

    @property
    def frame(self) -> str:
        """The id without the recompile number."""
        return self.id.partition("/")[0]

    def calls(self, error: BaseException) -> list[Call]:
        """The whole call stack of an error, outermost first, ending where tracing was."""
        code, positions = self.last or (self.code, dis.Positions(self.code.co_firstlineno))
        here = Call(code.co_filename, positions.lineno or code.co_firstlineno, user_name(code.co_name))
        inside = [self._qualified(call) for call in calls_in(getattr(error, "real_stack", None) or ()) or [here]]
        if inside[-1].column is None and inside[-1][:2] == here[:2]:
            inside[-1] = inside[-1]._replace(column=positions.col_offset, end_column=positions.end_col_offset)
        return [*self.callers(), *inside]

    def callers(self) -> list[Call]:
        """The calls that lead to the frame, outermost first."""
        return calls_above(self.caller, is_resumption(self.code.co_name))

    def _qualified(self, call: Call) -> Call:
        """The call with its function's qualified name, if this conversion traced the line."""
        for code, positions in self.traced.items():
            same = code.co_filename == call.filename and user_name(code.co_name) == call.function
            if same and any(position.lineno == call.line for position in positions):
                return call._replace(function=user_name(code.co_qualname))
        return call
