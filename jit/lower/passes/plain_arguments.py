"""Adds the function that is called from outside, which takes plain pointers and numbers: the signature says the rest.

With that, calling takes no descriptors that would have to be filled.
"""

from __future__ import annotations

from collections.abc import Iterator

from torch_mlir import ir

from ..abi import ENTRY
from ..signature import ScalarSpec, Signature, Spec, TensorSpec

CALLED = "call"
"""The symbol of the function."""
POINTER, WORD = "!llvm.ptr", "i64"


def plain_arguments(module: ir.Module, signature: Signature) -> None:
    """After the conversion to LLVM's dialect, in which a memref is two pointers, an offset, sizes and strides."""
    source = ir.Module.parse("\n".join(Function(signature).text()))
    module.body.append(source.body.operations[1].operation.detach_from_parent())
    region = next(op for op in module.body.operations if ir.StringAttr(op.attributes["sym_name"]).value == ENTRY)
    region.attributes["arg_attrs"] = ir.ArrayAttr.get([ir.DictAttr.get(item) for item in _attributes(signature)])
    region.attributes["no_inline"] = ir.UnitAttr.get()  # or there would be two of it


def _attributes(signature: Signature) -> Iterator[dict[str, ir.Attribute]]:
    """Outputs, just allocated by the caller, overlap nothing; memory is reached through the second pointer only."""
    for specs, pointer in ((signature.inputs, {}), (signature.outputs, {"llvm.noalias": ir.UnitAttr.get()})):
        for spec in specs:
            yield {}
            if isinstance(spec, TensorSpec):
                yield pointer
                yield from ({} for _ in range(1 + 2 * len(spec.shape)))


class Function:
    """The text of the function, as it grows."""

    def __init__(self, signature: Signature) -> None:
        self._signature = signature
        self._parameters: list[str] = []
        self._values: list[tuple[str, str]] = []
        self._lines: list[str] = []

    def text(self) -> Iterator[str]:
        for spec in (*self._signature.inputs, *self._signature.outputs):
            self._add(spec)
        kinds = ", ".join(kind for _, kind in self._values)
        yield f"llvm.func @{ENTRY}({kinds})"
        yield f"llvm.func @{CALLED}({', '.join(self._parameters)}) {{"
        yield from self._lines
        yield f"llvm.call @{ENTRY}({', '.join(name for name, _ in self._values)}) : ({kinds}) -> ()"
        yield "llvm.return\n}"

    def _add(self, spec: Spec) -> None:
        if isinstance(spec, ScalarSpec):
            kind = "f64" if spec.dtype == "float64" else WORD
            self._values.append((self._parameter(kind), kind))
            return
        pointer = self._parameter(POINTER)
        sizes = [self._parameter(WORD) if size is None else self._constant(size) for size in spec.shape]
        strides = [self._constant(stride) for stride in spec.strides or ()] or self._contiguous(sizes)
        self._values += [(pointer, POINTER), (pointer, POINTER), (self._constant(0), WORD)]
        self._values += [(name, WORD) for name in (*sizes, *strides)]

    def _contiguous(self, sizes: list[str]) -> list[str]:
        strides = [self._constant(1)] if sizes else []
        for size in sizes[:0:-1]:
            strides.insert(0, self._computed(f"llvm.mul {strides[0]}, {size} : {WORD}"))
        return strides

    def _parameter(self, kind: str) -> str:
        name = f"%arg{len(self._parameters)}"
        self._parameters.append(f"{name}: {kind}")
        return name

    def _constant(self, value: int) -> str:
        return self._computed(f"llvm.mlir.constant({value} : {WORD}) : {WORD}")

    def _computed(self, operation: str) -> str:
        name = f"%value{len(self._lines)}"
        self._lines.append(f"{name} = {operation}")
        return name
