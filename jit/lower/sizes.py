"""Enters the fake inputs and outputs of a region, leaves a function from its arguments to the sizes of its outputs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeAlias

import sympy  # type: ignore[import-untyped]
import torch
from torch.utils._sympy.interp import sympy_interp
from torch.utils._sympy.reference import PythonReferenceAnalysis

Size: TypeAlias = int | torch.SymInt
Shapes: TypeAlias = list[tuple[int, ...]]
Places: TypeAlias = dict[sympy.Expr, tuple[int, int | None]]
"""Where a size can be read: an argument, and the dimension if it is a tensor."""
OutputShapes: TypeAlias = Callable[[Sequence[object]], Shapes]


def output_shapes(inputs: Sequence[object], outputs: Sequence[torch.Tensor]) -> OutputShapes | None:
    """None where a size depends on something that no argument shows."""
    shapes = [tuple(_expression(size) for size in output.shape) for output in outputs]
    if all(size.is_Integer for shape in shapes for size in shape):
        return partial(_constant, [tuple(int(size) for size in shape) for shape in shapes])
    places = _places(inputs)
    if not all(size in places or size.free_symbols <= places.keys() for shape in shapes for size in shape):
        return None
    return partial(_computed, shapes, places)


def _constant(shapes: Shapes, _arguments: Sequence[object]) -> Shapes:
    return shapes


def _computed(shapes: list[tuple[sympy.Expr, ...]], places: Places, arguments: Sequence[object]) -> Shapes:
    known = {expression: _read(arguments[argument], dim) for expression, (argument, dim) in places.items()}
    return [
        tuple(
            known[size] if size in known else int(sympy_interp(PythonReferenceAnalysis, known, size)) for size in shape
        )
        for shape in shapes
    ]


def _read(argument: Any, dim: int | None) -> int:
    return int(argument if dim is None else argument.shape[dim])


def _places(inputs: Sequence[object]) -> Places:
    places: Places = {}
    for argument, value in enumerate(inputs):
        sizes: list[tuple[Size, int | None]] = []
        match value:
            case torch.Tensor():
                sizes = [(size, dim) for dim, size in enumerate(value.shape)]
            case torch.SymInt():
                sizes = [(value, None)]
        for size, dim in sizes:
            places.setdefault(_expression(size), (argument, dim))
    return places


def _expression(size: Size) -> sympy.Expr:
    return size.node.expr if isinstance(size, torch.SymInt) else sympy.Integer(size)
