"""Asks for the processor's widest vectors, where the code generator by itself prefers narrower ones."""

from __future__ import annotations

from torch_mlir import ir

from ..processor import vector_sizes


def vector_width(module: ir.Module) -> None:
    for operation in module.body.operations:
        if operation.operation.name == "llvm.func" and operation.regions[0].blocks and vector_sizes():
            wish = f'[["prefer-vector-width", "{8 * vector_sizes()[0]}"]]'
            operation.attributes["passthrough"] = ir.Attribute.parse(wish)
