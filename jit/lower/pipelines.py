"""The pass pipelines between the Python rewrites, as text: a constant for each step from torch's dialect to LLVM's."""

from __future__ import annotations


def _module(*passes: str) -> str:
    return f"builtin.module({','.join(passes)})"


def _function(*passes: str) -> str:
    return f"func.func({','.join(passes)})"


TO_BACKEND = _module("torchdynamo-export-to-torch-backend-pipeline{extra-library=}")
TO_LINALG = _module("torch-backend-to-linalg-on-tensors-backend-pipeline{allow-non-finites=true}")

# A scan becomes loops over memory at once, because no other pass knows its dialect.
SCANS = _module(_function("tm-tensor-bufferize", "tm-tensor-to-loops"))

INLINE = _module("inline", "symbol-dce")

FUSE = _module(
    _function(
        "refback-generalize-tensor-pad",
        "refback-generalize-tensor-concat",
        "linalg-fold-unit-extent-dims",
        "canonicalize",
        "cse",
        "linalg-fuse-elementwise-ops",
        "canonicalize",
        "cse",
    )
)

TIDY = _module(_function("canonicalize", "cse"))

BUFFERIZE = _module(
    "eliminate-empty-tensors",
    "one-shot-bufferize{allow-return-allocs-from-loops bufferize-function-boundaries "
    "function-boundary-type-conversion=identity-layout-map}",
    "refback-mlprogram-bufferize",
    _function("promote-buffers-to-stack{max-alloc-size-in-bytes=32768}", "buffer-deallocation-pipeline"),
)

# memref.copy would need a runtime library that no wheel carries: it becomes a linalg.generic.
LOOPS = _module(
    _function(
        "refback-munge-memref-copy",
        "convert-linalg-to-loops",
        "scf-forall-to-for",
        "canonicalize",
        "cse",
    )
)

# Half precision is computed in float32 and rounded after every operation, as ATen does.
HALF_PRECISION = _module(
    _function("math-extend-to-supported-types{target-type=f32}"),
    "arith-emulate-unsupported-floats{source-types=bf16,f16 target-type=f32}",
)

TO_LLVM = _module(
    _function(
        "expand-strided-metadata",
        "lower-affine",
        "convert-scf-to-cf",
        "arith-expand{include-bf16=true}",
        "convert-math-to-llvm",
    ),
    "convert-math-to-libm",
    "convert-to-llvm",
    "reconcile-unrealized-casts",
)
