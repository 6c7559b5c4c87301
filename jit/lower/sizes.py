"""Enters the fake inputs and outputs of a region, leaves a function from its arguments to the sizes of its outputs."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TypeAlias

import sympy  # type: ignore[import-untyped]
import torch
from torch.utils._sympy.printers import PythonPrinter

Size: TypeAlias = int | torch.SymInt
Shapes: TypeAlias = list[tuple[int, ...]]
Places: TypeAlias = dict[sympy.Expr, str]
"""How a size is read from the arguments, in Python."""
OutputShapes: TypeAlias = Callable[[Sequence[object]], Shapes]


def output_shapes(inputs: Sequence[object], outputs: Sequence[torch.Tensor]) -> OutputShapes | None:
    """None where a size depends on something that no argument shows."""
    places = _places(inputs)
    shapes = [[_text(_expression(size), places) for size in output.shape] for output in outputs]
    if any(size is None for shape in shapes for size in shape):
        return None
    text = ", ".join(f"({''.join(f'{size}, ' for size in shape)})" for shape in shapes)
    function: OutputShapes = eval(f"lambda arguments: [{text}]", {"math": math})
    return function


def _text(size: sympy.Expr, places: Places) -> str | None:
    """Python that computes the size; None where a part of it is nowhere to be read."""
    if size in places:
        return places[size]
    if not size.free_symbols <= places.keys():
        return None
    names = {symbol: sympy.Symbol(places[symbol], integer=True) for symbol in size.free_symbols}
    return f"int({PythonPrinter().doprint(size.xreplace(names))})"


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
            text = f"arguments[{argument}]"
            places.setdefault(_expression(size), text if dim is None else f"{text}.shape[{dim}]")
    return places


def _expression(size: Size) -> sympy.Expr:
    return size.node.expr if isinstance(size, torch.SymInt) else sympy.Integer(size)
