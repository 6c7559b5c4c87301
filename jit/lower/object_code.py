"""Enters a module in the LLVM dialect, leaves x86-64 object code whose external symbols are still open."""

from __future__ import annotations

import os

from torch_mlir import ir
from torch_mlir.execution_engine import ExecutionEngine


def to_object(module: ir.Module) -> bytes:
    engine = ExecutionEngine(module, opt_level=3, shared_libs=[], enable_object_dump=True)
    engine.initialize()
    with os.fdopen(os.memfd_create("fullgraph-object"), "rb") as file:  # in memory, because a disk can be full
        engine.dump_to_object_file(f"/proc/self/fd/{file.fileno()}")
        if not (code := file.read()):
            raise ValueError("the code generator made no object, probably for want of an external symbol")
    return code
