"""Gives the lowered function its native signature: enters `@main` on tensors, leaves the entry function on memrefs.

Inputs are read from the caller's memory with the strides of the signature, results are written to the caller's memory,
and bool, one bit to MLIR, is a byte on both sides.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from torch_mlir import ir

from .signature import ScalarSpec, Signature, Spec, TensorSpec

ENTRY = "region"


def add_entry(module: ir.Module, signature: Signature) -> None:
    """Wrap `@main` into the entry function, whose text is easier to read than a rewrite of `@main` would be."""
    main = next(op for op in module.body.operations if _is_main(op))
    main.attributes["sym_visibility"] = ir.StringAttr.get("private")
    kind = ir.FunctionType(ir.TypeAttr(main.attributes["function_type"]).value)
    source = ir.Module.parse("\n".join(_source(list(kind.inputs), list(kind.results), signature.inputs)))
    module.body.append(source.body.operations[1].operation.detach_from_parent())


def _is_main(op: ir.OpView) -> bool:
    return bool(op.operation.name == "func.func" and ir.StringAttr(op.attributes["sym_name"]).value == "main")


def _source(inputs: list[ir.Type], results: list[ir.Type], specs: tuple[Spec, ...]) -> Iterator[str]:
    if len(inputs) != len(specs):
        raise ValueError(f"the signature has {len(specs)} inputs, the function {len(inputs)}")
    arguments = [f"%in{i}: {_boundary(kind, spec)}" for i, (kind, spec) in enumerate(zip(inputs, specs, strict=True))]
    arguments += [f"%out{i}: {_memref(ir.RankedTensorType(kind))}" for i, kind in enumerate(results)]
    yield f"func.func private @main({_list(inputs)}) -> ({_list(results)})"
    yield f"func.func @{ENTRY}({', '.join(arguments)}) {{"
    for i, (kind, spec) in enumerate(zip(inputs, specs, strict=True)):
        if isinstance(spec, TensorSpec):
            yield from _read(i, ir.RankedTensorType(kind), spec)
    values = ", ".join(f"%arg{i}" if isinstance(spec, TensorSpec) else f"%in{i}" for i, spec in enumerate(specs))
    count = f"%result:{len(results)} = " if results else ""
    yield f"{count}func.call @main({values}) : ({_list(inputs)}) -> ({_list(results)})"
    for i, kind in enumerate(results):
        yield from _write(i, ir.RankedTensorType(kind))
    yield "return\n}"


def _read(i: int, kind: ir.RankedTensorType, spec: TensorSpec) -> Iterator[str]:
    name = f"%byte{i}" if _is_bool(kind) else f"%arg{i}"
    yield f"{name} = bufferization.to_tensor %in{i} restrict : {_memref(kind, spec.strides)} to {_bytes(kind)}"
    if _is_bool(kind):  # any byte but zero is true, as in ATen
        body = "%zero = arith.constant 0 : i8\n%bit = arith.cmpi ne, %value, %zero : i8\nlinalg.yield %bit : i1"
        yield from _elementwise(f"%arg{i}", name, _bytes(kind), str(kind), body)


def _write(i: int, kind: ir.RankedTensorType) -> Iterator[str]:
    value = f"%result#{i}"
    if _is_bool(kind):
        body = "%byte = arith.extui %value : i1 to i8\nlinalg.yield %byte : i8"
        yield from _elementwise(f"%wide{i}", value, str(kind), _bytes(kind), body)
        value = f"%wide{i}"
    yield (
        f"bufferization.materialize_in_destination {value} in restrict writable %out{i} "
        f": ({_bytes(kind)}, {_memref(kind)}) -> ()"
    )


def _elementwise(result: str, operand: str, source: str, target: str, body: str) -> Iterator[str]:
    kind, out = ir.RankedTensorType(ir.Type.parse(source)), ir.RankedTensorType(ir.Type.parse(target))
    sizes = []
    for dim in range(kind.rank):
        if kind.is_dynamic_dim(dim):
            sizes.append(f"{result}_size{dim}")
            yield f"{result}_axis{dim} = arith.constant {dim} : index"
            yield f"{sizes[-1]} = tensor.dim {operand}, {result}_axis{dim} : {source}"
    dims = ", ".join(f"d{dim}" for dim in range(kind.rank))
    loops = ", ".join(['"parallel"'] * kind.rank)
    identity = f"affine_map<({dims}) -> ({dims})>"
    yield f"{result}_empty = tensor.empty({', '.join(sizes)}) : {target}"
    yield (
        f"{result} = linalg.generic {{indexing_maps = [{identity}, {identity}], iterator_types = [{loops}]}} "
        f"ins({operand} : {source}) outs({result}_empty : {target}) {{"
    )
    yield f"^bb0(%value: {kind.element_type}, %old: {out.element_type}):\n{body}\n}} -> {target}"


def _boundary(kind: ir.Type, spec: Spec) -> str:
    match spec:
        case ScalarSpec():
            return str(kind)
        case TensorSpec(strides=strides):
            return _memref(ir.RankedTensorType(kind), strides)


def _memref(kind: ir.RankedTensorType, strides: tuple[int, ...] | None = None) -> str:
    layout = "" if strides is None else f", strided<[{_list(strides)}]>"
    return f"memref<{_shape(kind)}{layout}>"


def _bytes(kind: ir.RankedTensorType) -> str:
    return f"tensor<{_shape(kind)}>"


def _shape(kind: ir.RankedTensorType) -> str:
    sizes = ("?" if kind.is_dynamic_dim(dim) else str(kind.get_dim_size(dim)) for dim in range(kind.rank))
    return "x".join([*sizes, "i8" if _is_bool(kind) else str(kind.element_type)])


def _is_bool(kind: ir.RankedTensorType) -> bool:
    return str(kind.element_type) == "i1"


def _list(items: Iterable[object]) -> str:
    return ", ".join(str(item) for item in items)
