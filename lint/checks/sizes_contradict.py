"""Sizes that literals in the code give and that do not fit together: the operator raises, traced or not."""

from __future__ import annotations

import math
from collections.abc import Iterator

from fullgraph.rules.model import Rule

from ..emission import Hit
from ..facts import Call, Fact, Index, Operation, operands
from ..findings import Confidence
from ..interpret import shapes
from ..interpret.frame import Frame
from ..values import Const, ExternalObject, Tensor, Tuple_, Value, known
from ..vocabulary import words

FACTS = (Call, Index, Operation)
CALLS = ("torch.",)

UNIFORM = words("add div eq floor_divide fmod ge gt le lt maximum minimum mul ne pow remainder sub true_divide")
PRODUCTS = {"matmul": (None, None), "mm": (2, 2), "bmm": (3, 3), "mv": (2, 1)}
"""Matrix products, and how many dimensions they ask of either side."""
DIMENSIONS = words("dim dim0 dim1 axis0 axis1 start_dim end_dim")
"""Parameters that name a dimension of the tensor."""
DIMENSIONED = words(
    """
    all amax amin any argmax argmin cumprod cumsum flatten gather index_select log_softmax logsumexp mean movedim
    narrow prod select size softmax sort squeeze std sum swapaxes swapdims topk transpose unbind unsqueeze var
    """
)
LAYERS = {
    "torch.nn.Linear": (1, "in_features"),
    **{f"torch.nn.{name}": (1, "input_size") for name in ("GRU", "LSTM", "RNN")},
    **{cls: (moving + 1, "in_channels") for cls, moving in shapes.CONVOLUTIONS.items()},
    **{f"torch.nn.BatchNorm{n}d": (n + 1, "num_features") for n in (2, 3)},
}
"""Module → which dimension, counted from the last, has the size that its first parameter says."""
NORMS = ("torch.nn.LayerNorm", "torch.nn.RMSNorm")


def check(fact: Fact, frame: Frame, rule: Rule) -> Iterator[Hit]:
    values = list(operands(fact))
    gb = None
    if (problem := _sizes(fact, values)) is None:
        problem, gb = _places(fact, frame, values), ()  # an IndexError, which has no id
    if problem is not None:
        sure = all(value.sure for value in values if isinstance(value, Tensor))
        confidence = Confidence.CERTAIN if sure else Confidence.LIKELY
        yield Hit(rule.code, fact.span, confidence, f"`{{source}}` {problem}", gb)


def _sizes(fact: Fact, values: list[Value]) -> str | None:
    match fact, values:
        case Operation(operator="matmul"), [Tensor() as left, Tensor() as right]:
            return _product(left, right)
        case Operation(), [Tensor() as left, Tensor() as right]:
            return _broadcast(left, right)
        case Call(), [ExternalObject() as module, Tensor() as value, *_]:
            return _layer(module, value)
        case Call(receiver=Tensor() | None), [_, *_] if not fact.arguments.open_ended:
            return _call(fact, values)
    return None


def _places(fact: Fact, frame: Frame, values: list[Value]) -> str | None:
    match fact, values:
        case Index(), [Tensor(sizes=tuple() as sizes), *parts]:
            return _index(sizes, parts)
        case Call(receiver=Tensor() | None), [Tensor(rank=int() as rank), *_] if not fact.arguments.open_ended:
            last = fact.symbol.rpartition(".")[2]
            return _dimension(fact, frame, rank + (last == "unsqueeze")) if last in DIMENSIONED else None
    return None


def _broadcast(left: Tensor, right: Tensor) -> str | None:
    for back, (one, other) in enumerate(zip(reversed(left.ending), reversed(right.ending), strict=False), 1):
        if None not in (one, other) and one != other and 1 not in (one, other):
            return f"combines sizes {one} and {other} in dimension {-back}, which do not broadcast"
    return None


def _product(left: Tensor, right: Tensor) -> str | None:
    if 0 in (left.rank, right.rank):
        return "multiplies a tensor without dimensions"
    rows = left.ending[-1:]
    columns = right.ending[-2:-1] if right.rank != 1 else right.ending
    match rows, columns:
        case (int() as one,), (int() as other,) if one != other:
            return f"multiplies rows of {one} with columns of {other}"
    return None


def _ranks(wanted: tuple[int | None, ...], given: tuple[int | None, ...]) -> str | None:
    for asked, rank in zip(wanted, given, strict=True):
        if None not in (asked, rank) and asked != rank:
            return f"takes {asked} dimensions where it is given {rank}"
    return None


