"""Schedules a matrix product: enters the entry function on tensors, leaves it with sums in registers and one loop nest.

One step of the outer loop computes a block of the result, which stays in the cache until the epilogue has run over it.
Within a block a tile of sums is kept in registers. A vector runs along the terms where both operands lie in memory so,
and otherwise along a row of the result. What is tiled by how much is planned here and carried out by a script in the
transform dialect.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from torch_mlir import ir
from torch_mlir.dialects.transform import interpreter

from .abi import ENTRY
from .processor import vector_sizes
from .schedule import STRUCTURED, TAG, Nest, nests

FLOAT = 4
"""Bytes."""
BLOCK = 4096
"""Elements of the second operand that stay in the innermost cache; half of what it holds."""
RESULTS = 8192
"""Elements of the result that one step computes, on the stack."""
DEEP = 512
"""Terms that are summed before the next row or column is looked at."""
WORTH = 1 << 16
"""Multiplications that are worth a step of their own, which may go to another thread."""
CHAINS = 12
"""Sums under way at once that hide how long one addition takes."""
LOAD = 0.3
"""What one load costs, in additions of which two are done at a time."""
# What other regions do here too, to take unit extents away, would leave loops that are not a product's.
FUSE = (
    "builtin.module(func.func("
    "linalg-generalize-named-ops,canonicalize,cse,linalg-fuse-elementwise-ops,canonicalize,cse))"
)
VECTORS = "builtin.module(convert-vector-to-llvm{reassociate-fp-reductions})"
PRODUCT = re.compile(r"torch\.aten\.(mm|addmm|bmm) ")


def is_product(text: str) -> bool:
    """Whether a region, in the torch dialect, is one. No other has these operators, which are ATen's by default."""
    return PRODUCT.search(text) is not None


@dataclass(frozen=True, slots=True)
class Product:
    """A product and its loops, by what they run over."""

    nest: Nest
    row: int | None
    """The innermost over rows of the first operand; None where it has only one."""
    column: int
    """The innermost of the result."""
    term: int

    @property
    def is_dot(self) -> bool:
        """Whether terms of one sum lie side by side in both operands, as many as make vectors."""
        return all(self.nest.axes(i)[-1] == self.term for i in (0, 1)) and self.size(self.term) % lanes() == 0

    @property
    def outer(self) -> list[int]:
        """Loops over one product after another."""
        loops = range(len(self.nest.parallel))
        return [loop for loop in loops if loop not in (self.row, self.column, self.term)]

    def size(self, loop: int | None) -> int:
        return 1 if loop is None else self.nest.sizes[loop] or 1


@dataclass(frozen=True, slots=True)
class Tiles:
    """Rows and columns that one step computes and that are summed at once, and terms before the next are looked at."""

    block: tuple[int, int]
    registers: tuple[int, int]
    depth: int


def schedule_product(module: ir.Module) -> None:
    """Raises ValueError where there is not one product that can be scheduled."""
    entry = next(op for op in module.body.operations if ir.StringAttr(op.attributes["sym_name"]).value == ENTRY)
    found = nests(entry)
    products = [nest for nest in found.values() if not all(nest.parallel)]
    if len(products) != 1:
        raise ValueError(f"{len(products)} operations that sum, where one product is scheduled")
    product = _product(products[0])
    _contract(product.nest.operation)
    _apply(module, "\n".join(_script(product, list(found))))


def registers(module: ir.Module) -> None:
    """Vectors of several dimensions become as many as the processor has registers for."""
    _apply(module, REGISTERS)


def lanes() -> int:
    """Elements of a vector."""
    return max(vector_sizes(), default=16) // FLOAT


def _apply(module: ir.Module, text: str) -> None:
    script = ir.Module.parse(text)
    interpreter.apply_named_sequence(module, script.body.operations[0], script)


def _product(nest: Nest) -> Product:
    if nest.parallel.count(False) != 1 or len(nest.maps) != 3:
        raise ValueError("what is summed is no product of two matrices")
    first, second, result = nest.axes(0), nest.axes(1), nest.result_axes
    column = result[-1]
    if None in (*first, *second, *result) or column is None:
        raise ValueError("an operand of the product is indexed by more than its loops")
    rows = [loop for loop in result[:-1] if loop in first and loop not in second]
    return Product(nest, rows[-1] if rows else None, column, nest.parallel.index(False))


