"""Moves gathers before, and concatenations after, element-wise calls: enters a graph, leaves one with less to compute
and to store in between.

A loop can't have what it computes read through indices, nor two of its results side by side, without writing all of it
to memory first.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate, pairwise
from typing import TypeAlias

import torch
from torch._ops import OpOverload
from torch.fx import Graph, Node
from torch.fx.node import Argument, map_arg

from .layout import memory_order

aten = torch.ops.aten
Replace: TypeAlias = Callable[[Node], Node]

MOST_PIECES = 4
"""A concatenation of more is left: each piece is a loop of its own."""


def move(graph: Graph) -> None:
    for node in list(graph.nodes):
        if node.target is aten.gather.default:
            _gather_first(graph, node)
    for node in list(graph.nodes):
        if node.target is aten.cat.default:
            _concatenate_last(graph, node)
    graph.eliminate_dead_code()


def _call(graph: Graph, target: OpOverload, arguments: tuple[Argument, ...]) -> Node:
    node = graph.call_function(target, arguments)
    node.meta["val"] = target(*map_arg(arguments, lambda source: source.meta["val"]))
    return node


def _again(graph: Graph, node: Node, replace: Replace) -> Node:
    """The same call of other inputs."""
    return _call(graph, node.target, map_arg(node.args, replace))  # type: ignore[arg-type]


def _is_elementwise(node: Node) -> bool:
    return isinstance(node.target, OpOverload) and torch.Tag.pointwise in node.target.tags and not node.kwargs


def _shape(node: Node) -> list[int | torch.SymInt]:
    return list(node.meta["val"].shape)


def _layout(node: Node) -> tuple[object, ...]:
    return tuple(node.meta["val"].stride())


# --- Gathers.


def _gather_first(graph: Graph, gather: Node) -> None:
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
        gathers.append(_call(graph, aten.gather.default, (node, dim, index)))
        return gathers[-1]

    with graph.inserting_before(gather):
        result = _again(graph, source, gathered)
    if _layout(result) == _layout(gather):
        gather.replace_all_uses_with(result)
        for moved in gathers:
            _gather_first(graph, moved)


# --- Concatenations.


def _concatenate_last(graph: Graph, concatenation: Node) -> None:
    last, pieces, dim = concatenation, _pieces(concatenation), _dim(concatenation)
    sizes = [_shape(piece)[dim] for piece in pieces]
    if not 1 < len(pieces) <= MOST_PIECES or not all(type(size) is int and size for size in sizes):
        return
    spans = list(pairwise(accumulate(map(int, sizes), initial=0)))
    while len(last.users) == 1 and _may_be_split(user := next(iter(last.users)), last):
        with graph.inserting_before(user):
            pieces = [_part_of_user(graph, user, last, *part, dim) for part in zip(pieces, spans, strict=True)]
        last = user
    with graph.inserting_before(last.next):
        moved = _concatenated(graph, pieces, dim, memory_order(last.meta["val"]) or range(len(_shape(last))))
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


def _part_of_user(graph: Graph, user: Node, whole: Node, piece: Node, span: tuple[int, int], dim: int) -> Node:
    return _again(graph, user, lambda node: piece if node is whole else _part(graph, node, user, dim, span))


def _part(graph: Graph, node: Node, user: Node, dim: int, span: tuple[int, int]) -> Node:
    """What of a value goes with one piece; it is computed in parts too if nothing else wants all of it."""
    shape = _shape(node)
    if len(shape) < -dim or shape[dim] == 1:
        return node
    if _is_elementwise(node) and user in node.users and all(other is user or not other.users for other in node.users):
        return _again(graph, node, lambda source: _part(graph, source, node, dim, span))
    return _call(graph, aten.slice.Tensor, (node, dim, *span))


def _concatenated(graph: Graph, pieces: Sequence[Node], dim: int, order: Sequence[int]) -> Node:
    """The pieces side by side, with the dimensions in this order in memory."""
    if list(order) == sorted(order):
        return _call(graph, aten.cat.default, (list(pieces), dim))
    outer = [_call(graph, aten.permute.default, (piece, list(order))) for piece in pieces]
    whole = _call(graph, aten.cat.default, (outer, list(order).index(dim % len(order))))
    return _call(graph, aten.permute.default, (whole, [list(order).index(axis) for axis in range(len(order))]))
