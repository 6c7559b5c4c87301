"""Moves gathers before, and concatenations after, element-wise calls: enters a graph, leaves one with less to compute
and to store in between.

A loop can't have what it computes read through indices, nor two of its results side by side, without writing all of it
to memory first.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import accumulate, pairwise
from typing import TypeAlias

import torch
from torch._ops import OpOverload
from torch.fx import Graph, Node
from torch.fx.node import Argument, map_arg

from .layout import memory_order
from .likeness import described

aten = torch.ops.aten
Replace: TypeAlias = Callable[[Node], Node]

MOVED = (aten.cat.default, aten.gather.default, aten.permute.default, aten.slice.Tensor)
MOST_PIECES = 4
"""A concatenation of more is left: each piece is a loop of its own."""


def move(graph: Graph) -> None:
    calls = Calls(graph)
    for node in list(graph.nodes):
        if node.target is aten.gather.default:
            _gather_first(calls, node)
    for node in list(graph.nodes):
        if node.target is aten.cat.default:
            _concatenate_last(calls, node)
    if calls.values:
        _erase_unused(graph)


@dataclass(frozen=True, slots=True)
class Calls:
    """New calls in a graph. What comes of like ones, as the layers of a model have them, is worked out once."""

    graph: Graph
    values: dict[str, object] = field(default_factory=dict)

    def add(self, target: OpOverload, arguments: tuple[Argument, ...]) -> Node:
        node = self.graph.call_function(target, arguments)
        likeness = f"{target} {map_arg(arguments, lambda source: described(source.meta['val']))}"
        if likeness not in self.values:
            self.values[likeness] = target(*map_arg(arguments, lambda source: source.meta["val"]))
        node.meta["val"] = self.values[likeness]
        return node

    def again(self, node: Node, replace: Replace) -> Node:
        """The same call of other inputs."""
        return self.add(node.target, map_arg(node.args, replace))  # type: ignore[arg-type]


def _erase_unused(graph: Graph) -> None:
    for node in reversed(graph.nodes):
        if not node.users and (_is_elementwise(node) or node.target in MOVED):
            graph.erase_node(node)


def _is_elementwise(node: Node) -> bool:
    return isinstance(node.target, OpOverload) and _is_pure_pointwise(node.target) and not node.kwargs


@cache
def _is_pure_pointwise(operator: OpOverload) -> bool:
    tags = operator.tags
    return (
        torch.Tag.pointwise in tags
        and torch.Tag.nondeterministic_seeded not in tags
        and not operator._schema.is_mutable
    )


def _shape(node: Node) -> list[int | torch.SymInt]:
    return list(node.meta["val"].shape)


def _layout(node: Node) -> tuple[object, ...]:
    return tuple(node.meta["val"].stride())


# --- Gathers.


def _gather_first(calls: Calls, gather: Node) -> None:
    source, dim, index = gather.args[:3]
    assert isinstance(source, Node) and isinstance(dim, int) and isinstance(index, Node)
    if not _is_elementwise(source) or not _shape(source):
        return
    rows, wanted = _shape(source), _shape(index)
    dim %= len(rows)
    rows[dim] = wanted[dim] = 1
    inputs = [_shape(node) for node in source.all_input_nodes]
    if rows != wanted or not all(shape == _shape(source) or shape in (rows, []) for shape in inputs):
        return
    gathers = []

    def gathered(node: Node) -> Node:
        if _shape(node) != _shape(source):
            return node
        gathers.append(calls.add(aten.gather.default, (node, dim, index)))
        return gathers[-1]

    with calls.graph.inserting_before(gather):
        result = calls.again(source, gathered)
    if _layout(result) == _layout(gather):
        gather.replace_all_uses_with(result)
        for moved in gathers:
            _gather_first(calls, moved)


# --- Concatenations.


def _concatenate_last(calls: Calls, concatenation: Node) -> None:
    last, pieces, dim = concatenation, _pieces(concatenation), _dim(concatenation)
    sizes = [_shape(piece)[dim] for piece in pieces]
    if not 1 < len(pieces) <= MOST_PIECES or not all(type(size) is int and size for size in sizes):
        return
    spans = list(pairwise(accumulate(map(int, sizes), initial=0)))
    while len(last.users) == 1 and _may_be_split(user := next(iter(last.users)), last):
        with calls.graph.inserting_before(user):
            pieces = [_part_of_user(calls, user, last, *part, dim) for part in zip(pieces, spans, strict=True)]
        last = user
    with calls.graph.inserting_before(last.next):
        moved = _concatenated(calls, pieces, dim, memory_order(last.meta["val"]) or range(len(_shape(last))))
    if last is not concatenation and _layout(moved) == _layout(last):  # or a view that follows would not be one
        last.replace_all_uses_with(moved)


def _pieces(concatenation: Node) -> list[Node]:
    """None if one of them is a vector without elements, which counts whatever its rank."""
    nodes = [node for node in concatenation.args[0] if isinstance(node, Node)]  # type: ignore[union-attr]
    return nodes if all(len(_shape(node)) == len(_shape(concatenation)) for node in nodes) else []


def _dim(concatenation: Node) -> int:
    """Counted from the end, as operands of lower rank are aligned."""
    dim = concatenation.args[1] if len(concatenation.args) > 1 else 0
    assert isinstance(dim, int)
    rank = len(_shape(concatenation))
    return dim % rank - rank


def _may_be_split(user: Node, whole: Node) -> bool:
    return _is_elementwise(user) and _shape(user) == _shape(whole)


def _part_of_user(calls: Calls, user: Node, whole: Node, piece: Node, span: tuple[int, int], dim: int) -> Node:
    return calls.again(user, lambda node: piece if node is whole else _part(calls, node, user, dim, span))


def _part(calls: Calls, node: Node, user: Node, dim: int, span: tuple[int, int]) -> Node:
    """What of a value goes with one piece; it is computed in parts too if nothing else wants all of it."""
    shape = _shape(node)
    if len(shape) < -dim or shape[dim] == 1:
        return node
    if _is_elementwise(node) and user in node.users and all(other is user or not other.users for other in node.users):
        return calls.again(node, lambda source: _part(calls, source, node, dim, span))
    return calls.add(aten.slice.Tensor, (node, dim, *span))


def _concatenated(calls: Calls, pieces: Sequence[Node], dim: int, order: Sequence[int]) -> Node:
    """The pieces side by side, with the dimensions in this order in memory."""
    if list(order) == sorted(order):
        return calls.add(aten.cat.default, (list(pieces), dim))
    outer = [calls.add(aten.permute.default, (piece, list(order))) for piece in pieces]
    whole = calls.add(aten.cat.default, (outer, list(order).index(dim % len(order))))
    return calls.add(aten.permute.default, (whole, [list(order).index(axis) for axis in range(len(order))]))
