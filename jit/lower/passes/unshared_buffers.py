"""Says of a tensor read from a buffer that was allocated for it that no other one is: bufferization asks for that.

The lowering of a scan allocates the buffer that it fills, and then takes it for a tensor.
"""

from __future__ import annotations

from torch_mlir import ir

from .walk import nested


def unshared_buffers(module: ir.Module) -> None:
    for operation in nested(module.operation):
        if operation.name == "bufferization.to_tensor" and _is_allocated(operation.operands[0]):
            operation.attributes["restrict"] = ir.UnitAttr.get()


def _is_allocated(buffer: ir.Value) -> bool:
    return not isinstance(buffer.owner, ir.Block) and buffer.owner.name == "memref.alloc"