def _index(sizes: shapes.Sizes, parts: list[Value]) -> str | None:
    positions = [shapes.number(part) for part in parts]
    if None in positions:
        return None
    if len(positions) > len(sizes):
        return f"has {len(positions)} indices for {_dimensions(len(sizes))}"
    for dim, (size, position) in enumerate(zip(sizes, positions, strict=False)):
        if size is not None and position is not None and not -size <= position < size:
            return f"reads place {position} of dimension {dim}, which has size {size}"
    return None


def _layer(module: ExternalObject, value: Tensor) -> str | None:
    name = module.cls.removeprefix("torch.")
    if module.cls in NORMS:
        return _norm(name, shapes.option(module, 0, "normalized_shape"), value.ending)
    if module.cls not in LAYERS:
        return None
    back, parameter = LAYERS[module.cls]
    wanted = shapes.number(shapes.option(module, 0, parameter))
    given = value.ending[-back] if len(value.ending) >= back else None
    if wanted is None or given is None or wanted == given or "affine" in dict(module.options):
        return None
    return f"is given {given} in dimension {-back}, where `{name}` was made for {wanted}"


def _norm(name: str, shape: Value | None, ending: shapes.Sizes) -> str | None:
    wanted = tuple(map(shapes.number, shape.items if isinstance(shape, Tuple_) else (shape or Const(None),)))
    given = ending[-len(wanted) :]
    if None in (*wanted, *given) or len(given) != len(wanted) or given == wanted:
        return None
    return f"is given {_listed(given)} at the end, where `{name}` was made for {_listed(wanted)}"


def _call(fact: Call, given: list[Value]) -> str | None:
    last = fact.symbol.rpartition(".")[2]
    match last, given:
        case _, (Tensor() as left, Tensor() as right) if last in UNIFORM:
            return _broadcast(left, right)
        case _, (Tensor() as left, Tensor() as right) if last in PRODUCTS:
            return _ranks(PRODUCTS[last], (left.rank, right.rank)) or _product(left, right)
        case "linear", (Tensor(ending=(*_, int() as one)), Tensor(sizes=(_, int() as other)), *_) if one != other:
            return f"multiplies rows of {one} with weights for {other}"
        case "cat" | "concat" | "concatenate" | "stack", (Tuple_(items=items), *_):
            return _joined(last, list(map(known, items)), fact.arguments.get(1, "dim"))
        case "view" | "reshape", (Tensor(sizes=sizes), *asked):
            return _reshaped(shapes.elements(sizes), asked)
        case "permute", (Tensor(sizes=tuple() as sizes), *asked):
            dims = asked[0].items if len(asked) == 1 and isinstance(asked[0], Tuple_) else asked
            return None if len(dims) == len(sizes) else f"orders {len(dims)} dimensions of {_dimensions(len(sizes))}"
    return None


def _joined(how: str, parts: list[Value], dim: Value | None) -> str | None:
    known_sizes = [part.sizes for part in parts if isinstance(part, Tensor) and part.sizes is not None]
    along = 0 if dim is None else shapes.number(dim)
    if len(known_sizes) < 2 or along is None:
        return None
    first = known_sizes[0]
    for sizes in known_sizes[1:]:
        if len(sizes) != len(first):
            return None if (0,) in (sizes, first) else f"joins tensors of {len(first)} and {len(sizes)} dimensions"
        for place, (one, other) in enumerate(zip(first, sizes, strict=True)):
            joined = how != "stack" and place == along % len(sizes)
            if not joined and None not in (one, other) and one != other:
                return f"joins tensors of sizes {one} and {other} in dimension {place}"
    return None


def _reshaped(elements: int | None, asked: list[Value]) -> str | None:
    items = asked[0].items if len(asked) == 1 and isinstance(asked[0], Tuple_) else asked
    sizes = [size for item in items if (size := shapes.number(item)) is not None]
    if elements is None or len(sizes) != len(items) or not sizes:
        return None
    wanted = math.prod(size for size in sizes if size != -1)
    if elements == wanted or (-1 in sizes and wanted and elements % wanted == 0):
        return None
    return f"gives {elements} elements the sizes {_listed(tuple(sizes))}"


def _dimension(fact: Call, frame: Frame, rank: int) -> str | None:
    arity = frame.analysis.api.arity(fact.symbol)
    names = () if arity is None else arity.names
    for name, value in (*zip(names, fact.arguments.positional, strict=False), *fact.arguments.keywords):
        for dim in (value.items if isinstance(value, Tuple_) else (value,)) if name in DIMENSIONS else ():
            number = shapes.number(dim)
            if number is not None and not -max(rank, 1) <= number < max(rank, 1):
                return f"names dimension {number} of {_dimensions(rank)}"
    return None


def _dimensions(rank: int) -> str:
    return f"a tensor with {rank} dimension{'s' * (rank != 1)}"


def _listed(sizes: shapes.Sizes) -> str:
    return " × ".join(map(str, sizes))
