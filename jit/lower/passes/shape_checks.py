"""Removes assertions about sizes, which the guards of the compiled graph have already made sure of.

An assertion ends the process when it fails, so one about the data (an index in bounds, say) is refused: eager raises.
"""

from __future__ import annotations

from torch_mlir import ir

from .walk import nested

# torch-mlir's own caution where eager divides by zero and gets an infinity.
NEEDLESS = frozenset({"unimplemented: tensor with zero element"})
READS = frozenset({"tensor.extract", "memref.load", "linalg.index"})


def shape_checks(module: ir.Module) -> None:
    for operation in list(nested(module.operation)):
        if operation.name == "cf.assert":
            message = ir.StringAttr(operation.attributes["msg"]).value
            if message not in NEEDLESS and _reads_data(operation):
                raise ValueError(f"needs a check of the data at run time: {message}")
            operation.erase()


def _reads_data(assertion: ir.Operation) -> bool:
    if assertion.parent.name != "func.func":
        return True
    pending, seen = [assertion], set[ir.Operation]()
    while pending:
        for value in pending.pop().operands:
            if isinstance(value.owner, ir.Block) or value.owner.operation in seen:
                continue
            producer = value.owner.operation
            if producer.name in READS:
                return True
            seen.add(producer)
            pending.append(producer)
    return False
