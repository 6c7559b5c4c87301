"""Finds matrix products that may be computed together with what follows them: enters a functional ATen graph and a
choice for each, leaves the graph with those chosen set apart as regions.

What follows a product is its epilogue: element-wise calls that only they themselves and one last result lead out of. It
belongs to the product unless native code reads that result too, which then has the epilogue in it anyway.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import prod
from typing import TypeAlias

import torch
from torch._ops import OpOverload
from torch.fx import Graph, GraphModule, Node
from torch.fx.node import map_arg

from .partition import Refusal, copied, extracted, set_apart
from .support import dtype_pattern, is_dynamic, is_view, tensors

Choose: TypeAlias = Callable[[GraphModule], bool]
"""Whether a product and its epilogue, computed by ATen in this graph, are to be a region."""

aten = torch.ops.aten
PRODUCTS = frozenset({aten.mm.default, aten.addmm.default, aten.bmm.default})
TRANSPOSITIONS = frozenset({aten.permute.default, aten.t.default, aten.transpose.int})
view = aten.view.default
MOST = 1 << 28
"""Multiplications. One product of more takes longer than all that a choice may cost."""


@dataclass(frozen=True, slots=True)
class ShapeClass:
    """Products among which one choice is made. Sizes are exact, as native code is made for no others."""

    operator: str
    sizes: tuple[tuple[int, ...], tuple[int, ...]]
    """Of the two operands."""
    transposed: tuple[bool, bool]
    epilogue: tuple[str, ...]

    def __str__(self) -> str:
        operands = (
            f"{'x'.join(map(str, size))}{'ᵀ' * own}" for size, own in zip(self.sizes, self.transposed, strict=True)
        )
        return " ".join([f"{self.operator} {' @ '.join(operands)}", *(f"+ {name}" for name in self.epilogue)])


def shape_class(product: GraphModule) -> ShapeClass:
    """Of a graph of one product, as it is chosen."""
    calls = [node for node in product.graph.nodes if isinstance(node.target, OpOverload)]
    (head,) = (node for node in calls if node.target in PRODUCTS)
    first, second = _operands(head)
    others = calls[calls.index(head) + 1 :]
    return ShapeClass(
        _name(head),
        (tuple(map(int, first.meta["val"].shape)), tuple(map(int, second.meta["val"].shape))),
        (not first.meta["val"].is_contiguous(), not second.meta["val"].is_contiguous()),
        tuple(map(_name, others)),
    )


def products_apart(module: GraphModule, refusal: Refusal, choose: Choose) -> tuple[GraphModule, dict[str, GraphModule]]:
    """The same graph and no regions if none is chosen."""
    graph = copied(module.graph)
    graph.owning_module = module
    _view_last(graph, refusal)
    groups = [group for group in _groups(graph, refusal) if choose(extracted(group))]
    return set_apart(module, graph, groups) if groups else (module, {})


# --- A product of matrices is often seen as a tensor of more dimensions before the epilogue.


def _view_last(graph: Graph, refusal: Refusal) -> None:
    """Have element-wise calls of such views take the product itself, and view what they give."""
    flat: dict[Node, Node] = {}
    for node in list(graph.nodes):
        if node.target is view and _keeps_columns(node) and _is_product(source := node.args[0]):
            flat[node] = source
        elif any(source in flat for source in node.all_input_nodes) and _is_epilogue(node, node, refusal):
            flat[node] = _flat_call(graph, node, flat)
    for node, source in flat.items():
        if node.target is not view:
            with graph.inserting_after(source):
                whole = graph.call_function(view, (source, list(node.meta["val"].shape)))
            whole.meta["val"] = node.meta["val"]
            node.replace_all_uses_with(whole)
            for user in list(whole.users):
                if user.target is view and user.meta["val"].shape == source.meta["val"].shape:
                    user.replace_all_uses_with(source)
    graph.eliminate_dead_code()


def _keeps_columns(node: Node) -> bool:
    before, after = node.all_input_nodes[0].meta["val"], node.meta["val"]
    return bool(before.ndim == 2 and after.ndim > 2 and before.shape[-1] == after.shape[-1])


def _flat_call(graph: Graph, node: Node, flat: dict[Node, Node]) -> Node:
    shape = [prod(node.meta["val"].shape[:-1]), node.meta["val"].shape[-1]]

    def flattened(source: Node) -> Node:
        value = source.meta["val"]
        if source in flat:
            return flat[source]
        if value.ndim < 2:
            return source
        viewed = graph.call_function(view, (source, shape))
        viewed.meta["val"] = view(value, shape)
        return viewed

    with graph.inserting_before(node):
        call = graph.call_function(node.target, *map_arg((node.args, node.kwargs), flattened))  # type: ignore[arg-type]
    call.meta["val"] = view(node.meta["val"], shape)
    return call


# --- What is chosen about.


def _groups(graph: Graph, refusal: Refusal) -> Iterator[list[Node]]:
    position = {node: i for i, node in enumerate(graph.nodes)}
    taken: set[Node] = set()
    for product in [node for node in graph.nodes if _is_product(node)]:
        group = [product, *_epilogue(product, position, taken, refusal)]
        taken.update(group)
        yield [*_transpositions(graph, product), *group]


def _is_product(node: object) -> bool:
    if not isinstance(node, Node) or node.target not in PRODUCTS or not _is_plain(node):
        return False
    first, second = (operand.meta["val"].shape for operand in _operands(node))
    return 0 < prod(map(int, first)) * int(second[-1]) <= MOST


def _is_plain(node: Node) -> bool:
    values = [value for source in (*node.all_input_nodes, node) for value in tensors(source.meta.get("val"))]
    return (
        len(values) == len(node.all_input_nodes) + 1
        and dtype_pattern(node) == "f32>f32"
        and not is_dynamic(node)
        and all(value.device.type == "cpu" and value.layout is torch.strided for value in values)
        and node.meta["val"].is_contiguous()
    )


def _operands(product: Node) -> tuple[Node, Node]:
    first, second = product.args[-2:]
    assert isinstance(first, Node)
    assert isinstance(second, Node)
    return first, second


def _epilogue(product: Node, position: dict[Node, int], taken: set[Node], refusal: Refusal) -> list[Node]:
    """The longest that only its last call leads out of."""
    members, longest = [product], [product]
    while True:
        readers = {user for node in members for user in node.users} - set(members)
        node = min(readers, key=position.__getitem__, default=None)
        if node is None or node in taken or not _is_epilogue(node, product, refusal):
            break
        members.append(node)
        if sum(not set(members).issuperset(node.users) for node in members) == 1:
            longest = list(members)
    return longest[1:] if not any(_computes_natively(user, refusal) for user in longest[-1].users) else []


def _is_epilogue(node: Node, product: Node, refusal: Refusal) -> bool:
    """Element-wise, and of the shape of the product; so are its inputs, or they are the same for all rows."""
    if not isinstance(node.target, OpOverload) or torch.Tag.pointwise not in node.target.tags or not _is_plain(node):
        return False
    shape = product.meta["val"].shape
    shapes = [source.meta["val"].shape for source in node.all_input_nodes]
    return (
        node.meta["val"].shape == shape
        and all(own == shape or len(own) < 2 for own in shapes)
        and all(source.meta["val"].is_contiguous() for source in node.all_input_nodes)
        and refusal(node) is None
    )


def _computes_natively(node: Node, refusal: Refusal) -> bool:
    if not isinstance(node.target, OpOverload):
        return False
    if is_view(node.target):
        return any(_computes_natively(user, refusal) for user in node.users)
    return refusal(node) is None


def _transpositions(graph: Graph, product: Node) -> Iterator[Node]:
    """Of its operands: native code reads what is transposed as it lies in memory."""
    for operand in dict.fromkeys(_operands(product)):
        source = next(iter(operand.all_input_nodes), None)
        if operand.target not in TRANSPOSITIONS or source is None or not source.meta["val"].is_contiguous():
            continue
        if len(operand.users) > 1:
            with graph.inserting_before(product):
                twin = graph.node_copy(operand, lambda source: source)
            product.replace_input_with(operand, twin)
            operand = twin
        yield operand


def _name(call: Node) -> str:
    assert isinstance(call.target, OpOverload)
    return str(call.target.overloadpacket.__name__)
