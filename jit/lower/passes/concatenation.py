"""Has the pieces of a concatenated output written to their places in it: bufferisation would copy all but the last."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import accumulate
from operator import mul

from torch_mlir import ir

WRITE = "bufferization.materialize_in_destination"


def concatenation(module: ir.Module) -> None:
    """Before there are loops, and only where all sizes are known."""
    for function in module.body.operations:
        for block in function.regions[0].blocks:
            for view in list(block.operations):
                if view.operation.name == WRITE and (pieces := list(_pieces(view.operation))):
                    for piece in pieces:
                        _write(view.operation, piece)
                    view.operation.erase()


def _pieces(write: ir.Operation) -> Iterator[ir.Operation]:
    """The insertions that make up a whole; none if it is not certain that nothing else does."""
    insertions, value = [], write.operands[0]
    while not isinstance(value.owner, ir.Block) and value.owner.operation.name == "tensor.insert_slice":
        insertion = value.owner.operation
        if len(insertion.operands) != 2 or len(list(value.uses)) != 1 or not _is_plain(insertion):
            return
        insertions.append(insertion)
        value = insertion.operands[1]
    if not isinstance(value.owner, ir.Block) and value.owner.operation.name == "tensor.empty":
        yield from reversed(insertions)


def _is_plain(insertion: ir.Operation) -> bool:
    """Neither strides nor a change of rank."""
    piece, whole = (ir.RankedTensorType(operand.type) for operand in insertion.operands)
    steps = list(ir.DenseI64ArrayAttr(insertion.attributes["static_strides"]))
    return piece.rank == whole.rank and piece.has_static_shape and whole.has_static_shape and set(steps) <= {1}


def _write(write: ir.Operation, insertion: ir.Operation) -> None:
    target, piece = write.operands[1], ir.RankedTensorType(insertion.operands[0].type)
    strides = list(accumulate(ir.MemRefType(target.type).shape[:0:-1], mul, initial=1))[::-1]
    offsets = list(ir.DenseI64ArrayAttr(insertion.attributes["static_offsets"]))
    start = sum(map(mul, offsets, strides))
    place = ir.MemRefType.get(piece.shape, piece.element_type, ir.StridedLayoutAttr.get(start, strides))
    with ir.InsertionPoint(write):
        names = ("static_offsets", "static_sizes", "static_strides")
        subview = ir.Operation.create(
            "memref.subview",
            results=[place],
            operands=[target],
            attributes={
                **{name: insertion.attributes[name] for name in names},
                "operandSegmentSizes": ir.DenseI32ArrayAttr.get([1, 0, 0, 0]),
            },
        )
        ir.Operation.create(
            WRITE,
            operands=[insertion.operands[0], subview.result],
            attributes={name: ir.UnitAttr.get() for name in ("restrict", "writable")},
        )
