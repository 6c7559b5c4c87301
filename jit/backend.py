"""Which backend the program's `torch.compile` calls get, and the settings of theirs that the command line overrides."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch._dynamo.backends.registry import get_default_backend, set_default_backend


def eager(graph: torch.fx.GraphModule, example_inputs: Any, **options: object) -> Callable[..., Any]:
    """Run the graph as it is. Not torch's own `eager`, for which Dynamo makes exceptions that no real backend gets."""
    return graph.forward


@contextlib.contextmanager
def overridden(backend: str | None, fullgraph: bool | None, dynamic: bool | None) -> Iterator[None]:
    """Compile calls that name no backend get `eager`; what is given here outranks what any call says."""
    settings = {
        "backend": eager if backend == "eager" else backend,
        "nopython": fullgraph,
        "dynamic": dynamic,
    }
    given = {name: value for name, value in settings.items() if value is not None}
    optimize, default = torch._dynamo.optimize, get_default_backend()

    def override(*args: Any, **options: Any) -> Any:
        names = ("backend", "nopython")
        return optimize(**dict(zip(names, args, strict=False)) | options | given)

    set_default_backend(eager)
    if given:
        torch._dynamo.optimize = override
    try:
        yield
    finally:
        torch._dynamo.optimize = optimize
        set_default_backend(default)
