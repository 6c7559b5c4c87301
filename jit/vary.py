"""The variations of a call: other sizes, types, layouts, modes and scalars than it was compiled for."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import torch
from torch.utils import _pytree as pytree

SIZES_MORE = (1, 2, 5)
"""By how much a size grows, call by call: a function that admits any size is compiled for the first of these only."""
SCALARS_MORE = (1, 2, 3)


@dataclass(frozen=True, slots=True)
class Call:
    """Arguments, the module that is called or owns what is called, and what holds while it runs."""

    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    module: torch.nn.Module | None
    around: Callable[[], AbstractContextManager[Any]] = contextlib.nullcontext

    def mapped(self, change: Callable[[torch.Tensor], torch.Tensor]) -> Call:
        def leaf(value: Any) -> Any:
            return change(value) if isinstance(value, torch.Tensor) else value

        args, kwargs = pytree.tree_map(leaf, (self.args, self.kwargs))
        return replace(self, args=args, kwargs=kwargs)

    @property
    def tensors(self) -> list[torch.Tensor]:
        return [leaf for leaf in pytree.tree_leaves((self.args, self.kwargs)) if isinstance(leaf, torch.Tensor)]


@dataclass(frozen=True, slots=True)
class Variation:
    """One changed call; calls with one label change the same thing."""

    label: str
    change: str
    call: Call


def variations(kind: str, base: Call) -> Iterator[Variation]:
    """The calls of one of `targets.VARIATIONS`; none where there is nothing to change."""
    yield from KINDS[kind](base)


def _sizes(dimension: int, label: str, base: Call) -> Iterator[Variation]:
    sizes = sorted({tensor.shape[dimension] for tensor in base.tensors if _resizable(tensor, dimension)})
    for more in SIZES_MORE if sizes else ():
        old, new = (" and ".join(str(size + extra) for size in sizes) for extra in (0, more))
        yield Variation(label, f"{old} → {new}", base.mapped(partial(_grown, dimension, more)))


def _resizable(tensor: torch.Tensor, dimension: int) -> bool:
    return tensor.dim() > dimension and tensor.shape[dimension] > 0


def _grown(dimension: int, more: int, tensor: torch.Tensor) -> torch.Tensor:
    """The tensor with its first rows once more at the end, so that integers stay as valid as they are."""
    if not _resizable(tensor, dimension):
        return tensor
    size = tensor.shape[dimension]
    rows = torch.arange(size + more, device=tensor.device) % size
    return tensor.detach().index_select(dimension, rows).requires_grad_(tensor.requires_grad)


def _dtype(base: Call) -> Iterator[Variation]:
    floating = [tensor.dtype for tensor in base.tensors if tensor.is_floating_point()]
    if not floating and base.module is not None:
        floating = [tensor.dtype for tensor in base.module.parameters() if tensor.is_floating_point()]
    if not floating:
        return
    old, module = floating[0], base.module
    new = torch.float32 if old is not torch.float32 else torch.bfloat16

    def converted(tensor: torch.Tensor) -> torch.Tensor:
        changed = tensor.detach().to(new) if tensor.dtype is old else tensor
        return changed.requires_grad_(tensor.requires_grad)

    around = partial(_converted, module, old, new) if module is not None else contextlib.nullcontext
    yield Variation("dtype", f"{old} → {new}".replace("torch.", ""), replace(base.mapped(converted), around=around))


@contextlib.contextmanager
def _converted(module: torch.nn.Module, old: torch.dtype, new: torch.dtype) -> Iterator[None]:
    module.to(new)
    try:
        yield
    finally:
        module.to(old)


def _strides(base: Call) -> Iterator[Variation]:
    if any(tensor.numel() > 1 for tensor in base.tensors):
        yield Variation("strides", "tensors that are not contiguous", base.mapped(_strided))


def _strided(tensor: torch.Tensor) -> torch.Tensor:
    if tensor.numel() <= 1:
        return tensor
    spread = tensor.detach().unsqueeze(-1).repeat(*[1] * tensor.dim(), 2)[..., 0]
    return spread.requires_grad_(tensor.requires_grad)


def _mode(base: Call) -> Iterator[Variation]:
    if base.module is not None:
        names = ("evaluation", "training")
        old, new = base.module.training, not base.module.training
        around = partial(_in_mode, base.module, new)
        yield Variation("mode", f"in {names[new]} mode", replace(base, around=around))
        yield Variation("mode", f"back to {names[old]} mode", base)


@contextlib.contextmanager
def _in_mode(module: torch.nn.Module, training: bool) -> Iterator[None]:
    module.train(training)
    try:
        yield
    finally:
        module.train(not training)


def _grad(base: Call) -> Iterator[Variation]:
    yield Variation("grad: no_grad", "under torch.no_grad()", replace(base, around=torch.no_grad))
    if any(tensor.is_floating_point() or tensor.is_complex() for tensor in base.tensors):
        yield Variation("grad: requires_grad", "inputs require gradients", base.mapped(_requiring))


def _requiring(tensor: torch.Tensor) -> torch.Tensor:
    if not (tensor.is_floating_point() or tensor.is_complex()):
        return tensor
    return tensor.detach().clone().requires_grad_(not tensor.requires_grad)


def _scalars(base: Call) -> Iterator[Variation]:
    leaves, structure = pytree.tree_flatten((base.args, base.kwargs))
    paths = [path for path, _ in pytree.tree_flatten_with_path((base.args, base.kwargs))[0]]
    for index, value in enumerate(leaves):
        for changed in _other_scalars(value):
            args, kwargs = pytree.tree_unflatten([*leaves[:index], changed, *leaves[index + 1 :]], structure)
            label = f"scalars: {_named(paths[index])}"
            yield Variation(label, f"{value!r} → {changed!r}", replace(base, args=args, kwargs=kwargs))


def _other_scalars(value: Any) -> Iterable[Any]:
    match value:
        case bool():
            return (not value,)
        case int():
            return [value + more for more in SCALARS_MORE]
        case float():
            return [value + more / 2 for more in SCALARS_MORE]
        case str():
            return [value + "_" * more for more in SCALARS_MORE]
    return ()


def _named(path: Iterable[Any]) -> str:
    """Of a key path into `(args, kwargs)`: the argument's name or position, and what follows it."""
    _, first, *rest = path
    name = str(first.key) if isinstance(first, pytree.MappingKey) else f"argument {first.idx + 1}"
    return name + pytree.keystr(tuple(rest))


KINDS: dict[str, Callable[[Call], Iterator[Variation]]] = {
    "batch": partial(_sizes, 0, "batch"),
    "seq": partial(_sizes, 1, "seq"),
    "dtype": _dtype,
    "strides": _strides,
    "mode": _mode,
    "grad": _grad,
    "scalars": _scalars,
}
