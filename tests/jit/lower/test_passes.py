"""The rewrites in Python, each on a small module."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

ir = pytest.importorskip("torch_mlir.ir")
PassManager = pytest.importorskip("torch_mlir.passmanager").PassManager

from fullgraph.jit.lower.passes.double_to_half import double_to_half  # noqa: E402
from fullgraph.jit.lower.passes.entry_allocas import entry_allocas  # noqa: E402
from fullgraph.jit.lower.passes.kept_rounding import kept_rounding  # noqa: E402
from fullgraph.jit.lower.passes.private_inits import private_inits  # noqa: E402
from fullgraph.jit.lower.passes.shape_checks import shape_checks  # noqa: E402
from fullgraph.jit.lower.passes.sum_order import sum_order  # noqa: E402
from fullgraph.jit.lower.passes.unshared_buffers import unshared_buffers  # noqa: E402
from fullgraph.jit.lower.passes.walk import nested  # noqa: E402

pytestmark = pytest.mark.torch

TWO_SUMS = """
func.func @main(%a: tensor<8x32xf32>, %b: tensor<8x32xf32>) -> (tensor<32xf32>, tensor<32xf32>) {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<32xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<32xf32>) -> tensor<32xf32>
  %x = linalg.reduce ins(%a : tensor<8x32xf32>) outs(%init : tensor<32xf32>) dimensions = [0]
    (%in: f32, %acc: f32) { %s = arith.addf %in, %acc : f32  linalg.yield %s : f32 }
  %y = linalg.reduce ins(%b : tensor<8x32xf32>) outs(%init : tensor<32xf32>) dimensions = [0]
    (%in: f32, %acc: f32) { %s = arith.addf %in, %acc : f32  linalg.yield %s : f32 }
  return %x, %y : tensor<32xf32>, tensor<32xf32>
}
"""
SIZES_DIFFER = """
func.func @main(%a: tensor<?xf32>, %b: tensor<?xf32>) {
  %0 = arith.constant 0 : index
  %m = tensor.dim %a, %0 : tensor<?xf32>
  %n = tensor.dim %b, %0 : tensor<?xf32>
  %same = arith.cmpi eq, %m, %n : index
  cf.assert %same, "mismatched size for broadcast"
  return
}
"""
INDEX_OUT_OF_BOUNDS = """
func.func @main(%a: tensor<4xi64>) {
  %0 = arith.constant 0 : index
  %i = tensor.extract %a[%0] : tensor<4xi64>
  %limit = arith.constant 4 : i64
  %inside = arith.cmpi slt, %i, %limit : i64
  cf.assert %inside, "index out of bounds"
  return
}
"""
BUFFER_IN_A_LOOP = """
func.func @main(%n: index) {
  %0 = arith.constant 0 : index
  %1 = arith.constant 1 : index
  scf.for %i = %0 to %n step %1 {
    %buffer = memref.alloca() : memref<4xf32>
    %sized = memref.alloca(%i) : memref<?xf32>
  }
  return
}
"""
NARROWING = """
func.func @main(%a: f64, %b: f32) -> (bf16, f16, f32, f16) {
  %0 = arith.truncf %a : f64 to bf16
  %1 = arith.truncf %a : f64 to f16
  %2 = arith.truncf %a : f64 to f32
  %3 = arith.truncf %b : f32 to f16
  return %0, %1, %2, %3 : bf16, f16, f32, f16
}
"""


SUM_OF_SUMS = """
func.func @main(%a: tensor<8xf32>, %init: tensor<f32>) -> tensor<f32> {
  %x = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> ()>],
      iterator_types = ["reduction"]} ins(%a : tensor<8xf32>) outs(%init : tensor<f32>) {
    ^bb0(%in: f32, %acc: f32):
      %term = arith.addf %in, %in : f32
      %sum = arith.addf %term, %acc : f32
      linalg.yield %sum : f32
  } -> tensor<f32>
  return %x : tensor<f32>
}
"""
ROUNDED = """
func.func @main(%a: f32) -> f32 {
  %0 = arith.truncf %a fastmath<contract> : f32 to bf16
  %1 = arith.extf %0 fastmath<contract> : bf16 to f32
  return %1 : f32
}
"""
TWO_BUFFERS = """
func.func @main(%given: memref<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %own = memref.alloc() : memref<4xf32>
  %x = bufferization.to_tensor %own : memref<4xf32> to tensor<4xf32>
  %y = bufferization.to_tensor %given : memref<4xf32> to tensor<4xf32>
  return %x, %y : tensor<4xf32>, tensor<4xf32>
}
"""


@pytest.fixture
def after() -> Iterator[Callable[..., list[str]]]:
    """The names of the operations that a rewrite leaves, in order, or their text."""
    with ir.Context(), ir.Location.unknown():

        def run(rewrite: Callable[..., None], text: str, whole: bool = False) -> list[str]:
            module = ir.Module.parse(text)
            rewrite(module)
            assert module.operation.verify()
            return [str(operation) if whole else operation.name for operation in nested(module.operation)]

        yield run


def test_reductions_do_not_share_what_they_start_from(after: Callable[..., list[str]]) -> None:
    names = after(private_inits, TWO_SUMS)
    assert names.count("linalg.fill") == 2
    assert names.count("tensor.empty") == 2


def test_sizes_need_no_check(after: Callable[..., list[str]]) -> None:
    assert "cf.assert" not in after(shape_checks, SIZES_DIFFER)


def test_a_check_of_data_is_refused(after: Callable[..., list[str]]) -> None:
    with pytest.raises(ValueError, match="index out of bounds"):
        after(shape_checks, INDEX_OUT_OF_BOUNDS)


def test_a_loop_does_not_grow_the_stack(after: Callable[..., list[str]]) -> None:
    names = after(entry_allocas, BUFFER_IN_A_LOOP)
    assert names[0] == "memref.alloca"
    assert names.count("memref.alloca") == 2


def test_terms_are_added_in_any_order_and_computed_as_written(after: Callable[..., list[str]]) -> None:
    term, total = (line for line in after(sum_order, SUM_OF_SUMS, whole=True) if line.startswith(("%3", "%2", "%1")))
    assert "fastmath" not in term
    assert "fastmath<reassoc>" in total


def test_double_becomes_half_by_way_of_single(after: Callable[..., list[str]]) -> None:
    operations = [
        line for line in after(double_to_half, NARROWING, whole=True) if "truncf" in line and "func" not in line
    ]
    assert [line.rpartition(" : ")[2] for line in operations] == [
        *("f64 to f32", "f32 to bf16", "f64 to f32", "f32 to f16", "f64 to f32", "f32 to f16"),
    ]


def test_only_a_buffer_of_its_own_is_unshared(after: Callable[..., list[str]]) -> None:
    lines = after(unshared_buffers, TWO_BUFFERS, whole=True)
    own, given = (line for line in lines if "to_tensor" in line and "func.func" not in line)
    assert " restrict " in own
    assert " restrict " not in given


def test_rounding_to_half_precision_stays(after: Callable[..., list[str]]) -> None:
    def simplified(module: ir.Module) -> None:
        PassManager.parse("builtin.module(canonicalize)").run(module.operation)

    def kept(module: ir.Module) -> None:
        kept_rounding(module)
        simplified(module)

    assert "arith.truncf" not in after(simplified, ROUNDED)
    assert "arith.truncf" in after(kept, ROUNDED)
