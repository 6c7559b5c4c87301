"""Which backend the program's `torch.compile` calls get, and the settings of theirs that the command line overrides."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import torch

from . import mlir
from .default_backend import default_backend
from .events import Event, Lowered, Stage
from .targets import Settings
from .worker import unavailable


def eager(graph: torch.fx.GraphModule, example_inputs: Any, **options: object) -> Callable[..., Any]:
    """Run the graph as it is. Not torch's own `eager`, for which Dynamo makes exceptions that no real backend gets."""
    return graph.forward


@contextlib.contextmanager
def overridden(settings: Settings, emit: Callable[[Event], None]) -> Iterator[None]:
    """Compile calls that name no backend get `mlir`; what the settings give outranks what any call says."""

    def report(event: Lowered | Stage) -> None:
        if isinstance(event, Lowered) or event.name in settings.stages:
            emit(event)

    native = mlir.Backend(report, stages=bool(settings.stages)) if unavailable() is None else eager
    given = {
        "backend": {"eager": eager, "mlir": native}.get(settings.backend or "", settings.backend),
        "nopython": settings.fullgraph,
        "dynamic": settings.dynamic,
    }
    given = {name: value for name, value in given.items() if value is not None}
    optimize = torch._dynamo.optimize

    def override(*args: Any, **options: Any) -> Any:
        options = dict(zip(("backend", "nopython"), args, strict=False)) | options | given
        if _names_mlir(options.get("backend")):
            options["backend"] = native
        return optimize(**options)

    torch._dynamo.optimize = override
    try:
        with default_backend(native):
            yield
    finally:
        torch._dynamo.optimize = optimize


def _names_mlir(backend: object) -> bool:
    """Whether that is the backend as torch finds it by its name, which `torch.compile` may have wrapped."""
    return backend == "mlir" or getattr(backend, "compiler_fn", backend) is mlir.mlir
