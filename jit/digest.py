"""A value in brief, to be compared with that of another process: its form exactly, its numbers nearly."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

SAMPLES = 256
"""Elements of a tensor that are kept."""
RELATIVE, ABSOLUTE = 1e-3, 1e-5


@dataclass(frozen=True, slots=True)
class Digest:
    """Structure, types and sizes as text; some of the numbers."""

    form: str
    numbers: tuple[float, ...]

    @classmethod
    def restored(cls, fields: dict[str, Any]) -> Digest:
        """From what `asdict` and JSON made of it."""
        return cls(fields["form"], tuple(fields["numbers"]))

    def same(self, other: Digest) -> bool:
        return self.form == other.form and all(map(_near, self.numbers, other.numbers))


def _near(a: float, b: float) -> bool:
    return (math.isnan(a) and math.isnan(b)) or math.isclose(a, b, rel_tol=RELATIVE, abs_tol=ABSOLUTE)


def digest(value: object) -> Digest:
    from torch.utils import _pytree as pytree

    leaves, spec = pytree.tree_flatten(value)
    forms, numbers = [str(spec)], list[float]()
    for leaf in leaves:
        form, found = _leaf(leaf)
        forms.append(form)
        numbers.extend(found)
    return Digest("; ".join(forms), tuple(numbers))


def _leaf(leaf: object) -> tuple[str, Iterator[float]]:
    import torch

    match leaf:
        case torch.Tensor():
            return f"{leaf.dtype}{list(leaf.shape)}", _samples(leaf)
        case bool() | str() | None:
            return repr(leaf), iter(())
        case int() | float():
            return type(leaf).__name__, iter((float(leaf),))
        case _:
            return type(leaf).__qualname__, iter(())


def _samples(tensor: object) -> Iterator[float]:
    import torch

    assert isinstance(tensor, torch.Tensor)
    with torch.no_grad():
        flat = tensor.detach().resolve_conj().resolve_neg().cpu().flatten()
        kept = flat[:: max(1, len(flat) // SAMPLES)]
        parts = torch.view_as_real(kept).flatten() if kept.is_complex() else kept
        yield from map(float, parts.tolist())
