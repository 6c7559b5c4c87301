"""Enters a module in the LLVM dialect, leaves x86-64 object code whose external symbols are still open."""

from __future__ import annotations

import tempfile
from pathlib import Path

from torch_mlir import ir
from torch_mlir.execution_engine import ExecutionEngine


def to_object(module: ir.Module) -> bytes:
    engine = ExecutionEngine(module, opt_level=3, shared_libs=[], enable_object_dump=True)
    engine.initialize()
    with tempfile.TemporaryDirectory(prefix="fullgraph-") as folder:
        path = Path(folder) / "region.o"
        engine.dump_to_object_file(str(path))
        if not path.exists():
            raise ValueError("the code generator made no object, probably for want of an external symbol")
        return path.read_bytes()
