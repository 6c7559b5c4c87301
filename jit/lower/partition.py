"""Splits a functional ATen graph: enters the graph, leaves the same computation with regions for MLIR as submodules.

A region is a group of supported calls that nothing outside has to run in the middle of. It returns a tuple of fresh
contiguous tensors; views stay outside where they would cross its border, so aliasing among results is ATen's.
"""

from __future__ import annotations

import heapq
import operator
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeAlias

import torch
from torch._library.utils import is_impure
from torch._ops import OpOverload
from torch.fx import Graph, GraphModule, Node
from torch.fx._lazy_graph_module import _LazyGraphModule

from ..events import Left
from .layout import memory_order
from .movement import move
from .support import Reason, is_view, tensors

Refusal: TypeAlias = Callable[[Node], Reason | None]
Edges: TypeAlias = Mapping[Node, tuple[Node, ...]]

clone = torch.ops.aten.clone.default
expand = torch.ops.aten.expand.default
permute = torch.ops.aten.permute.default


@dataclass(frozen=True, slots=True)
class Partition:
    graph: GraphModule
    regions: Mapping[str, GraphModule]
    """Submodules of the graph, by name."""
    left: tuple[Left, ...]


def partition(module: GraphModule, refusal: Refusal) -> Partition:
    graph = copied(module.graph)
    move(graph)
    refused = {node: refusal(node) or _layout_hindrance(node) for node in graph.nodes if _is_operator(node)}
    _give_views_one_user(graph, refused)
    _leave_views_at_borders(graph, refused)
    sizes = _known_at_entry(graph)
    calls = _dependencies(graph, sizes)
    levels = _levels(calls, refused)
    while crossing := _views_between_levels(levels, refused):
        refused.update(dict.fromkeys(crossing, Reason.VIEW))
        levels = _levels(calls, refused)
    units = _units(calls, levels, refused)
    if copies := [node for unit in units if all(map(_only_copies, unit)) for node in unit]:
        refused.update({node: refused[node] or Reason.COPY for node in copies})
        units = _units(calls, levels, refused)
    split, regions = _rebuild(module, graph, sizes, _in_order(units, calls), refused, "region")
    return Partition(split, regions, _left(refused))


def set_apart(
    module: GraphModule, graph: Graph, groups: Sequence[Sequence[Node]]
) -> tuple[GraphModule, dict[str, GraphModule]]:
    """A graph that has the module's attributes, with each group of its calls as a region; all else stays as it is."""
    sizes = _known_at_entry(graph)
    calls = _dependencies(graph, sizes)
    inside = {node for group in groups for node in group}
    units = [*map(list, groups), *([node] for node in calls if node not in inside)]
    return _rebuild(module, graph, sizes, _in_order(units, calls), dict.fromkeys(inside), "product")


def extracted(group: Sequence[Node]) -> GraphModule:
    """A group of calls as the region that `set_apart` would make of it."""
    around = Graph()
    inputs = dict.fromkeys(source for node in group for source in node.all_input_nodes if source not in group)
    return _call_region(around, "product", list(group), {node: around.placeholder(node.name) for node in inputs})


def copied(graph: Graph) -> Graph:
    copy = Graph()
    copy.output(copy.graph_copy(graph, {}))
    return copy


def _is_operator(node: Node) -> bool:
    """A call, rather than arithmetic on sizes or one of the results of another call."""
    return node.op == "call_function" and node.target is not operator.getitem and _computes(node)


def _computes(node: Node) -> bool:
    return not isinstance(node.meta.get("val"), torch.SymInt | torch.SymFloat | torch.SymBool | int | float)


def _is_array(node: Node) -> bool:
    """Reading the same single number makes no two calls a region, or a learning rate would join all parameters."""
    value = node.meta.get("val")
    return isinstance(value, torch.Tensor) and value.ndim > 0


def _layout_hindrance(node: Node) -> Reason | None:
    if _is_view(node) or all(memory_order(value) is not None for value in tensors(node.meta.get("val"))):
        return None
    return Reason.LAYOUT


def _is_view(node: Node) -> bool:
    return isinstance(node.target, OpOverload) and is_view(node.target)


# --- Views: free outside a region, a copy at its border, and an alias that would be lost there.


def _give_views_one_user(graph: Graph, refused: dict[Node, Reason | None]) -> None:
    for node in reversed(graph.nodes):
        if _is_view(node) and refused[node] is None:
            for user in list(node.users)[1:]:
                with graph.inserting_before(node):
                    twin = graph.node_copy(node, lambda source: source)
                refused[twin] = None
                user.replace_input_with(node, twin)