def _contract(operation: ir.Operation) -> None:
    """A term is multiplied and added with one rounding, as in ATen's kernels."""
    for view in operation.regions[0].blocks[0].operations:
        if view.operation.name in ("arith.mulf", "arith.addf"):
            view.attributes["fastmath"] = ir.Attribute.parse("#arith.fastmath<contract>")


# --- Sizes. All divide what they tile, as what would be left over is no vector.


def _tiles(product: Product) -> Tiles:
    rows, columns, terms = (product.size(loop) for loop in (product.row, product.column, product.term))
    depth = max(size for size in _divisors(terms) if size <= DEEP)
    if product.is_dot:
        depth = max((size for size in _divisors(terms) if size <= DEEP and size % lanes() == 0), default=terms)
    near = max(size for size in _divisors(columns) if size == 1 or size * depth <= BLOCK)
    height = max(size for size in _divisors(rows) if size == 1 or size * near <= RESULTS)
    width = next(
        size for size in _divisors(columns) if size == columns or (size >= near and size * height * terms >= WORTH)
    )
    height = max(size for size in _divisors(rows) if size == 1 or size * width <= RESULTS)
    return Tiles((height, width), _registers(height, width, product.is_dot), depth)


def _registers(rows: int, columns: int, is_dot: bool) -> tuple[int, int]:
    """As many sums at once as hide the time of one, for as few loads as possible."""
    available = 32 if lanes() == 16 else 16
    best, most = (1, 1), float("-inf")
    for height in _divisors(rows):
        for width in _divisors(columns):
            vectors = width if is_dot else -(-width // lanes())
            if height * vectors + min(height, vectors) + 1 > available:
                continue
            used = 1.0 if is_dot else width / (vectors * lanes())
            merit = used * (min(height * vectors, CHAINS) - LOAD * (height + vectors))
            if merit > most:
                best, most = (height, width), merit
    return best


def _divisors(size: int) -> list[int]:
    return [number for number in range(1, size + 1) if size % number == 0]


# --- The script.


def _script(product: Product, operations: list[ir.Operation]) -> Iterator[str]:
    tiles = _tiles(product)
    position = operations.index(product.nest.operation)
    yield "module attributes {transform.with_named_sequence} {"
    yield f"transform.named_sequence @__transform_main(%root: {STRUCTURED}) {{"
    for number, operation in enumerate(operations):
        operation.attributes[TAG] = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), number)
        yield f"%op{number} = transform.structured.match attributes {{{TAG} = {number} : i64}} in %root : {_type(1, 1)}"
    yield _match("%function", "func.func")
    yield from _blocks(product, tiles, position, len(operations) - 1)
    yield from _sums(product, tiles)
    yield from _vectors(product)
    yield "transform.yield\n}\n}"


def _blocks(product: Product, tiles: Tiles, position: int, last: int) -> Iterator[str]:
    """The last operation in blocks, and in each all that leads to it. Leaves `%product`."""
    steps = dict.fromkeys(product.outer, 1) | {product.column: tiles.block[1]}
    if product.row is not None:
        steps[product.row] = tiles.block[0]
    loops = product.nest.result_axes if position != last else range(len(product.nest.parallel))
    sizes = [_tile(steps.get(loop or 0, 0), product.size(loop)) for loop in loops]
    if not any(sizes):
        yield f"%product = transform.merge_handles %op{position} : {STRUCTURED}"
        return
    yield (
        f"%block{last}, %loop{last} = transform.structured.tile_using_forall %op{last} tile_sizes {sizes} "
        f": {_type(1, 2)}"
    )
    for number in range(last - 1, -1, -1):
        # A producer with several users becomes one only where they ask for the same slice of it.
        yield f"transform.apply_cse to %function : {STRUCTURED}"
        yield (
            f"%block{number}, %loop{number} = transform.structured.fuse_into_containing_op %op{number} "
            f"into %loop{number + 1} : {_type(2, 2)}"
        )
    yield f"%product = transform.merge_handles %block{position} : {STRUCTURED}"


