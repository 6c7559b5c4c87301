"""Enters a module in the LLVM dialect, leaves x86-64 object code whose external symbols are still open."""

from __future__ import annotations

import ctypes
import os

from torch_mlir import ir
from torch_mlir.execution_engine import ExecutionEngine

ELSEWHERE = ("Sleef_", "GOMP_", "omp_")
"""What only the process that will run the code has: here any address does."""


def to_object(module: ir.Module) -> bytes:
    engine = ExecutionEngine(module, opt_level=2, shared_libs=[], enable_object_dump=True)
    for operation in module.body.operations:
        name = ir.StringAttr(operation.attributes["sym_name"]).value
        if name.startswith(ELSEWHERE):
            engine.raw_register_runtime(name, ctypes.c_void_p(1))
    engine.initialize()
    with os.fdopen(os.memfd_create("fullgraph-object"), "rb") as file:  # in memory, because a disk can be full
        engine.dump_to_object_file(f"/proc/self/fd/{file.fileno()}")
        if not (code := file.read()):
            raise ValueError("the code generator made no object, probably for want of an external symbol")
    return code
