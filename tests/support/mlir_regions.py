"""Small regions as MLIR text, with their signatures: a good one, one that crashes the compiler, one that never ends."""

from __future__ import annotations

from fullgraph.jit.lower.signature import Signature, TensorSpec

F32, U8 = TensorSpec("float32", (4,)), TensorSpec("uint8", (4,))

SCALED = """
func.func @main(%a: !torch.vtensor<[4],f32>, %b: !torch.vtensor<[4],f32>) -> !torch.vtensor<[4],f32> {
  %e = torch.aten.exp %a : !torch.vtensor<[4],f32> -> !torch.vtensor<[4],f32>
  %r = torch.aten.mul.Tensor %e, %b : !torch.vtensor<[4],f32>, !torch.vtensor<[4],f32> -> !torch.vtensor<[4],f32>
  return %r : !torch.vtensor<[4],f32>
}
"""
SCALED_SIGNATURE = Signature((F32, F32), (F32,))
"""`a.exp() * b`"""

CRASHING = """
func.func @main(%a: !torch.vtensor<[4],ui8>) -> !torch.vtensor<[4],ui8> {
  %two = torch.constant.int 2
  %b = torch.prim.NumToTensor.Scalar %two : !torch.int -> !torch.vtensor<[],si64>
  %floor = torch.constant.str "floor"
  %r = torch.aten.div.Tensor_mode %a, %b, %floor
    : !torch.vtensor<[4],ui8>, !torch.vtensor<[],si64>, !torch.str -> !torch.vtensor<[4],ui8>
  return %r : !torch.vtensor<[4],ui8>
}
"""
CRASHING_SIGNATURE = Signature((U8,), (U8,))
"""A segmentation fault inside the compiler."""

HANGING = """
func.func @main(%a: !torch.vtensor<[8,16],f32>, %b: !torch.vtensor<[8,16],i1>) -> !torch.vtensor<[?],f32> {
  %l = torch.prim.ListConstruct %b : (!torch.vtensor<[8,16],i1>) -> !torch.list<optional<vtensor>>
  %r = torch.aten.index.Tensor %a, %l
    : !torch.vtensor<[8,16],f32>, !torch.list<optional<vtensor>> -> !torch.vtensor<[?],f32>
  return %r : !torch.vtensor<[?],f32>
}
"""
HANGING_SIGNATURE = Signature(
    (TensorSpec("float32", (8, 16)), TensorSpec("bool", (8, 16))), (TensorSpec("float32", (None,)),)
)
"""The compiler does not come to an end."""
