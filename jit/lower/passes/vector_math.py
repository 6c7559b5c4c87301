"""Has loops compute mathematical functions several elements at a time: scalar `math` operations become calls of libm
that name Sleef's vectors as their variants, which libtorch exports for ATen's own use.

What is left over at the end of a loop is libm's. Sleef's results are within 1 unit in the last place, those of sine and
cosine, like ATen's, within 3.5.
"""

from __future__ import annotations

from collections.abc import Iterator

from torch_mlir import ir

from ..processor import vector_sizes
from .walk import nested

UNARY = """
acos acosh asin asinh atan atanh cbrt cos cosh erf exp exp2 expm1 log log10 log1p log2 sin sinh tan tanh
"""
BINARY = {"powf": "pow", "atan2": "atan2"}
ULP = {"sin": "u35", "cos": "u35"}
SCALAR = {"acosh", "asinh"}
"""Sleef's are infinite from the root of the largest number on."""
PURE = "memory_effects = #llvm.memory_effects<{}>".format(
    ", ".join(
        f"{part} = none" for part in ["other", "argMem", "inaccessibleMem", "errnoMem", "targetMem0", "targetMem1"]
    )
)


def vector_math(module: ir.Module) -> None:
    used: dict[str, tuple[str, str, int]] = {}
    for operation in list(nested(module.operation)):
        kind = operation.name.removeprefix("math.")
        function = BINARY.get(kind, kind)
        if kind == operation.name or (kind not in UNARY.split() and kind not in BINARY):
            continue
        element = str(operation.results[0].type)
        if element in ("f32", "f64"):
            symbol = function + ("f" if element == "f32" else "")
            used[symbol] = (function, element, len(operation.operands))
            _replace(operation, symbol)
    if used:
        source = ir.Module.parse("\n".join(_declarations(used)))
        for view in list(source.body.operations):
            module.body.append(view.operation.detach_from_parent())


def _replace(operation: ir.Operation, symbol: str) -> None:
    operands = list(operation.operands)
    sizes = {
        "operandSegmentSizes": ir.DenseI32ArrayAttr.get([len(operands), 0]),
        "op_bundle_sizes": ir.DenseI32ArrayAttr.get([]),
    }
    with ir.InsertionPoint(operation):
        call = ir.Operation.create(
            "llvm.call",
            results=[operation.results[0].type],
            operands=operands,
            attributes={"callee": ir.FlatSymbolRefAttr.get(symbol), **sizes},
        )
    operation.results[0].replace_all_uses_with(call.result)
    operation.erase()


def _declarations(used: dict[str, tuple[str, str, int]]) -> Iterator[str]:
    vectors: list[str] = []
    for symbol, (function, element, arity) in sorted(used.items()):
        variants = []
        for width in () if function in SCALAR else _widths(element):
            vector = f"Sleef_{function}{'f' if element == 'f32' else 'd'}{width}_{ULP.get(function, 'u10')}"
            variants.append(f"_ZGV_LLVM_N{width}{'v' * arity}_{symbol}({vector})")
            vectors.append(vector)
            yield _declaration(vector, f"vector<{width}x{element}>", arity, '"nounwind", "willreturn"')
        names = f', ["vector-function-abi-variant", "{",".join(variants)}"]' if variants else ""
        # No built-in: LLVM would see through the names of sine and cosine, and then ask for no vectors.
        yield _declaration(symbol, element, arity, f'"nounwind", "willreturn", "nobuiltin"{names}')
    if vectors:
        yield from _kept(vectors)


def _declaration(symbol: str, kind: str, arity: int, attributes: str) -> str:
    arguments = ", ".join([kind] * arity)
    return f"llvm.func @{symbol}({arguments}) -> {kind} attributes {{passthrough = [{attributes}], {PURE}}}"


def _kept(symbols: list[str]) -> Iterator[str]:
    """The declarations have to be there when loops become vectors, although nothing calls them before."""
    kind = f"!llvm.array<{len(symbols)} x ptr>"
    yield f'llvm.mlir.global appending @llvm.compiler.used() {{section = "llvm.metadata"}} : {kind} {{'
    yield f"%0 = llvm.mlir.undef : {kind}"
    for i, symbol in enumerate(symbols):
        yield f"%address{i} = llvm.mlir.addressof @{symbol} : !llvm.ptr"
        yield f"%{i + 1} = llvm.insertvalue %address{i}, %{i}[{i}] : {kind}"
    yield f"llvm.return %{len(symbols)} : {kind}\n}}"


def _widths(element: str) -> tuple[int, ...]:
    return tuple(size // (4 if element == "f32" else 8) for size in vector_sizes())
