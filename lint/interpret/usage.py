"""Which parameters without annotation are tensors, by how the body uses them."""

from __future__ import annotations

from collections.abc import Iterator

from ..ir import Node
from ..symbols import FunctionSymbol, Module, all_statements, expressions_of
from ..values import External, Value
from . import names
from .analysis import Analysis

TENSOR_ATTRIBUTES = {"shape", "ndim", "T", "mT", "requires_grad", "is_cuda", "device", "dtype"}


def tensor_parameters(analysis: Analysis, symbol: FunctionSymbol) -> frozenset[str]:
    """Names of parameters with a tensor's attribute, method, operator or place in a torch call."""
    return analysis.tracker.once(analysis.tensor_parameters, symbol, lambda: _find(analysis, symbol))


def _find(analysis: Analysis, symbol: FunctionSymbol) -> frozenset[str]:
    analysis.tracker.rests |= symbol.mask
    static = any(node[0] == "name" and node[2] == "staticmethod" for node in symbol.decorators)
    own = 1 if symbol.owner is not None and not static else 0
    candidates = {name for name, _, annotation, _ in symbol.parameters[own:] if annotation is None}
    if not candidates:
        return frozenset()
    found: set[str] = set()
    for statement in all_statements(symbol.body):
        for node in expressions_of(statement):
            found.update(name for name in _speaks_for(analysis, symbol.module, node) if name in candidates)
    return frozenset(found)


def _speaks_for(analysis: Analysis, module: Module, node: Node) -> Iterator[str]:
    match node[0]:
        case "attr" if node[2][0] == "name":
            if node[3] in TENSOR_ATTRIBUTES or analysis.api.is_tensor_only(node[3]):
                yield node[2][2]
        case "bin" if node[2] == "matmul":
            yield from (side[2] for side in node[3:5] if side[0] == "name")
        case "call":
            yield from _called_with(analysis, module, node)


def _called_with(analysis: Analysis, module: Module, node: Node) -> Iterator[str]:
    """`torch.f(x)`, `F.f(x)`: the first argument of a function that takes a tensor."""
    function, arguments = node[2], node[3]
    if not arguments or arguments[0][0] != "name":
        return
    symbol = dotted(analysis, module, function)
    if symbol is None:
        return
    arity = analysis.api.arity(symbol)
    takes_tensor = arity is not None and arity.names[:1] in (("input",), ("self",))
    if takes_tensor and not analysis.api.is_factory(symbol):
        yield arguments[0][2]


def dotted(analysis: Analysis, module: Module, node: Node) -> str | None:
    match node[0]:
        case "name":
            value: Value = names.value_of(analysis, module, node[2])
            return value.name if isinstance(value, External) else None
        case "attr":
            base = dotted(analysis, module, node[2])
            return None if base is None else analysis.api.canonical(f"{base}.{node[3]}")
    return None
