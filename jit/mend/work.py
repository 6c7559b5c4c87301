"""In the child: counts what graphs compute, to see how much of a program is still compiled when a fix moves that.

Elements weigh more than operations: much of what surrounds a graph break computes a few indices.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import wraps
from typing import Any

import torch
from torch._dynamo import output_graph
from torch.utils import _pytree as pytree


@dataclass
class Work:
    """Elements of all results in graphs so far, counted each time that one runs."""

    elements: int = 0


@contextlib.contextmanager
def working() -> Iterator[Work]:
    """Until the context closes, graphs that are made are counted when they run."""
    graphs: Any = output_graph.OutputGraph
    original = graphs.call_user_compiler
    work = Work()

    def call_user_compiler(graph: Any, gm: torch.fx.GraphModule, example_inputs: Any) -> Callable[..., Any]:
        elements = sum(_elements(node.meta.get("example_value")) for node in gm.graph.nodes if node.op != "placeholder")
        compiled = original(graph, gm, example_inputs)

        @wraps(compiled)
        def run(*args: Any) -> Any:
            work.elements += elements
            return compiled(*args)

        return run

    graphs.call_user_compiler = call_user_compiler
    try:
        yield work
    finally:
        graphs.call_user_compiler = original


def _elements(value: Any) -> int:
    """Of all tensors in a value, with the sizes that were seen where these are symbolic."""
    sizes = (item.numel() for item in pytree.tree_leaves(value) if isinstance(item, torch.Tensor))
    return sum(size if isinstance(size, int) else size.node.hint or 0 for size in sizes)
