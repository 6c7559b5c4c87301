"""`explain(function, *inputs)`: what the MLIR backend makes of a function.

A function and arguments to call it with go in; the IR of its graphs comes out, after every stage.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch

from .assembly import no_disassembler
from .events import Lowered, Phase, Stage
from .mlir import Backend
from .worker import unavailable


@dataclass(frozen=True, slots=True)
class Explanation:
    """What a function became. Printed, it is everything in the order in which it was made."""

    graphs: tuple[Lowered, ...]
    stages: tuple[Stage, ...]

    def stage(self, name: str) -> str:
        """The IR of all graphs and regions at one stage."""
        return "\n".join(_shown(item) for item in self.stages if item.name == name)

    def __str__(self) -> str:
        return "\n".join([*map(_shown, self.stages), *self._told()])

    def _told(self) -> Iterator[str]:
        for graph in self.graphs:
            counts = f"{graph.mlir_ops} native, {graph.eager_ops} left to ATen"
            yield f"// graph {graph.graph}, {graph.phase.value}: {counts}"
            yield from (f"//   {item.operator}: {item.reason}" for item in graph.left)
            yield from (f"//   {failure}" for failure in graph.failures)


def explain(
    function: Callable[..., Any], *inputs: Any, assembly: bool = False, max_autotune: bool = False
) -> Explanation:
    """`function` may be a module or a graph. With `assembly` the machine code is shown as well, and with `max_autotune`
    at the stage `choices` what was measured of matrix products.

    As `torch._dynamo.explain` does, it has Dynamo forget what it has compiled.
    """
    if (reason := unavailable() or (no_disassembler() if assembly else None)) is not None:
        raise ValueError(reason)
    graphs: dict[tuple[int, Phase], Lowered] = {}
    stages: list[Stage] = []

    def learn(event: Lowered | Stage) -> None:
        match event:
            case Lowered():
                graphs[event.graph, event.phase] = event
            case Stage():
                stages.append(event)

    torch._dynamo.reset()
    backend = Backend(learn, stages=True, assembly=assembly)
    torch.compile(function, backend=backend, options={"max_autotune": max_autotune})(*inputs)
    torch._dynamo.reset()
    return Explanation(tuple(graphs.values()), tuple(stages))


def _shown(stage: Stage) -> str:
    place = ", ".join(filter(None, (f"graph {stage.graph}", stage.phase.value, stage.region)))
    return f"// {place}: {stage.name}\n{stage.text.rstrip()}\n"
