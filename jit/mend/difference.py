"""Holds the record of one run against that of another: what the later one did otherwise."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator
from typing import TYPE_CHECKING

import torch

from ..compare import TOLERANCE
from .snapshot import VARIABLE, Leaf, Snapshot
from .trial import GRADIENTS, Compared, Difference

if TYPE_CHECKING:
    from .witness import Record, Seen

MOST = 20
"""Differences told."""


def compared(
    record: Record, reference: Record, exact: bool, unsteady: Collection[str], step_s: float | None
) -> Compared:
    """`exact` allows no rounding, and no other strides or shared memory; `unsteady` variables may differ."""
    comparison = _Comparison(exact, frozenset(unsteady))
    found = dict.fromkeys(comparison.differences(record, reference))
    told = [*[item for item in found if item.variable is None][:MOST], *(item for item in found if item.variable)]
    given = {tuple((name, leaf.form, leaf.digest) for name, leaf in call.arguments.items()) for call in record.calls}
    return Compared(len(record.calls), len(given), tuple(told), comparison.largest, comparison.largest_gradient, step_s)


class _Comparison:
    def __init__(self, exact: bool, unsteady: frozenset[str]) -> None:
        self._exact = exact
        self._unsteady = unsteady
        self._known: frozenset[str] = frozenset()
        """Names of all that the reference ever holds."""
        self.largest: float | None = None
        self.largest_gradient: float | None = None

    def differences(self, record: Record, reference: Record) -> Iterator[Difference]:
        self._known = frozenset(
            name for state in (*(call.state for call in reference.calls), reference.end) for name in state
        )
        for one, other in zip(record.calls, reference.calls, strict=False):
            during = f" (with {other.change})" if other.change else ""
            for item in self._call(one, other):
                yield Difference(item.text + during, item.variable)
        if len(record.calls) != len(reference.calls):
            text = f"compiled functions are called {len(record.calls)} times, not {len(reference.calls)}"
            yield Difference(text)
        yield from self._state(record.end, reference.end)
        if record.random != reference.random:
            yield Difference("at the end the random number generators are in another state")

    def _call(self, one: Seen, other: Seen) -> Iterator[Difference]:
        if one.entry != other.entry:
            yield Difference(f"{one.entry} is called, not {other.entry}")
            return
        if other.error and other.made_up == GRADIENTS:
            return  # it cannot be called so, and has no gradients
        yield from self._snapshot(one.arguments, other.arguments, layout=True)
        if not self._alike(one, other):
            yield Difference(f"{_error(one.error)}, not {_error(other.error)}")
            return
        yield from self._snapshot(one.value, other.value, layout=False)
        yield from self._snapshot(one.after, other.after, layout=True)
        yield from self._snapshot(one.gradients, other.gradients, layout=False, gradient=True)
        yield from self._state(one.state, other.state)
        if one.random != other.random:
            yield Difference("random numbers are drawn otherwise")

    def _alike(self, one: Seen, other: Seen) -> bool:
        """Whether both raise the same or nothing. Graphs say in their own way that an assertion does not hold."""
        if self._exact or None in (one.error, other.error):
            return one.error == other.error
        assert one.error and other.error
        return bool(one.made_up) or one.error[0] == other.error[0]

    def _snapshot(self, one: Snapshot, other: Snapshot, layout: bool, gradient: bool = False) -> Iterator[Difference]:
        yield from (Difference(f"{name} is new") for name in one if name not in other)
        for name, leaf in other.items():
            yield from map(Difference, self._leaf(name, one.get(name), leaf, layout, gradient))

    def _state(self, one: Snapshot, other: Snapshot) -> Iterator[Difference]:
        """Names that only the later run knows are no difference: a fix may need one, but for those that come later."""
        early = [name for name in one if name not in other and name in self._known and VARIABLE not in name]
        yield from (Difference(f"{name} is there already") for name in early)
        for name, leaf in other.items():
            variable = name if VARIABLE in name else None
            if variable not in self._unsteady:
                found = self._leaf(name, one.get(name), leaf, variable is None, name.endswith(".grad"))
                yield from (Difference(text, variable) for text in found)

    def _leaf(self, name: str, one: Leaf | None, other: Leaf, layout: bool, gradient: bool) -> Iterable[str]:
        if one is None:
            return (f"{name} is gone",)
        if one.form != other.form:
            return (f"{name} is {one.form}, not {other.form}",)
        if self._exact and one.shared != other.shared:
            return (f"{name} shares memory with {one.shared or 'nothing'}, not with {other.shared or 'nothing'}",)
        if layout and self._exact and one.layout != other.layout:
            return (f"{name} has the strides {one.layout}, not {other.layout}",)
        return self._numbers(name, one, other, gradient)

    def _numbers(self, name: str, one: Leaf, other: Leaf, gradient: bool) -> Iterable[str]:
        same = one.digest == other.digest
        if one.sample is None or other.sample is None:
            return () if same else (f"{name} has other values",)
        error, wrong = (0.0, 0) if same else _distance(one.sample, other.sample, self._exact)
        if gradient:
            self.largest_gradient = max(self.largest_gradient or 0.0, error)
        else:
            self.largest = max(self.largest or 0.0, error)
        if wrong or (self._exact and not same):
            how = f"by up to {error:.2g}" if error else "in the sign of zero"
            return (f"{name} differs in {wrong} of {len(one.sample)} elements, {how}",)
        return ()


def _distance(one: torch.Tensor, other: torch.Tensor, exact: bool) -> tuple[float, int]:
    """The largest difference, and how many elements differ by more than rounding, or at all."""
    if len(one) != len(other):
        return math.inf, len(one)
    tolerance = 0.0 if exact else TOLERANCE.get(one.dtype, 0.0)
    a, b = one.double(), other.double()
    same = ((a == b) & ((a.signbit() == b.signbit()) | (not exact))) | (a.isnan() & b.isnan())
    error = torch.where(a == b, 0.0, (a - b).abs())[~same]
    close = (error <= tolerance * (1 + b[~same].abs())) & error.isfinite() & (not exact)
    return float(error.nan_to_num(nan=math.inf).max()) if len(error) else 0.0, int((~close).sum())


def _error(error: tuple[str, str] | None) -> str:
    if error is None:
        return "raises nothing"
    first = error[1].partition("\n")[0][:80]
    return f"raises {error[0]}: {first}" if first else f"raises {error[0]}"
