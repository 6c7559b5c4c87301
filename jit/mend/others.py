"""Other inputs of the kind that were made up: they take the other ways through a program, where it has several."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import torch

from ..vary import Call, Variation
from .trial import GRADIENTS, OTHERS

DERIVED = ("as given", "negated", "zeros", "times 100")
"""For which inputs gradients are asked for: where a value that is not selected has none that is finite, too."""


def others(base: Call) -> Iterator[Variation]:
    """Sizes and types stay, so that nothing need be compiled again but for gradients."""
    floats = [tensor for tensor in base.tensors if tensor.is_floating_point()]
    changes = CHANGES if floats else {name: CHANGES[name] for name in ("in reverse order", "zeros")}
    for change in DERIVED if floats else ():
        made = base.mapped(CHANGES.get(change, torch.clone)).mapped(_requiring)
        yield Variation(GRADIENTS, f"{change}, with gradients", made)
    for change, make in changes.items() if base.tensors else ():
        yield Variation(OTHERS, change, base.mapped(make))


def _floating(change: Callable[[torch.Tensor], torch.Tensor]) -> Callable[[torch.Tensor], torch.Tensor]:
    def changed(tensor: torch.Tensor) -> torch.Tensor:
        made = change(tensor.detach()) if tensor.is_floating_point() else tensor.detach().clone()
        return made.requires_grad_(tensor.requires_grad)

    return changed


def _reversed(tensor: torch.Tensor) -> torch.Tensor:
    flat = tensor.detach().reshape(-1).flip(0)
    changed = ~flat if flat.dtype is torch.bool else flat
    return changed.reshape(tensor.shape).contiguous().requires_grad_(tensor.requires_grad)


def _zeros(tensor: torch.Tensor) -> torch.Tensor:
    return torch.zeros_like(tensor).requires_grad_(tensor.requires_grad)


def _with(tensor: torch.Tensor, value: float) -> torch.Tensor:
    flat = tensor.flatten().clone()
    flat[:1] = value
    return flat.reshape(tensor.shape)


def _drawn(tensor: torch.Tensor, seed: int) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(tensor.shape, generator=generator).to(tensor)


def _requiring(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.detach().requires_grad_(tensor.is_floating_point())


CHANGES: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "negated": _floating(torch.neg),
    "times 100": _floating(lambda tensor: 100 * tensor),
    "times 0.01": _floating(lambda tensor: 0.01 * tensor),
    "negated, times 0.01": _floating(lambda tensor: -0.01 * tensor),
    "drawn anew": _floating(partial(_drawn, seed=1)),
    "drawn once more": _floating(partial(_drawn, seed=2)),
    "all positive": _floating(lambda tensor: tensor.abs() + 0.5),
    "in reverse order": _reversed,
    "zeros": _zeros,
    "negative zeros": _floating(lambda tensor: -torch.zeros_like(tensor)),
    "infinity among them": _floating(partial(_with, value=torch.inf)),
    "NaN among them": _floating(partial(_with, value=torch.nan)),
}
