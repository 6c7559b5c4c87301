"""The sizes of what torch's functions, operators and modules give, as far as literals tell."""

from __future__ import annotations

import math
from collections.abc import Sequence as Several
from typing import TypeAlias

from msgspec.structs import replace

from ..values import (
    MODULE_CONTAINERS,
    Arguments,
    Const,
    ExternalObject,
    Host,
    Mapping,
    Sequence,
    SizeInt,
    Tensor,
    Tuple_,
    Value,
    known,
)
from ..vocabulary import ELEMENTWISE, REDUCTIONS, SAME_SIZES, words

Sizes: TypeAlias = tuple[int | None, ...]
"""None for a size that is not known."""
Shape: TypeAlias = tuple[Sizes | None, Sizes]
"""A tensor's `sizes` and `tail`."""
UNKNOWN_SHAPE: Shape = (None, ())

FILLED = {"ones", "zeros", "rand", "randn", "empty"}
CONVOLUTIONS = {f"torch.nn.Conv{n}d": n for n in (1, 2, 3)} | {f"torch.nn.ConvTranspose{n}d": n for n in (1, 2, 3)}
"""Modules whose result has its channels before so many dimensions that move."""
POOLS = {
    f"torch.nn.{kind}Pool{n}d": n for kind in ("Max", "Avg", "AdaptiveMax", "AdaptiveAvg", "LP") for n in (1, 2, 3)
}
"""Modules that leave all but so many last dimensions as they are."""
KEEPING = {
    f"torch.nn.{name}"
    for name in words(
        """
        AlphaDropout BatchNorm1d BatchNorm2d BatchNorm3d CELU Dropout Dropout1d Dropout2d Dropout3d ELU GELU GroupNorm
        Hardshrink Hardsigmoid Hardswish Hardtanh Identity InstanceNorm1d InstanceNorm2d InstanceNorm3d LayerNorm
        LeakyReLU LocalResponseNorm LogSigmoid LogSoftmax Mish PReLU RMSNorm ReLU ReLU6 SELU SiLU Sigmoid Softmax
        Softplus Softshrink Softsign SyncBatchNorm Tanh Tanhshrink Threshold
        """
    )
}
"""Modules whose result has its input's sizes."""


def number(value: Value | None) -> int | None:
    match value:
        case Const(value=bool()):
            return None
        case Const(value=int() as whole):
            return whole
        case Const(value=float() as real) if real.is_integer():
            return int(real)
    return None


def option(module: ExternalObject, position: int, name: str) -> Value | None:
    """An argument that a module was made with."""
    return Arguments(module.arguments, module.options).get(position, name)


def forgotten(value: Value) -> Value:
    """Tensors and modules without their sizes, which may rest on numbers that the program does not use."""
    match value:
        case Tensor() if value.sizes or value.tail:
            return replace(value, sizes=None, tail=())
        case ExternalObject(cls=cls) if cls in MODULE_CONTAINERS or cls == "torch.nn.ModuleDict":
            return replace(value, arguments=tuple(map(forgotten, value.arguments)))
        case ExternalObject(cls=cls) if cls.startswith("torch.nn."):
            return ExternalObject(cls)
        case Tuple_(items=items):
            return replace(value, items=tuple(map(forgotten, items)))
        case Sequence(element=element):
            return replace(value, element=forgotten(element))
        case Mapping(items=items, rest=rest):
            kept = tuple((key, forgotten(item)) for key, item in items)
            return Mapping(kept, None if rest is None else forgotten(rest))
    return value


# functions


def of_arguments(name: str, arguments: Arguments) -> Sizes | None:
    """The sizes of what a torch function returns, its keywords aside."""
    inputs = [value for value in map(known, arguments.positional) if isinstance(value, Tensor)]
    last = name.rpartition(".")[2]
    if last in ELEMENTWISE and len({value.sizes for value in inputs}) == 1:
        return inputs[0].sizes
    return of_call(False, last, Arguments(arguments.positional), inputs)


def of_call(factory: bool, last: str, arguments: Arguments, inputs: Several[Tensor]) -> Sizes | None:
    """`last` is the function's own name; `inputs` are its receiver and the tensors it is given."""
    if factory:
        return of_factory(last, arguments)
    if last in ("cat", "concat", "concatenate") and len(arguments.positional) == 1 and not arguments.keywords:
        return _joined(arguments.positional[0])
    if not inputs:
        return None
    if last in SAME_SIZES:
        return inputs[0].sizes
    if last in ("matmul", "mm", "bmm") and len(inputs) == 2:
        return product(*inputs)[0]
    if last in ("view", "reshape"):
        return _asked_for(arguments if inputs[0] not in arguments.positional else Arguments(arguments.positional[1:]))
    if last == "t":
        return transposed(inputs[0].sizes)
    if last in ("transpose", "swapaxes", "swapdims"):
        dims = [whole for value in arguments.positional if (whole := number(value)) is not None]
        return transposed(inputs[0].sizes, dims) if len(dims) == 2 else None
    if last in REDUCTIONS and len(arguments.positional) <= (0 if inputs[0] not in arguments.positional else 1):
        return () if not arguments.keywords else None
    return None


def tail_of_call(last: str, arguments: Arguments, inputs: Several[Tensor]) -> Sizes:
    if last in SAME_SIZES and inputs:
        return inputs[0].tail
    match last, [value.ending for value in inputs[:2]]:
        case "linear", [_, (width, _)]:
            return (width,)
        case "matmul", [_, _]:
            return product(*inputs[:2])[1]
    return ()


