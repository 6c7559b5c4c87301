"""What torch imports when a program asks for the backend `mlir` by its name.

That happens when `torch.compile` is called, before Dynamo traces anything: time in which the compiler's process can
come up.
"""

from __future__ import annotations

from .mlir import mlir, shared_worker
from .worker import unavailable

__all__ = ["mlir"]

if unavailable() is None:
    shared_worker().start()
