"""Takes from conversions the permission to contract them, by which rounding to half precision and back is left out."""

from __future__ import annotations

from torch_mlir import ir

from .walk import nested

CONVERSIONS = ("arith.extf", "arith.truncf")


def kept_rounding(module: ir.Module) -> None:
    for operation in nested(module.operation):
        if operation.name in CONVERSIONS and "fastmath" in operation.attributes:
            del operation.attributes["fastmath"]
