"""What `torch.compile` takes where a call names no backend."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch._dynamo.backends import registry


@contextlib.contextmanager
def default_backend(backend: Callable[..., Any]) -> Iterator[None]:
    """Before torch 2.13 it is nothing but the default of a parameter."""
    if hasattr(registry, "set_default_backend"):
        before = registry.get_default_backend()
        registry.set_default_backend(backend)
        try:
            yield
        finally:
            registry.set_default_backend(before)
    else:
        defaults: dict[str, Any] = torch.compile.__kwdefaults__ or {}
        before = defaults["backend"]
        defaults["backend"] = backend
        try:
            yield
        finally:
            defaults["backend"] = before
