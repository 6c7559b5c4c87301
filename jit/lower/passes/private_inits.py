"""Gives every user of an initial value (`tensor.empty`, a fill) a copy of its own.

Two reductions may share one filled tensor; `eliminate-empty-tensors` then gives both the same destination and the
second overwrites the first.
"""

from __future__ import annotations

from torch_mlir import ir

from .walk import nested


def private_inits(module: ir.Module) -> None:
    for operation in list(nested(module.operation)):
        _copy_inits(operation)


def _copy_inits(operation: ir.Operation) -> None:
    for i, value in enumerate(operation.operands):
        producer = _producer(value)
        if producer is not None and _is_init(producer) and sum(1 for _ in value.uses) > 1:
            copy = producer.clone(ip=ir.InsertionPoint(operation)).operation
            operation.operands[i] = copy.results[list(producer.results).index(value)]
            _copy_inits(copy)


def _producer(value: ir.Value) -> ir.Operation | None:
    return None if isinstance(value.owner, ir.Block) else value.owner.operation


def _is_init(operation: ir.Operation) -> bool:
    match operation.name:
        case "tensor.empty" | "linalg.fill":
            return True
        case "linalg.generic":  # a fill that canonicalisation generalised: it reads no tensor but the one it fills
            inputs = list(operation.operands)[: -len(operation.results)]
            return not any(isinstance(value.type, ir.RankedTensorType) for value in inputs)
        case "tensor.insert_slice":  # the beginning that several concatenations share; each goes on from it
            return all(use.owner.name == "tensor.insert_slice" for use in operation.results[0].uses)
        case _:
            return False
