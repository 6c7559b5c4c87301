"""Lets the terms of a sum be added in any order, as ATen does: several partial sums are faster and lose less.

Only the addition that accumulates is loosened; how its terms are computed stays as written. Where the innermost loop is
not the sum's, several sums are computed at a time, each in order.
"""

from __future__ import annotations

from torch_mlir import ir

from .walk import nested


def sum_order(module: ir.Module) -> None:
    any_order = ir.Attribute.parse("#arith.fastmath<reassoc>")
    for operation in nested(module.operation):
        if operation.name == "linalg.generic" and _reduces_last(operation):
            for addition in _accumulations(operation):
                addition.attributes["fastmath"] = any_order


def _reduces_last(operation: ir.Operation) -> bool:
    loops = list(ir.ArrayAttr(operation.attributes["iterator_types"]))
    return bool(loops) and "reduction" in str(loops[-1])


def _accumulations(reduction: ir.Operation) -> list[ir.Operation]:
    """The additions of a term to what has been summed so far."""
    block = reduction.regions[0].blocks[0]
    sums = list(block.arguments)[-len(reduction.results) :]
    return [
        operation.operation
        for operation in block.operations
        if operation.operation.name == "arith.addf" and any(operand in sums for operand in operation.operands)
    ]
