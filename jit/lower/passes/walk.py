"""Enters an operation, leaves the operations nested in it, innermost first; a snapshot, so they may be replaced."""

from __future__ import annotations

from collections.abc import Iterator

from torch_mlir import ir


def nested(operation: ir.Operation) -> Iterator[ir.Operation]:
    for region in operation.regions:
        for block in region.blocks:
            for view in list(block.operations):
                yield from nested(view.operation)
                yield view.operation
