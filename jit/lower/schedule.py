"""Tiles and fuses: enters the entry function on tensors, leaves it with a loop nest for each group of operations.

A group is an operation and what computes its inputs row by row: all of a row stays in the innermost cache. What is
tiled by how much is planned here and carried out by a script in the transform dialect.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from torch_mlir import ir
from torch_mlir.dialects.transform import interpreter

from .abi import ENTRY

TILE = 4096
"""Elements that one step of a loop nest computes, if a row is not longer."""
UNKNOWN = 512
"""What a symbolic size is taken for."""
TAG = "fullgraph.schedule"
STRUCTURED = "!transform.any_op"


@dataclass(frozen=True, slots=True)
class Nest:
    """A structured operation: its loops, and by which of them each operand is indexed."""

    operation: ir.Operation
    parallel: tuple[bool, ...]
    maps: tuple[ir.AffineMap, ...]
    sizes: tuple[int | None, ...]
    """Of the loops; None for a symbolic one."""

    def axes(self, operand: int) -> tuple[int | None, ...]:
        """For each dimension of an operand the loop that runs over it, None where that is not one loop."""
        return tuple(_loop(result) for result in self.maps[operand].results)

    @property
    def result_axes(self) -> tuple[int | None, ...]:
        return self.axes(len(self.maps) - 1)


@dataclass(slots=True)
class Group:
    """`members` are the last operation and its producers, each with the loops that run over the rows."""

    members: dict[ir.Operation, tuple[int, ...]]
    tiles: list[int] = field(default_factory=list)


def schedule(module: ir.Module) -> None:
    entry = next(op for op in module.body.operations if ir.StringAttr(op.attributes["sym_name"]).value == ENTRY)
    groups = list(_groups(nests(entry)))
    if groups:
        script = ir.Module.parse("\n".join(_script(groups)))
        interpreter.apply_named_sequence(module, script.body.operations[0], script)


# --- What can be scheduled.


def nests(function: ir.OpView) -> dict[ir.Operation, Nest]:
    """The structured operations of a function, in order."""
    operations = (op.operation for op in function.regions[0].blocks[0].operations)
    return {nest.operation: nest for operation in operations if (nest := _nest(operation))}


def _nest(operation: ir.Operation) -> Nest | None:
    if len(operation.results) != 1 and operation.name != "linalg.generic":
        return None
    match operation.name:
        case "linalg.fill":
            rank = ir.RankedTensorType(operation.results[0].type).rank
            maps = [ir.AffineMap.get(rank, 0, []), ir.AffineMap.get_identity(rank)]
            parallel = [True] * rank
        case "linalg.generic":
            attributes = operation.attributes
            maps = [ir.AffineMapAttr(item).value for item in ir.ArrayAttr(attributes["indexing_maps"])]
            parallel = ["parallel" in str(item) for item in ir.ArrayAttr(attributes["iterator_types"])]
        case _:
            return None
    return Nest(operation, tuple(parallel), tuple(maps), tuple(_sizes(operation, maps, len(parallel))))


def _sizes(operation: ir.Operation, maps: list[ir.AffineMap], loops: int) -> Iterator[int | None]:
    known: dict[int, int | None] = {}
    for value, access in zip(operation.operands, maps, strict=True):
        if isinstance(value.type, ir.RankedTensorType):
            for dim, result in enumerate(access.results):
                loop = _loop(result)
                if loop is not None and known.get(loop) is None:
                    known[loop] = None if value.type.is_dynamic_dim(dim) else value.type.get_dim_size(dim)
    return (known.get(loop) for loop in range(loops))


def _loop(expression: ir.AffineExpr) -> int | None:
    return expression.position if isinstance(expression, ir.AffineDimExpr) else None


# --- What goes together.


def _groups(nests: dict[ir.Operation, Nest]) -> Iterator[Group]:
    """From the last operation backward, so that what a group needs is asked for before it stands alone."""
    taken: set[ir.Operation] = set()
    for sink in reversed(list(nests)):
        nest = nests[sink]
        if sink in taken or sink.name == "linalg.fill" or not any(nest.parallel):
            continue
        group = max(_candidates(nest, nests, taken), key=lambda group: len(group.members))
        taken |= group.members.keys()
        group.tiles = _tiles(group, nests)
        if any(group.tiles):
            yield group


def _candidates(sink: Nest, nests: dict[ir.Operation, Nest], taken: set[ir.Operation]) -> Iterator[Group]:
    """Rows over all parallel loops, then over fewer, outer ones: a reduction needs its whole input."""
    loops = [loop for loop, parallel in enumerate(sink.parallel) if parallel]
    for count in range(len(loops), 0, -1):
        group = Group({sink.operation: tuple(loops[:count])})
        for producer in reversed(list(nests)):
            if producer not in taken and producer not in group.members:
                rows = _rows(nests[producer], group, nests)
                if rows is not None:
                    group.members[producer] = rows
        yield group


def _rows(producer: Nest, group: Group, nests: dict[ir.Operation, Nest]) -> tuple[int, ...] | None:
    """The loops of the producer over the group's rows, if each row of it is needed for one row of the group only."""
    found: set[tuple[int | None, ...]] = set()
    for result in producer.operation.results:
        for use in result.uses:
            user = use.owner.operation
            if (rows := group.members.get(user)) is None:
                return None
            axes = nests[user].axes(use.operand_number)
            if len(axes) != len(producer.result_axes) or any(axes.count(row) != 1 for row in rows):
                return None
            found.add(tuple(producer.result_axes[axes.index(row)] for row in rows))
    if len(found) != 1:
        return None
    (loops,) = found
    known = tuple(loop for loop in loops if loop is not None)
    return known if len(known) == len(loops) and all(producer.parallel[loop] for loop in known) else None


