"""Enters a plan, leaves bytes from which another process reads it: to split a graph and import its regions again would
take longer than all else that is done with what lies in the cache.

In bytes a graph is the Python that runs it. None of torch-mlir is needed to read a plan.
"""

from __future__ import annotations

import marshal
import math
import operator
from collections.abc import Mapping
from dataclasses import astuple
from types import CodeType
from typing import Any, TypeAlias

import torch
from torch._ops import OpOverload
from torch._subclasses import FakeTensor
from torch.fx import GraphModule, Node
from torch.nn import Module

from ..events import Left
from .likeness import likeness
from .planned import Plan, Region
from .signature import Signature, TensorSpec

NAMES = {"torch": torch, "device": torch.device, "inf": math.inf, "nan": math.nan}
"""What the Python of a graph of operators refers to."""
Data: TypeAlias = tuple[Any, ...]


def identity(module: GraphModule) -> str | None:
    """What decides the plan of a graph; None where more does than its text tells, as what is known of symbols."""
    return likeness(module.graph) if all(map(_is_plain, module.graph.nodes)) else None


def written(plan: Plan) -> bytes:
    """`plan` was made in this process."""
    assert isinstance(plan.graph, GraphModule)
    attributes = sorted({str(node.target).partition(".")[0] for node in plan.graph.graph.find_nodes(op="get_attr")})
    submodules = {name: _code(child) for name, child in plan.graph.named_children() if name not in attributes}
    regions = {name: _data(region) for name, region in plan.regions.items()}
    left = [(item.operator, str(item.reason), item.count) for item in plan.left]
    return marshal.dumps((_code(plan.graph), attributes, submodules, regions, left))


def read(kept: bytes, module: GraphModule) -> Plan:
    """The plan of a graph that has the identity of the one whose plan was written."""
    code, attributes, submodules, regions, left = marshal.loads(kept)
    members = {name: getattr(module, name) for name in attributes}
    members |= {name: Written(source, {}) for name, source in submodules.items()}
    return Plan(
        Written(code, members),
        {name: _region(*data) for name, data in regions.items()},
        tuple(Left(*data) for data in left),
    )


class Written(Module):
    """A graph of which only the Python that runs it is there, and the members that it asks for."""

    def __init__(self, code: CodeType, members: Mapping[str, Any]) -> None:
        super().__init__()
        names: dict[str, Any] = dict(NAMES)
        exec(code, names)
        self._run = names["forward"]
        for name, member in members.items():
            setattr(self, name, member)

    def forward(self, *arguments: Any) -> Any:
        return self._run(self, *arguments)


def _is_plain(node: Node) -> bool:
    is_known = node.op != "call_function" or node.target is operator.getitem or isinstance(node.target, OpOverload)
    return is_known and node.op not in ("call_module", "call_method") and _is_fixed(node.meta.get("val"))


def _is_fixed(value: object) -> bool:
    match value:
        case FakeTensor():
            sizes = (*value.shape, *value.stride()) if value.layout is torch.strided else (None,)
            return all(type(size) is int for size in sizes) and not value.is_neg()
        case tuple() | list():
            return all(map(_is_fixed, value))
        case _:
            return value is None


def _code(graph: Module) -> CodeType:
    assert isinstance(graph, GraphModule)
    return compile(graph.code, "<graph>", "exec")


def _data(region: Region) -> Data:
    precisions = tuple(str(dtype).removeprefix("torch.") for dtype in region.precisions)
    return region.text, astuple(region.signature), region.ops, precisions


def _region(text: str, signature: Data, ops: tuple[str, ...], precisions: tuple[str, ...]) -> Region:
    """Of fixed sizes: it has no arguments but tensors, whose outputs have the shapes of the signature."""
    inputs, outputs = (tuple(TensorSpec(*spec) for spec in specs) for specs in signature)
    shapes = [tuple(size for size in spec.shape if size is not None) for spec in outputs]
    dtypes = tuple(getattr(torch, name) for name in precisions)
    return Region(text, Signature(inputs, outputs), lambda arguments: shapes, ops, dtypes)
