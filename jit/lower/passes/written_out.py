"""Writes out the exponential of a float32, the function that models use most: a loop computes several elements at a
time and calls nothing. It is within 1 unit in the last place, subnormal results too.
"""

from __future__ import annotations

from torch_mlir import ir

from .walk import nested

# exp(x) = 2^n exp(r), where n is the nearest integer to x / ln 2. Adding and subtracting 1.5 * 2^23 rounds, and leaves
# n in the low bits. ln 2 comes in two parts, so that r is exact. 2^n is applied in two halves, because it may be
# subnormal; where it is zero, as for what a mask hides, it is not computed, because processors take long to underflow.
# The polynomial is a least-maximum fit on [-ln 2 / 2, ln 2 / 2].
EXPONENTIAL = """
func.func private @"fullgraph.exp"(%x: f32) -> f32 {
  %zero = arith.constant 0.0 : f32
  %least = arith.constant -104.0 : f32
  %most = arith.constant 90.0 : f32
  %per_ln2 = arith.constant 1.44269504 : f32
  %rounder = arith.constant 12582912.0 : f32
  %rounder_bits = arith.constant 0x4B400000 : i32
  %ln2_high = arith.constant -0.693359375 : f32
  %ln2_low = arith.constant 2.12194440e-4 : f32
  %c6 = arith.constant 1.3814320555e-3 : f32
  %c5 = arith.constant 8.3688506857e-3 : f32
  %c4 = arith.constant 4.1668400168e-2 : f32
  %c3 = arith.constant 1.6666519642e-1 : f32
  %c2 = arith.constant 4.9999994040e-1 : f32
  %one = arith.constant 1.0 : f32
  %half = arith.constant 1 : i32
  %bias = arith.constant 127 : i32
  %mantissa = arith.constant 23 : i32
  %below = arith.cmpf olt, %x, %least : f32
  %x1 = arith.select %below, %zero, %x : f32
  %above = arith.cmpf ogt, %x1, %most : f32
  %x2 = arith.select %above, %most, %x1 : f32
  %t = math.fma %x2, %per_ln2, %rounder : f32
  %n = arith.subf %t, %rounder : f32
  %r1 = math.fma %n, %ln2_high, %x2 : f32
  %r = math.fma %n, %ln2_low, %r1 : f32
  %p5 = math.fma %c6, %r, %c5 : f32
  %p4 = math.fma %p5, %r, %c4 : f32
  %p3 = math.fma %p4, %r, %c3 : f32
  %p2 = math.fma %p3, %r, %c2 : f32
  %p1 = math.fma %p2, %r, %one : f32
  %p = math.fma %p1, %r, %one : f32
  %t_bits = arith.bitcast %t : f32 to i32
  %exponent = arith.subi %t_bits, %rounder_bits : i32
  %n1 = arith.shrsi %exponent, %half : i32
  %n2 = arith.subi %exponent, %n1 : i32
  %e1 = arith.addi %n1, %bias : i32
  %e2 = arith.addi %n2, %bias : i32
  %b1 = arith.shli %e1, %mantissa : i32
  %b2 = arith.shli %e2, %mantissa : i32
  %s1 = arith.bitcast %b1 : i32 to f32
  %s2 = arith.bitcast %b2 : i32 to f32
  %scaled = arith.mulf %p, %s1 : f32
  %power = arith.mulf %scaled, %s2 : f32
  %result = arith.select %below, %zero, %power : f32
  return %result : f32
}
"""


def written_out(module: ir.Module) -> None:
    """Leaves calls of a private function, to be inlined."""
    calls = [
        op for op in nested(module.operation) if op.name == "math.exp" and isinstance(op.results[0].type, ir.F32Type)
    ]
    if not calls:
        return
    source = ir.Module.parse(EXPONENTIAL)
    function = source.body.operations[0].operation.detach_from_parent()
    module.body.append(function)
    callee = ir.FlatSymbolRefAttr.get(ir.StringAttr(function.attributes["sym_name"]).value)
    for operation in calls:
        _call(operation, callee)


def _call(operation: ir.Operation, callee: ir.Attribute) -> None:
    kind, operands = operation.results[0].type, list(operation.operands)
    with ir.InsertionPoint(operation):
        call = ir.Operation.create("func.call", results=[kind], operands=operands, attributes={"callee": callee})
    operation.results[0].replace_all_uses_with(call.result)
    operation.erase()