def _leave_views_at_borders(graph: Graph, refused: dict[Node, Reason | None]) -> None:
    """A view of an input stays outside, but for an expansion, which a region reads better than its result."""

    def inside(node: Node) -> bool:
        return refused.get(_caller(node), Reason.VIEW) is None

    views = [node for node in graph.nodes if _is_view(node) and refused[node] is None]
    for node in views:
        if node.target is not expand and not inside(node.all_input_nodes[0]):
            refused[node] = Reason.VIEW
    for node in reversed(views):
        if not all(inside(user) for user in node.users):
            refused[node] = Reason.VIEW


def _views_between_levels(levels: Mapping[Node, int], refused: Mapping[Node, Reason | None]) -> list[Node]:
    return [
        node
        for node, level in levels.items()
        if _is_view(node) and refused[node] is None and any(levels.get(user) != level for user in node.users)
    ]


# --- Levels: the calls of one level are either all for MLIR or all for ATen, and no level reads from a later one.


def _caller(node: Node) -> Node:
    """The call that a node is a result of: what takes one of several results apart belongs to it."""
    while node.target is operator.getitem:
        node = node.all_input_nodes[0]
    return node


def _known_at_entry(graph: Graph) -> dict[Node, None]:
    """Constants and arithmetic on sizes of the inputs: no call has to run before them."""
    known: dict[Node, None] = {}
    for node in graph.nodes:
        free = all(source.op == "placeholder" or source in known for source in node.all_input_nodes)
        if node.op == "get_attr" or (node.op == "call_function" and free and not _computes(node)):
            known[node] = None
    return known


def _dependencies(graph: Graph, known: Mapping[Node, None]) -> Edges:
    """What each call waits for: its inputs and, to keep effects in order, what effects came before."""
    edges: dict[Node, tuple[Node, ...]] = {}
    effect: list[Node] = []
    barrier: list[Node] = []
    for node in graph.nodes:
        if node.op in ("placeholder", "output") or node in known or _caller(node) is not node:
            continue
        before = [caller for source in node.all_input_nodes if (caller := _caller(source)) in edges]
        if _has_effect(node):
            before += list(edges) if _writes(node) else effect
            effect = [node]
        edges[node] = tuple(dict.fromkeys([*before, *barrier]))
        if _writes(node):
            barrier = [node]
    return edges


def _has_effect(node: Node) -> bool:
    """Random calls have one: they advance the generator."""
    if isinstance(node.target, OpOverload):
        return _operator_has_effect(node.target)
    return _computes(node) and node.op != "call_module"  # a region that was set apart has none


@cache
def _operator_has_effect(operator: OpOverload) -> bool:
    return torch.Tag.nondeterministic_seeded in operator.tags or is_impure(operator)


def _writes(node: Node) -> bool:
    return isinstance(node.target, OpOverload) and node.target._schema.is_mutable


def _levels(calls: Edges, refused: Mapping[Node, Reason | None]) -> dict[Node, int]:
    """As late as their users allow, so that a call does not become a region of its own long before it is needed."""

    def native(node: Node) -> bool:
        return refused.get(node, Reason.NOT_ATEN) is None

    levels: dict[Node, int] = {}
    users: dict[Node, list[Node]] = {node: [] for node in calls}
    for node, before in calls.items():
        levels[node] = max((levels[source] + (native(source) != native(node)) for source in before), default=0)
        for source in before:
            users[source].append(node)
    for node in reversed(list(calls)):
        if native(node) and users[node]:
            levels[node] = max(levels[node], min(levels[user] - (not native(user)) for user in users[node]))
    return levels


# --- Units: one ATen call each, or one region: calls of one level that pass tensors on or read the same ones.


def _units(calls: Edges, levels: Mapping[Node, int], refused: Mapping[Node, Reason | None]) -> list[list[Node]]:
    leader: dict[Node, Node] = {node: node for node in calls}

    def find(node: Node) -> Node:
        while leader[node] is not node:
            node = leader[node]
        return node

    native = {node for node in calls if refused.get(node, Reason.NOT_ATEN) is None}
    readers: dict[tuple[Node, int], Node] = {}
    for node in calls:
        if node in native:
            for source in node.all_input_nodes:
                caller, level = _caller(source), levels[node]
                if caller in native and levels[caller] == level:
                    leader[find(node)] = find(caller)
                elif _is_array(source):
                    leader[find(node)] = find(readers.setdefault((source, level), node))
    units: dict[Node, list[Node]] = {}
    for node in calls:
        units.setdefault(find(node), []).append(node)
    return [[head] if head not in native else members for head, members in units.items()]


