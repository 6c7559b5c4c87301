"""Subscripts, comparisons and arithmetic between evaluated values, with the facts they bring up."""

from __future__ import annotations

from msgspec.structs import replace

from ..facts import Branch, Compared, Format, Operation
from ..guards import Kind
from ..ir import Span
from ..values import (
    MODULE_CONTAINERS,
    NONE,
    SIZE,
    UNKNOWN,
    Arguments,
    Const,
    External,
    ExternalObject,
    Host,
    Instance,
    Mapping,
    Scalar,
    Sequence,
    SizeInt,
    Tensor,
    Tuple_,
    Value,
    element_of,
    join_all,
    known,
)
from . import conditions, modules, objects, protocols
from .arithmetic import fold, result_of
from .frame import Frame


def item_of(frame: Frame, span: Span, base: Value, index: Value) -> Value:
    match base:
        case Tensor():
            for part in index_parts(index):
                if isinstance(part, Tuple_):
                    frame.guard(Kind.LENGTH, span, len(part.items))
                elif isinstance(part, ExternalObject) and part.cls == "builtins.slice":
                    frame.guard(Kind.VALUE, span, _bounds(part.arguments))
            return _tensor_item(base, index)
        case Tuple_(items=items) if isinstance(index, Const) and isinstance(index.value, int):
            frame.guard(Kind.VALUE, span, index.value)
            return items[index.value] if -len(items) <= index.value < len(items) else UNKNOWN
        case Tuple_() if isinstance(index, Sequence) and index.kind == "slice":
            return Sequence(element_of(base), "list" if base.mutable else "tuple")
        case Tuple_():
            return element_of(base)
        case Sequence():
            return base if isinstance(index, Sequence) and index.kind == "slice" else base.element
        case Mapping(items=items, rest=rest):
            if isinstance(index, Const):
                frame.guard(Kind.VALUE, span, index.value)
                return base.get(index.value, UNKNOWN if rest is None else rest)
            return join_all([*(value for _, value in items), *(() if rest is None else (rest,))])
        case ExternalObject(cls=cls) if cls in MODULE_CONTAINERS:
            is_slice = isinstance(index, Sequence) and index.kind == "slice"
            return modules.sliced(base) if is_slice else modules.item(base, index)
        case ExternalObject(cls="torch.nn.ModuleDict", arguments=(Mapping() as held, *_)):
            return item_of(frame, span, held, index)
        case Instance(symbol=symbol) if objects.find_method(frame.analysis, symbol, "__getitem__") is not None:
            return objects.call_method(frame, span, base, "__getitem__", Arguments((index,)))
        case Instance() if (container := modules.as_external(frame, base)) is not None:
            return item_of(frame, span, container, index)
        case ExternalObject():
            return protocols.special(frame, span, base, "__getitem__", index) or UNKNOWN
        case Host(kind="str") | Const(value=str()):
            return Host("str")
    return UNKNOWN


def _bounds(arguments: tuple[Value, ...]) -> tuple[bool, bool, bool]:
    """Which of a slice's start, stop and step are given: that is fixed in the graph, the numbers are not."""
    given = (NONE, *arguments) if len(arguments) == 1 else arguments
    start, stop, step = (*given, NONE, NONE, NONE)[:3]
    return (start != NONE, stop != NONE, step != NONE)


def _tensor_item(base: Tensor, index: Value) -> Value:
    """`x[index]`: the rank is kept only through plain integer and slice indices."""
    mask = any(isinstance(part, Tensor) and part.dtype == "bool" for part in index_parts(index))
    sizes = _sizes_after(base.sizes, index_parts(index))
    order = "strided" if _leaves_gaps(index_parts(index)) else None
    return replace(base.reshaped(sizes), unbacked=base.unbacked or mask, random=False, order=order)


def _leaves_gaps(parts: tuple[Value, ...]) -> bool:
    """`x[:, 0]`: one column out of several rows."""
    whole = Sequence(SIZE, "slice")
    return len(parts) == 2 and parts[0] == whole and isinstance(parts[1], (Const, Host)) and parts[1].kind == "int"


def index_parts(index: Value) -> tuple[Value, ...]:
    return index.items if isinstance(index, Tuple_) else (index,)