def _sums(product: Product, tiles: Tiles) -> Iterator[str]:
    """Sums in registers, a step of each at a time. Leaves `%step` and, where a vector holds one sum, `%sum`."""
    sizes = [0] * len(product.nest.parallel)
    sizes[product.term] = _tile(tiles.depth, product.size(product.term))
    yield from _tiled("%deep", "%product", sizes)
    sizes = [0] * len(sizes)
    for loop, step, whole in zip((product.row, product.column), tiles.registers, tiles.block, strict=True):
        if loop is not None:
            sizes[loop] = _tile(step, whole)
    yield from _tiled("%tile", "%deep", sizes)
    sizes = [0] * len(sizes)
    if product.is_dot:
        sizes[product.term] = lanes()
        yield (
            "%zeros, %step, %sum, %terms = transform.structured.tile_reduction_using_for %tile "
            f"by tile_sizes = {sizes} : {_type(1, 4)}"
        )
    else:
        sizes[product.term] = 1
        yield from _tiled("%step", "%tile", sizes)


def _tile(step: int, whole: int) -> int:
    """0, which is all, for a loop of one step."""
    return step if step < whole else 0


def _tiled(name: str, operation: str, sizes: list[int]) -> Iterator[str]:
    if count := sum(map(bool, sizes)):
        loops = "".join(f", {name}_loop{i}" for i in range(count))
        yield (
            f"{name}{loops} = transform.structured.tile_using_for {operation} tile_sizes {sizes} "
            f": {_type(1, 1 + count)}"
        )
    else:
        yield f"{name} = transform.merge_handles {operation} : {STRUCTURED}"


def _vectors(product: Product) -> Iterator[str]:
    for name in ("%zeros", "%step", "%sum") if product.is_dot else ("%step",):
        yield f"transform.structured.vectorize {name} : {STRUCTURED}"
    yield f"""transform.apply_patterns to %function {{
      transform.apply_patterns.vector.reduction_to_contract
      transform.apply_patterns.vector.transfer_permutation_patterns
      transform.apply_patterns.canonicalization
      transform.apply_patterns.tensor.fold_tensor_empty
    }} : {STRUCTURED}"""
    # From loop to loop the sums stay in registers.
    yield _match("%loops", "scf.for")
    yield f"transform.foreach %loops : {STRUCTURED} {{"
    yield f"^bb0(%loop: {STRUCTURED}): transform.loop.hoist_loop_invariant_subsets %loop : {STRUCTURED}"
    yield f"}}\ntransform.apply_cse to %function : {STRUCTURED}"


def _match(name: str, operation: str) -> str:
    return f'{name} = transform.structured.match ops{{["{operation}"]}} in %root : {_type(1, 1)}'


def _type(operands: int, results: int) -> str:
    given, made = (", ".join([STRUCTURED] * count) for count in (operands, results))
    return f"({given}) -> ({made})" if results > 1 else f"({given}) -> {made}"


REGISTERS = f"""
module attributes {{transform.with_named_sequence}} {{
transform.named_sequence @__transform_main(%root: {STRUCTURED}) {{
  transform.apply_patterns to %root {{
    transform.apply_patterns.vector.lower_contraction lowering_strategy = outerproduct
  }} : {STRUCTURED}
  transform.apply_patterns to %root {{
    transform.apply_patterns.vector.lower_outerproduct
    transform.apply_patterns.vector.reorder_multi_reduction_dims lowering_strategy = innerreduction
    transform.apply_patterns.vector.multi_reduction_flattening lowering_strategy = innerreduction
    transform.apply_patterns.vector.multi_reduction_unrolling lowering_strategy = innerreduction
    transform.apply_patterns.vector.lower_transpose
    transform.apply_patterns.vector.lower_broadcast
    transform.apply_patterns.vector.lower_shape_cast
    transform.apply_patterns.vector.transfer_to_scf full_unroll = true
    transform.apply_patterns.vector.lower_transfer
  }} : {STRUCTURED}
  transform.yield
}}
}}
"""
