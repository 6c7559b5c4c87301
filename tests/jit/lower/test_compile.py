"""From torch-dialect MLIR to object code, in this process and without torch."""

from __future__ import annotations

import subprocess
import sys

import pytest

from fullgraph.jit.lower.signature import ScalarSpec, Signature, TensorSpec

pytestmark = pytest.mark.torch

SCALE = """
func.func @main(%x: !torch.vtensor<[?,4],f32>, %n: !torch.int) -> !torch.vtensor<[?,4],f32> {
  %r = torch.aten.mul.Scalar %x, %n : !torch.vtensor<[?,4],f32>, !torch.int -> !torch.vtensor<[?,4],f32>
  return %r : !torch.vtensor<[?,4],f32>
}
"""
ROWS = TensorSpec("float32", (None, 4))
SIGNATURE = Signature((ROWS, ScalarSpec("int64")), (ROWS,))


def test_leaves_an_elf_object_and_every_stage() -> None:
    from fullgraph.jit.lower.compile import compile_module

    artifact = compile_module(SCALE, SIGNATURE, dump=True)
    assert artifact.code.startswith(b"\x7fELF")
    assert artifact.entry.encode() in artifact.code
    assert [name for name, _ in artifact.stages] == [
        "torch", "torch-backend", "linalg", "abi", "fused", "schedule", "memref", "loops", "functions", "llvm",
    ]  # fmt: skip
    assert compile_module(SCALE, SIGNATURE, dump=False).stages == ()


def test_an_input_keeps_the_strides_of_the_signature() -> None:
    from fullgraph.jit.lower.compile import compile_module

    signature = Signature((TensorSpec("float32", (None, 4), (1, 8)), ScalarSpec("int64")), (ROWS,))
    stages = dict(compile_module(SCALE, signature, dump=True).stages)
    assert "memref<?x4xf32, strided<[1, 8]>>" in stages["abi"]


def test_what_no_stage_can_lower_is_a_readable_error() -> None:
    from torch_mlir.ir import MLIRError

    from fullgraph.jit.lower.compile import compile_module

    with pytest.raises(MLIRError, match="torch"):
        compile_module(SCALE.replace("aten.mul.Scalar", "aten.unheard_of"), SIGNATURE, dump=False)


def test_the_compiler_imports_no_torch() -> None:
    code = "import sys, fullgraph.jit.lower.compile; sys.exit('torch' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
