"""Enters graphs with fake values, leaves texts that are equal where the graphs are alike."""

from __future__ import annotations

import torch
from torch.fx import Graph
from torch.fx.node import map_arg


def likeness(graph: Graph) -> str:
    """The graph without the names of its nodes."""
    numbers = {node: f"%{number}" for number, node in enumerate(graph.nodes)}
    return "\n".join(
        f"{node.op} {'' if node.op == 'placeholder' else node.target} {map_arg(node.args, numbers.__getitem__)} "
        f"{map_arg(node.kwargs, numbers.__getitem__)} {described(node.meta.get('val'))}"
        for node in graph.nodes
    )


def described(value: object) -> str:
    """What values that are alike have in common."""
    match value:
        case torch.Tensor():
            return f"{value.dtype}{tuple(value.shape)}{value.stride()}{value.device}"
        case tuple() | list():
            return f"({', '.join(map(described, value))})"
        case _:
            return repr(value)
