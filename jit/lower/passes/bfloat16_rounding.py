"""Defines compiler-rt's rounding to bfloat16, which no C library has, where the code generator may call it.

It does even for code that only moves bfloat16 around: it selects between two such numbers in float32.
"""

from __future__ import annotations

from torch_mlir import ir

from .walk import nested

ROUNDING = """
llvm.func @__truncsfbf2(%value: f32) -> bf16 {
  %half = llvm.mlir.constant(16 : i32) : i32
  %one = llvm.mlir.constant(1 : i32) : i32
  %below_tie = llvm.mlir.constant(32767 : i32) : i32
  %quiet = llvm.mlir.constant(64 : i32) : i32
  %bits = llvm.bitcast %value : f32 to i32
  %high = llvm.lshr %bits, %half : i32
  %odd = llvm.and %high, %one : i32
  %carry = llvm.add %below_tie, %odd : i32
  %sum = llvm.add %bits, %carry : i32
  %rounded = llvm.lshr %sum, %half : i32
  %nan = llvm.or %high, %quiet : i32
  %is_nan = llvm.fcmp "uno" %value, %value : f32
  %result = llvm.select %is_nan, %nan, %rounded : i1, i32
  %word = llvm.trunc %result : i32 to i16
  %number = llvm.bitcast %word : i16 to bf16
  llvm.return %number : bf16
}
"""


def bfloat16_rounding(module: ir.Module) -> None:
    if any(
        isinstance(value.type, ir.BF16Type) for operation in nested(module.operation) for value in operation.results
    ):
        source = ir.Module.parse(ROUNDING)
        module.body.append(source.body.operations[0].operation.detach_from_parent())
