"""The compiler proper, run in a process of its own: enters a region as torch-dialect MLIR, leaves native code.

Never imports torch. Some inputs crash or hang the passes below, which is why nothing here runs in the user's process.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TypeAlias

from torch_mlir import ir
from torch_mlir._mlir_libs import _torchMlir as torch_dialect  # without the thousands of classes of its operators
from torch_mlir.passmanager import PassManager

from . import pipelines
from .abi import add_entry
from .object_code import to_object
from .passes.bfloat16_rounding import bfloat16_rounding
from .passes.concatenation import concatenation
from .passes.double_to_half import double_to_half
from .passes.entry_allocas import entry_allocas
from .passes.kept_rounding import kept_rounding
from .passes.outlined_loops import outlined_loops
from .passes.plain_arguments import CALLED, plain_arguments
from .passes.private_inits import private_inits
from .passes.shape_checks import shape_checks
from .passes.sum_order import sum_order
from .passes.threads import threads
from .passes.unshared_buffers import unshared_buffers
from .passes.vector_math import vector_math
from .passes.vector_width import vector_width
from .passes.written_out import written_out
from .product_schedule import FUSE, VECTORS, is_product, registers, schedule_product
from .schedule import schedule
from .signature import Artifact, Signature

Step: TypeAlias = str | Callable[[ir.Module], None]
Stages: TypeAlias = tuple[tuple[str, tuple[Step, ...]], ...]


def compile_module(text: str, signature: Signature, dump: bool) -> Artifact:
    """Raises `MLIRError` or `ValueError` with a readable message where a stage cannot lower the region."""
    with ir.Context() as context, ir.Location.unknown():
        torch_dialect.register_dialect(context)
        module = ir.Module.parse(text)
        stages = [("torch", text)]
        if is_product(text):
            _run(_product_to_loops(signature), module, stages, dump)
            return Artifact(to_object(module), CALLED, tuple(stages) if dump else ())
        _run(_to_linalg(signature), module, stages, dump)
        plain = str(module)
        try:
            _run(_to_fast_loops(signature), module, stages, dump)
            code = to_object(module)
        except (ir.MLIRError, ValueError):
            module, stages = ir.Module.parse(plain), stages[: 1 + len(_to_linalg(signature))]
            _run(_to_plain_loops(signature), module, stages, dump)
            code = to_object(module)
        return Artifact(code, CALLED, tuple(stages) if dump else ())


def _run(steps: Stages, module: ir.Module, stages: list[tuple[str, str]], dump: bool) -> None:
    for name, rewrites in steps:
        for rewrite in rewrites:
            _apply(rewrite, module)
        if dump:
            stages.append((name, str(module)))


def _to_linalg(signature: Signature) -> Stages:
    return (
        ("torch-backend", (pipelines.TO_BACKEND,)),
        ("linalg", (pipelines.TO_LINALG, shape_checks, pipelines.SCANS, unshared_buffers)),
        ("abi", (partial(add_entry, signature=signature), pipelines.INLINE)),
        ("fused", (pipelines.FUSE, sum_order)),
    )


def _to_fast_loops(signature: Signature) -> Stages:
    return (
        ("schedule", (concatenation, schedule, pipelines.TIDY, private_inits)),
        ("memref", (pipelines.BUFFERIZE, partial(outlined_loops, signature=signature), entry_allocas)),
        ("loops", (pipelines.LOOPS, pipelines.HALF_PRECISION, kept_rounding, double_to_half)),
        ("functions", (written_out, pipelines.INLINE, vector_math)),
        ("llvm", (pipelines.TO_LLVM, threads, vector_width, *_last(signature))),
    )


def _product_to_loops(signature: Signature) -> Stages:
    """There are no plain loops for what this cannot schedule: ATen's kernels are better."""
    *to_linalg, _ = _to_linalg(signature)
    return (
        *to_linalg,
        ("fused", (FUSE,)),
        ("schedule", (schedule_product, pipelines.TIDY, private_inits)),
        ("memref", (pipelines.BUFFERIZE, partial(outlined_loops, signature=signature), entry_allocas)),
        ("loops", (pipelines.LOOPS,)),
        ("functions", (written_out, pipelines.INLINE, vector_math)),
        ("llvm", (registers, VECTORS, pipelines.TO_LLVM, threads, vector_width, *_last(signature))),
    )


def _to_plain_loops(signature: Signature) -> Stages:
    """For what cannot be scheduled: one loop nest for each operation."""
    return (
        ("memref", (private_inits, pipelines.BUFFERIZE, entry_allocas)),
        ("loops", (pipelines.LOOPS, pipelines.HALF_PRECISION, kept_rounding, double_to_half)),
        ("llvm", (pipelines.TO_LLVM, *_last(signature))),
    )


def _last(signature: Signature) -> tuple[Step, ...]:
    return bfloat16_rounding, partial(plain_arguments, signature=signature)


def _apply(step: Step, module: ir.Module) -> None:
    match step:
        case str():
            PassManager.parse(step).run(module.operation)
        case _:
            step(module)
