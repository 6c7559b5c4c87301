"""Moves stack buffers of constant size to the function's entry, where a loop does not allocate them again and again."""

from __future__ import annotations

from torch_mlir import ir

from .walk import nested


def entry_allocas(module: ir.Module) -> None:
    for function in module.body.operations:
        if function.operation.name != "func.func" or not function.regions[0].blocks:
            continue
        first = function.regions[0].blocks[0].operations[0].operation
        for operation in list(nested(function.operation)):
            if operation.name == "memref.alloca" and not operation.operands and operation != first:
                operation.move_before(first)