def _in_order(units: Iterable[list[Node]], calls: Edges) -> Iterator[list[Node]]:
    """Each after what it waits for, otherwise as the graph had them."""
    unit_of = {node: tuple(unit) for unit in units for node in unit}
    position = {node: i for i, node in enumerate(calls)}
    waits = {unit: {unit_of[source] for node in unit for source in calls[node]} - {unit} for unit in unit_of.values()}
    users: dict[tuple[Node, ...], list[tuple[Node, ...]]] = {unit: [] for unit in waits}
    for unit, before in waits.items():
        for source in before:
            users[source].append(unit)
    ready = [(position[unit[-1]], unit) for unit, before in waits.items() if not before]
    heapq.heapify(ready)
    while ready:
        _, unit = heapq.heappop(ready)
        yield list(unit)
        for user in users[unit]:
            waits[user].discard(unit)
            if not waits[user]:
                heapq.heappush(ready, (position[user[-1]], user))


def _only_copies(node: Node) -> bool:
    """ATen does as well, and what it needs for that is compiled already."""
    return node.target is clone or _is_view(node)


# --- The new graph.


def _rebuild(
    module: GraphModule,
    graph: Graph,
    known: Iterable[Node],
    units: Iterable[list[Node]],
    refused: Mapping[Node, Reason | None],
    prefix: str,
) -> tuple[GraphModule, dict[str, GraphModule]]:
    split = Graph()
    new: dict[Node, Node] = {}
    regions: dict[str, GraphModule] = {}

    def copy(node: Node) -> None:
        new[node] = split.node_copy(node, new.__getitem__)

    for node in [*graph.find_nodes(op="placeholder"), *known]:
        copy(node)
    for unit in units:
        if refused.get(unit[0], Reason.NOT_ATEN) is None:
            name = f"{prefix}_{len(regions)}"
            regions[name] = _call_region(split, name, _with_results(unit), new)
        else:
            for node in _with_results(unit):
                copy(node)
    (output,) = graph.find_nodes(op="output")
    copy(output)
    return GraphModule(_attributes(module, graph) | regions, split), regions


def _with_results(unit: list[Node]) -> list[Node]:
    """The calls and what takes their results apart."""
    nodes: list[Node] = []
    for node in unit:
        nodes.append(node)
        nodes += _with_results([user for user in node.users if user.target is operator.getitem])
    return nodes


def _call_region(split: Graph, name: str, members: list[Node], new: dict[Node, Node]) -> GraphModule:
    """Add the call of a region to the new graph; `new` learns where its results are found there."""
    body = Graph()
    inner: dict[Node, Node] = {}
    inside = set(members)
    inputs = dict.fromkeys(source for node in members for source in node.all_input_nodes if source not in inside)
    for source in inputs:
        inner[source] = body.placeholder(source.name)
        inner[source].meta["val"] = source.meta["val"]
    for node in members:
        inner[node] = body.node_copy(node, inner.__getitem__)
    outputs = [node for node in members if not inside.issuperset(node.users)]
    packed = []
    call = split.call_module(name, tuple(new[source] for source in inputs))
    for i, node in enumerate(outputs):
        order = memory_order(node.meta["val"]) or ()
        packed.append(_permuted(body, inner[node], order))
        result = split.call_function(operator.getitem, (call, i))
        result.meta["val"] = packed[-1].meta["val"]
        new[node] = _permuted(split, result, tuple(order.index(dim) for dim in range(len(order))))
    body.output(tuple(packed))
    call.meta["val"] = tuple(node.meta["val"] for node in packed)
    return _LazyGraphModule({}, body, name)  # most regions never run as a graph, and writing its code takes long


def _permuted(graph: Graph, node: Node, order: tuple[int, ...]) -> Node:
    if order == tuple(range(len(order))):
        return node
    view = graph.call_function(permute, (node, list(order)))
    view.meta.update(val=permute(node.meta["val"], list(order)), added=True)
    return view


def _attributes(module: GraphModule, graph: Graph) -> dict[str, Any]:
    targets = {str(node.target) for node in graph.nodes if node.op in ("get_attr", "call_module")}
    return {target: operator.attrgetter(target)(module) for target in sorted(targets)}


def _left(refused: Mapping[Node, Reason | None]) -> tuple[Left, ...]:
    """Each view counts once, however many users it was copied for."""
    calls = {
        (str(node.target), reason, repr(node.args) if _is_view(node) else node.name): None
        for node, reason in refused.items()
        if reason is not None
    }
    counts = Counter((target, reason) for target, reason, _ in calls)
    return tuple(Left(target, reason, count) for (target, reason), count in sorted(counts.items()))
