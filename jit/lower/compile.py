"""The compiler proper, run in a process of its own: enters a region as torch-dialect MLIR, leaves native code.

Never imports torch. Some inputs crash or hang the passes below, which is why nothing here runs in the user's process.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from torch_mlir import ir
from torch_mlir.dialects import torch as torch_dialect
from torch_mlir.passmanager import PassManager

from . import pipelines
from .abi import ENTRY, add_entry
from .object_code import to_object
from .passes.bfloat16_rounding import bfloat16_rounding
from .passes.double_to_half import double_to_half
from .passes.entry_allocas import entry_allocas
from .passes.private_inits import private_inits
from .passes.shape_checks import shape_checks
from .passes.sum_order import sum_order
from .signature import Artifact, Signature

Step: TypeAlias = str | Callable[[ir.Module], None]


def compile_module(text: str, signature: Signature, dump: bool) -> Artifact:
    """Raises `MLIRError` or `ValueError` with a readable message where a stage cannot lower the region."""
    with ir.Context() as context, ir.Location.unknown():
        torch_dialect.register_dialect(context)
        module = ir.Module.parse(text)
        stages = [("torch", text)] if dump else []
        for name, steps in _stages(signature):
            for step in steps:
                _apply(step, module)
            if dump:
                stages.append((name, str(module)))
        return Artifact(to_object(module), f"_mlir_ciface_{ENTRY}", tuple(stages))


def _stages(signature: Signature) -> tuple[tuple[str, tuple[Step, ...]], ...]:
    return (
        ("torch-backend", (pipelines.TO_BACKEND,)),
        ("linalg", (pipelines.TO_LINALG, shape_checks)),
        ("abi", (lambda module: add_entry(module, signature), pipelines.INLINE)),
        ("fused", (pipelines.FUSE, private_inits, sum_order)),
        ("memref", (pipelines.BUFFERIZE, entry_allocas)),
        ("loops", (pipelines.LOOPS, pipelines.HALF_PRECISION, double_to_half)),
        ("llvm", (pipelines.TO_LLVM, bfloat16_rounding)),
    )


def _apply(step: Step, module: ir.Module) -> None:
    match step:
        case str():
            PassManager.parse(step).run(module.operation)
        case _:
            step(module)
