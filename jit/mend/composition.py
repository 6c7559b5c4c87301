"""In the child: what a compiled module is made of, so that parts of it can be compiled instead."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from types import CodeType, FunctionType
from typing import Any

from torch import nn

from .trial import Composition, Kind


def composed(module: nn.Module, path: str, line: int, shown: Callable[[str], str]) -> Composition:
    """Of the module that the line compiles; `shown` gives the paths of its classes as events have them."""
    kinds: dict[type[nn.Module], int] = {}
    modules = tuple((name, kinds.setdefault(type(item), len(kinds))) for name, item in module.named_modules())
    return Composition(path, line, tuple(_kind(item, shown) for item in kinds), modules)


def _kind(kind: type[nn.Module], shown: Callable[[str], str]) -> Kind:
    own = not _is_torch(kind)
    # Methods of a base may serve its other classes as well: a break that comes through one says nothing of this class.
    methods = (*vars(kind).values(), kind.forward) if own else ()
    functions = dict.fromkeys(extent for value in methods for extent in _extent(value, shown))
    runs = own and not _is_torch(inspect.unwrap(kind.forward))
    return Kind(_holds(kind), runs, tuple(functions))


def _holds(kind: type[nn.Module]) -> str:
    if issubclass(kind, nn.ModuleDict):
        return "dict"
    return "list" if issubclass(kind, nn.ModuleList | nn.Sequential) else ""


def _is_torch(thing: Any) -> bool:
    return str(thing.__module__).partition(".")[0] == "torch"


def _extent(value: Any, shown: Callable[[str], str]) -> Iterator[tuple[str, int, int]]:
    function = inspect.unwrap(_function(value))
    if isinstance(function, FunctionType):
        code = function.__code__
        yield shown(code.co_filename), code.co_firstlineno, max(_lines(code), default=code.co_firstlineno)


def _function(value: Any) -> Any:
    """What a method, or a property, runs."""
    match value:
        case staticmethod() | classmethod():
            return value.__func__
        case property():
            return value.fget
    return value


def _lines(code: CodeType) -> Iterator[int]:
    """Of a function and those inside it."""
    yield from (line for _, _, line in code.co_lines() if line is not None)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _lines(constant)