def _sizes_after(sizes: tuple[int | None, ...] | None, parts: tuple[Value, ...]) -> tuple[int | None, ...] | None:
    if sizes is None:
        return None
    left = list(sizes)
    result: list[int | None] = []
    for part in parts:
        match part:
            case Const(value=bool()) | Tensor() | Tuple_():
                return None
            case Const(value=None):
                result.append(1)
            case Const(value=int()) | Host(kind="int") | SizeInt() if left:
                left.pop(0)
            case Sequence(kind="slice") if left:
                left.pop(0)
                result.append(None)
            case _:
                return None
    return (*result, *left)


def binary(frame: Frame, span: Span, operator: str, left: Value, right: Value) -> Value:
    left, right = known(left), known(right)
    if operator == "mod" and isinstance(left, (Const, Host)) and left.kind == "str":
        for part in index_parts(right):
            frame.observe(Format(span, part, "percent"))
    if isinstance(left, Tensor) or isinstance(right, Tensor):
        frame.observe(Operation(span, operator, left, right))
    return protocols.operate(frame, span, operator, left, right) or result_of(operator, left, right)


def compare(frame: Frame, span: Span, operator: str, left: Value, right: Value) -> Value:
    left, right = known(left), known(right)
    if operator in ("in", "not in"):
        return _membership(frame, span, left, right, operator == "in")
    if isinstance(left, Tensor) or isinstance(right, Tensor):
        if NONE in (left, right) or any(isinstance(v, Const) and isinstance(v.value, str) for v in (left, right)):
            return Host("bool")
        frame.observe(Operation(span, operator, left, right))
        return result_of(operator, left, right)
    if isinstance(left, Const) and isinstance(right, Const):
        if left.kind == "str":
            frame.guard(Kind.VALUE, span, (left.value, right.value))
        return fold(operator, left, right) or Host("bool")
    frame.observe(Compared(span, operator, left, right))
    if (answer := protocols.special(frame, span, left, protocols.COMPARISONS[operator], right)) is not None:
        return answer
    _compare_items(frame, span, left, right)
    if isinstance(left, External) and isinstance(right, External):
        return Const((left == right) == (operator == "==")) if operator in ("==", "!=") else Host("bool")
    if isinstance(left, Scalar) or isinstance(right, Scalar):
        return Scalar("bool")
    if isinstance(left, SizeInt) or isinstance(right, SizeInt) or _counts(left) or _counts(right):
        return conditions.SIZE_TEST
    return UNKNOWN if UNKNOWN in (left, right) else Host("bool")  # of tensors it is a tensor


def _compare_items(frame: Frame, span: Span, left: Value, right: Value) -> None:
    """Lists and dicts are compared item by item, which needs the truth of each comparison of tensors."""
    match left, right:
        case (Tuple_(items=ours), Tuple_(items=theirs)) if len(ours) == len(theirs):
            construct, pairs = "list", [*zip(ours, theirs, strict=True)]
        case (Mapping(items=ours), Mapping(items=theirs)) if len(ours) == len(theirs):
            construct, pairs = "dict", [(a, b) for (_, a), (_, b) in zip(ours, theirs, strict=True)]
        case _:
            return
    for pair in pairs:
        if all(isinstance(known(side), Tensor) for side in pair):
            frame.observe(Branch(span, pair[0], construct))
            return


def _counts(value: Value) -> bool:
    """A number handed in, such as a step: it takes many values, so that either branch gets its turn."""
    return isinstance(value, Host) and value.kind in ("int", "float") and value.origin.startswith("argument ")


def _membership(frame: Frame, span: Span, item: Value, container: Value, positive: bool) -> Value:
    """`item in container` compares one by one; with tensors among them Python needs their truth."""
    if isinstance(container, Tensor):
        frame.observe(Branch(span, container, "in"))
        return Host("bool")
    if isinstance(container, (External, ExternalObject, Instance)):
        protocols.special(frame, span, container, "__contains__", item)
    parts = container.items if isinstance(container, Tuple_) else (element_of(container),)
    if isinstance(item, Tensor) and any(isinstance(part, Tensor) for part in parts):
        frame.observe(Branch(span, item, "in"))
    if isinstance(item, Const) and isinstance(container, Mapping) and container.rest is None:
        return Const((item.value in dict(container.items)) == positive)
    if isinstance(item, Const) and isinstance(container, Tuple_) and all(isinstance(p, Const) for p in container.items):
        return Const((item in container.items) == positive)
    return Host("bool")
