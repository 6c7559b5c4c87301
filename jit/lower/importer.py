"""Enters a region's graph with fake values, leaves its torch-dialect text and what calling it takes."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch._ops import OpOverload
from torch.fx import Graph, GraphModule, Node
from torch.fx.experimental.symbolic_shapes import is_symbolic
from torch_mlir import ir
from torch_mlir.dialects import torch as torch_dialect
from torch_mlir.extras.fx_importer import FxImporter

from .likeness import likeness
from .planned import Region
from .signature import ScalarSpec, Signature, Spec, TensorSpec
from .sizes import output_shapes
from .support import tensors


@dataclass(frozen=True, slots=True)
class NotImported:
    ops: tuple[str, ...]


class RegionImporter:
    """Enters the regions of one graph. They share an MLIR context, whose making takes longer than a region; those that
    are alike, as a model's layers are, share a text.
    """

    def __init__(self) -> None:
        self._context = ir.Context()
        torch_dialect.register_dialect(self._context)
        self._texts: dict[str, str | None] = {}

    def enter(self, module: GraphModule) -> Region | NotImported:
        graph = module.graph
        inputs = [node.meta["val"] for node in graph.find_nodes(op="placeholder")]
        (output,) = graph.find_nodes(op="output")
        outputs = [node.meta["val"] for node in output.args[0]]
        ops = tuple(
            str(node.target) for node in graph.nodes if isinstance(node.target, OpOverload) and "added" not in node.meta
        )
        shapes = output_shapes(inputs, outputs)
        text = self._text(module)
        if shapes is None or text is None:
            return NotImported(ops)
        signature = Signature(tuple(map(_spec, inputs)), tuple(map(_tensor_spec, outputs)))
        return Region(text, signature, shapes, ops, _precisions(graph))

    def _text(self, module: GraphModule) -> str | None:
        alike = likeness(module.graph)
        if alike not in self._texts:
            self._texts[alike] = _imported(module, self._context)
        return self._texts[alike]


def _precisions(graph: Graph) -> tuple[torch.dtype, ...]:
    coarsest: dict[Node, torch.dtype] = {}
    for node in (node for node in graph.nodes if node.op == "call_function"):
        own = [value.dtype for value in tensors(node.meta["val"])]
        before = [coarsest[source] for source in node.all_input_nodes if source in coarsest]
        coarsest[node] = max((*own, *before), key=_rounding)
    (output,) = graph.find_nodes(op="output")
    return tuple(coarsest[node] for node in output.all_input_nodes)


def _rounding(dtype: torch.dtype) -> float:
    return torch.finfo(dtype).eps if dtype.is_floating_point else 0.0


def _imported(module: GraphModule, context: ir.Context) -> str | None:
    importer = FxImporter(context=context)
    try:
        importer.import_graph_module(module)
    except Exception:  # whatever its many branches raise, the region can do without
        return None
    return str(importer.module)


def _spec(value: object) -> Spec:
    match value:
        case torch.Tensor():
            return _tensor_spec(value)
        case _:  # sizes, and arithmetic on them
            return ScalarSpec("int64")


def _tensor_spec(value: torch.Tensor) -> TensorSpec:
    shape = tuple(None if is_symbolic(size) else int(size) for size in value.shape)
    dtype = str(value.dtype).removeprefix("torch.")
    if None in shape or value.is_contiguous():
        return TensorSpec(dtype, shape)
    return TensorSpec(dtype, shape, tuple(value.stride()))