def _tiles(group: Group, nests: dict[ir.Operation, Nest]) -> list[int]:
    """For each loop of the last operation how much of it one step takes, 0 for all."""
    sink, rows = next(iter(group.members.items()))
    elements = max(_row_size(nests[operation], loops) for operation, loops in group.members.items())
    tiles = [0] * len(nests[sink].parallel)
    for loop in reversed(rows):
        size = nests[sink].sizes[loop]
        step = max(1, TILE // elements)
        if size is None or step < size:
            tiles[loop] = step
        elements *= min(step, size or step)
    return tiles


def _row_size(nest: Nest, rows: tuple[int, ...]) -> int:
    """A reduction around the rows takes them all for one step after another: what it reads does not have to stay."""
    elements = 1
    for loop, size in enumerate(nest.sizes):
        if loop not in rows and (nest.parallel[loop] or loop > max(rows)):
            elements *= UNKNOWN if size is None else size
    return max(elements, 1)


# --- The script.


def _script(groups: Iterable[Group]) -> Iterator[str]:
    yield "module attributes {transform.with_named_sequence} {"
    yield f"transform.named_sequence @__transform_main(%root: {STRUCTURED}) {{"
    number = 0
    for group in groups:
        first = number
        for operation in group.members:
            operation.attributes[TAG] = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), number)
            yield _match(f"%op{number}", f"attributes {{{TAG} = {number} : i64}}")
            number += 1
        yield (
            f"%tiled{first}, %loop{first} = transform.structured.tile_using_forall %op{first} tile_sizes {group.tiles} "
            f": ({STRUCTURED}) -> ({STRUCTURED}, {STRUCTURED})"
        )
        for i in range(first + 1, number):
            # A producer with several users becomes one only where they ask for the same slice of it.
            yield _match(f"%all{i}", 'ops{["func.func"]}')
            yield f"transform.apply_cse to %all{i} : {STRUCTURED}"
            yield (
                f"%fused{i}, %loop{i} = transform.structured.fuse_into_containing_op %op{i} into %loop{i - 1} "
                f": ({STRUCTURED}, {STRUCTURED}) -> ({STRUCTURED}, {STRUCTURED})"
            )
    # Of what only passes from one operation of a group to the next there is no more than one step at a time.
    yield _match("%end", 'ops{["func.func"]}')
    yield f"transform.apply_patterns to %end {{ transform.apply_patterns.tensor.fold_tensor_empty }} : {STRUCTURED}"
    yield "transform.yield\n}\n}"


def _match(name: str, what: str) -> str:
    return f"{name} = transform.structured.match {what} in %root : ({STRUCTURED}) -> {STRUCTURED}"