def of_factory(last: str, arguments: Arguments) -> Sizes | None:
    positional = arguments.positional
    if last in FILLED:
        size = arguments.keyword("size")
        given = (size,) if size is not None else positional
        match given:
            case (Tuple_(items=items),):
                return tuple(map(number, items))
            case _ if all(isinstance(value, Const | Host | SizeInt) for value in given):
                return tuple(map(number, given))
        return None
    if last == "full" and positional and isinstance(positional[0], Tuple_):
        return tuple(map(number, positional[0].items))
    if last == "arange" and len(positional) == 1:
        return (number(positional[0]),)
    if last in ("arange", "linspace", "randperm"):
        return (None,)
    if last == "eye" and len(positional) == 1:
        return (number(positional[0]),) * 2
    if last in ("tensor", "as_tensor") and positional:
        return _of_literal(positional[0])
    return None


def _of_literal(value: Value) -> Sizes | None:
    match value:
        case Const() | Host():
            return ()
        case Tuple_(items=items) if items:
            inner = _of_literal(items[0])
            return None if inner is None else (len(items), *inner)
        case Tensor(sizes=sizes):
            return sizes
    return None


def _asked_for(arguments: Arguments) -> Sizes | None:
    """`x.view(-1, 8)`, `x.view((2, 4))`."""
    match arguments:
        case Arguments(positional=(Tuple_(items=items),), keywords=()):
            given = items
        case Arguments(positional=(Const(value=int()) | SizeInt() | Host(kind="int"), *_) as given, keywords=()):
            pass
        case _:
            return None
    spread = all(isinstance(value, Const | SizeInt | Host) for value in given) and not arguments.open_ended
    return tuple(None if size is not None and size < 0 else size for size in map(number, given)) if spread else None


def transposed(sizes: Sizes | None, dims: Several[int] = ()) -> Sizes | None:
    """With two dimensions in each other's place; those of a matrix where none are named."""
    first, second = dims or (0, 1)
    if sizes is None or (not dims and len(sizes) != 2) or not all(-len(sizes) <= dim < len(sizes) for dim in dims):
        return None
    swapped = list(sizes)
    swapped[first], swapped[second] = swapped[second], swapped[first]
    return tuple(swapped)


def _joined(parts: Value) -> Sizes | None:
    """The sizes of tensors put one after the other."""
    match parts:
        case Tuple_(items=(Tensor(sizes=(_, *rest)), *_) as items):
            lengths = [part.sizes[0] for part in map(known, items) if isinstance(part, Tensor) and part.sizes]
            known_all = len(lengths) == len(items)
            return (sum(n for n in lengths if n is not None) if known_all and None not in lengths else None, *rest)
    return None


# operators


def broadcast(tensors: Several[Tensor], alone: bool = True) -> Shape:
    """A dimension of size 1 takes the other's size; unless they are `alone` there is an operand of unknown size."""
    endings = [value.ending for value in tensors] + [()] * (not alone)
    rank = max(map(len, endings))
    if alone and all(value.sizes is not None for value in tensors):
        padded = [(1,) * (rank - len(ending)) + ending for ending in endings]
        return tuple(_common(column) for column in zip(*padded, strict=True)), ()
    padded = [(None,) * (rank - len(ending)) + ending for ending in endings]
    return None, tuple(_common(column) for column in zip(*padded, strict=True))


def _common(column: Sizes) -> int | None:
    """With a size that is not known another one wins, unless it is 1."""
    sizes = {size for size in column if size not in (1, None)}
    if len(sizes) == 1:
        return sizes.pop()
    return 1 if not sizes and None not in column else None


def product(left: Value, right: Value) -> Shape:
    """Of a matrix product."""
    if not (isinstance(left, Tensor) and isinstance(right, Tensor)):
        return UNKNOWN_SHAPE
    match left.sizes, right.sizes:
        case (rows, _), (_, columns):
            return (rows, columns), ()
        case (_,), (_, columns):
            return (columns,), ()
        case (*before, _), (_,):
            return tuple(before), ()
        case _, (_, columns):
            return None, (columns,)
        case (_, _, *_), (*_, _, columns):
            return None, (left.ending[-2], columns)
    return UNKNOWN_SHAPE


# modules


def of_module(module: ExternalObject, value: Tensor) -> Shape:
    """What a `torch.nn` module gives for `value`."""
    if module.cls in KEEPING:
        return value.sizes, value.tail
    if module.cls == "torch.nn.Linear":
        return _ending_in(value, 1, (number(option(module, 1, "out_features")),))
    if module.cls == "torch.nn.Embedding":
        return _ending_in(value, 0, (number(option(module, 1, "embedding_dim")),))
    if (moving := CONVOLUTIONS.get(module.cls)) is not None:
        return _ending_in(value, moving + 1, (number(option(module, 1, "out_channels")), *(None,) * moving))
    if (moving := POOLS.get(module.cls)) is not None:
        kept = value.ending[-moving - 1 : -moving] or (None,)
        return _ending_in(value, moving + 1, (*kept, *(None,) * moving))
    return UNKNOWN_SHAPE


def _ending_in(value: Tensor, replaced: int, ending: Sizes) -> Shape:
    """The shape where the last dimensions give way to others."""
    if value.sizes is None:
        return None, ending
    if len(value.sizes) < replaced:
        return UNKNOWN_SHAPE
    return (*value.sizes[: len(value.sizes) - replaced], *ending), ()


def elements(sizes: Sizes | None) -> int | None:
    """How many numbers a tensor of these sizes holds."""
    return None if sizes is None or None in sizes else math.prod(size for size in sizes if size is not None)
