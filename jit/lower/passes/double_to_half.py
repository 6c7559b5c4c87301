"""Rounds float64 to half precision through float32, as ATen does, and with that needs no helper of compiler-rt."""

from __future__ import annotations

from torch_mlir import ir

from .walk import nested


def double_to_half(module: ir.Module) -> None:
    single = ir.F32Type.get()
    for operation in list(nested(module.operation)):
        if operation.name != "arith.truncf" or not isinstance(operation.operands[0].type, ir.F64Type):
            continue
        if isinstance(operation.results[0].type, ir.F16Type | ir.BF16Type):
            with ir.InsertionPoint(operation):
                step = ir.Operation.create("arith.truncf", results=[single], operands=[operation.operands[0]])
            operation.operands[0] = step.result
