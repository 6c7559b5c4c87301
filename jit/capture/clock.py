"""What the phases of a compilation take, by Dynamo's own clocks."""

from __future__ import annotations

from torch._dynamo.utils import compilation_time_metrics

from ..events import CompileTime

WHOLE = "_compile.compile_inner"
GRAPHS = "OutputGraph.call_user_compiler"
AOT = "create_aot_dispatcher_function"
INSIDE_AOT = ("compile_fx.<locals>.fw_compiler_base", "compile_fx.<locals>.bw_compiler")
GUARDS = "build_guards"


class Clock:
    """Starts when it is made."""

    def __init__(self) -> None:
        self._before = {name: len(seconds) for name, seconds in compilation_time_metrics.items()}

    def read(self) -> CompileTime:
        """The phases one beside the other, not one inside the other as Dynamo's clocks run."""
        graphs, aot, guards = self._since(GRAPHS), self._since(AOT), self._since(GUARDS)
        aot -= sum(map(self._since, INSIDE_AOT))
        dynamo = self._since(WHOLE) - graphs - guards
        return CompileTime(*(round(seconds, 4) for seconds in (dynamo, aot, graphs - aot, guards)))

    def _since(self, name: str) -> float:
        return sum(compilation_time_metrics.get(name, ())[self._before.get(name, 0) :])
