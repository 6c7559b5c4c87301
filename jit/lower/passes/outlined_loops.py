"""Moves the body of each parallel loop into a function of its own, which computes any range of the loop's steps.

What the loop uses from around it becomes an argument; constants are repeated.
"""

from __future__ import annotations

from collections.abc import Iterator

from torch_mlir import ir
from torch_mlir.dialects import arith, func, scf

from ..abi import ENTRY
from ..signature import Signature
from .walk import nested

KERNEL = "kernel_"
LEAST = 16
"""Steps, of some thousand elements each, that are worth more than one thread."""
UNSHARED = "fullgraph.unshared"
"""The attribute that lists those pointers through which alone their memory is reached, as LLVM counts arguments."""
VIEWS = frozenset({"memref.subview", "memref.expand_shape", "memref.collapse_shape", "memref.cast"})


def outlined_loops(module: ir.Module, signature: Signature) -> None:
    entry = next(op for op in module.body.operations if ir.StringAttr(op.attributes["sym_name"]).value == ENTRY)
    outputs = list(entry.regions[0].blocks[0].arguments)[len(signature.inputs) :]
    loops = [operation for operation in nested(entry.operation) if operation.name == "scf.forall"]
    for number, operation in enumerate(loops):
        loop = Loop(operation)
        if loop.is_long:
            loop.outline(module, f"{KERNEL}{number}", outputs)


class Loop:
    """A loop over steps of 1 from 0, in one or more dimensions."""

    def __init__(self, operation: ir.Operation) -> None:
        self._operation = operation
        self._body = operation.regions[0].blocks[0]
        sizes = list(ir.DenseI64ArrayAttr(operation.attributes["staticUpperBound"]))
        dynamic = iter(operation.operands)
        self._sizes = [next(dynamic) if size < 0 else size for size in sizes]

    @property
    def is_long(self) -> bool:
        total = 1
        for size in self._sizes:
            if isinstance(size, ir.Value):
                return True
            total *= size
        return total >= LEAST

    def outline(self, module: ir.Module, name: str, outputs: list[ir.Value]) -> None:
        captured = list(dict.fromkeys([*self._free(), *(size for size in self._sizes if isinstance(size, ir.Value))]))
        constants = [value for value in captured if _is_constant(value)]
        captured = [value for value in captured if value not in constants]
        index = ir.IndexType.get()
        with ir.InsertionPoint(module.body):
            kernel = func.FuncOp(name, ([index, index, *(value.type for value in captured)], []), visibility="private")
        kernel.attributes[UNSHARED] = ir.DenseI64ArrayAttr.get(list(_unshared(captured, outputs)))
        kernel.attributes["no_inline"] = ir.UnitAttr.get()
        block = kernel.add_entry_block()
        first, last, *arguments = block.arguments
        replaced = dict(zip(captured, arguments, strict=True))
        with ir.InsertionPoint(block):
            for value in constants:
                replaced[value] = value.owner.operation.clone().operation.result
            loop = scf.ForOp(first, last, arith.ConstantOp(index, 1).result)
            func.ReturnOp([])
        with ir.InsertionPoint(loop.body):
            position = self._position(loop.induction_variable, replaced)
            end = scf.YieldOp([])
        replaced.update(zip(self._body.arguments, position, strict=True))
        self._move(end, replaced)
        with ir.InsertionPoint(self._operation):
            zero = arith.ConstantOp(index, 0).result
            func.CallOp([], name, [zero, self._total(), *captured])
        self._operation.erase()

    def _free(self) -> Iterator[ir.Value]:
        operations = list(nested(self._operation))
        inside = {result for operation in operations for result in operation.results}
        blocks = [block for op in (*operations, self._operation) for region in op.regions for block in region.blocks]
        inside.update(argument for block in blocks for argument in block.arguments)
        for operation in operations:
            yield from (value for value in operation.operands if value not in inside)

    def _position(self, step: ir.Value, replaced: dict[ir.Value, ir.Value]) -> list[ir.Value]:
        position: list[ir.Value] = []
        for size in self._sizes[:0:-1]:
            count = _number(size, replaced)
            position.insert(0, arith.RemUIOp(step, count).result)
            step = arith.DivUIOp(step, count).result
        return [step, *position]

    def _move(self, end: ir.OpView, replaced: dict[ir.Value, ir.Value]) -> None:
        for view in list(self._body.operations):
            if view.operation.name == "scf.forall.in_parallel":
                continue
            view.operation.move_before(end.operation)
            for operation in (*nested(view.operation), view.operation):
                for i, value in enumerate(operation.operands):
                    if value in replaced:
                        operation.operands[i] = replaced[value]

    def _total(self) -> ir.Value:
        total = _number(self._sizes[0], {})
        for size in self._sizes[1:]:
            total = arith.MulIOp(total, _number(size, {})).result
        return total


def _number(size: ir.Value | int, replaced: dict[ir.Value, ir.Value]) -> ir.Value:
    if isinstance(size, ir.Value):
        return replaced.get(size, size)
    return arith.ConstantOp(ir.IndexType.get(), size).result


def _is_constant(value: ir.Value) -> bool:
    return not isinstance(value.owner, ir.Block) and value.owner.operation.name == "arith.constant"


def _unshared(captured: list[ir.Value], outputs: list[ir.Value]) -> Iterator[int]:
    """Where among the arguments, once memrefs are taken apart, the pointers to fresh memory are."""
    bases = [_base(value) for value in captured]
    position = 2
    for value, base in zip(captured, bases, strict=True):
        if not isinstance(value.type, ir.MemRefType):
            position += 1
            continue
        fresh = base in outputs or (not isinstance(base.owner, ir.Block) and "alloc" in base.owner.operation.name)
        if fresh and bases.count(base) == 1:
            yield position + 1
        position += 3 + 2 * value.type.rank


def _base(value: ir.Value) -> ir.Value:
    while not isinstance(value.owner, ir.Block) and value.owner.operation.name in VIEWS:
        value = value.owner.operation.operands[0]
    return value
