"""Holds a region's native results against those of eager: tensors go in, the largest difference and a verdict come out.

A mismatch leaves a folder from which it can be reproduced.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import platformdirs
import torch

from .lower.signature import Signature

TOLERANCE = {torch.float64: 1e-9, torch.float32: 1e-4, torch.bfloat16: 4e-2, torch.float16: 5e-3}
"""Absolute and relative, added up; sums are made in another order. Other types have to agree exactly."""
CHUNK = 1 << 20
"""Elements compared at a time, so that comparing needs little memory."""
MOST_SAVED = 256 << 20
"""Bytes of inputs that a reproducer may hold."""


@dataclass(frozen=True, slots=True)
class Comparison:
    max_abs_error: float
    mismatch: str | None = None
    """What differs, if it is more than rounding."""


def compare(
    actual: Sequence[torch.Tensor], expected: Sequence[torch.Tensor], precisions: Sequence[torch.dtype]
) -> Comparison:
    """`precisions` are the coarsest types in which each of them was computed."""
    largest = 0.0
    for number, (own, reference, precision) in enumerate(zip(actual, expected, precisions, strict=True)):
        if (own.shape, own.dtype) != (reference.shape, reference.dtype):
            kinds = (f"{item.dtype} {list(item.shape)}" for item in (own, reference))
            return Comparison(largest, f"output {number} is {' where eager gives '.join(kinds)}")
        error, wrong = _difference(own, reference, precision)
        largest = max(largest, error)
        if wrong:
            text = f"output {number} differs from eager in {wrong} of {own.numel()} elements, by up to {error:g}"
            return Comparison(largest, text)
    return Comparison(largest)


def _difference(actual: torch.Tensor, expected: torch.Tensor, precision: torch.dtype) -> tuple[float, int]:
    """The largest absolute difference, and how many elements differ by more than rounding."""
    largest, wrong = 0.0, 0
    tolerance = TOLERANCE.get(precision, 0.0) if actual.is_floating_point() else 0.0
    for own, reference in zip(_chunks(actual), _chunks(expected), strict=True):
        same = (own == reference) | ((own != own) & (reference != reference))
        own, reference = own[~same].double(), reference[~same].double()
        error = (own - reference).abs()
        close = (error <= tolerance * (1 + reference.abs())) & own.isfinite() & reference.isfinite()
        wrong += int((~close).sum())
        largest = max(largest, float(error.nan_to_num(nan=torch.inf).max())) if error.numel() else largest
    return largest, wrong


def _chunks(tensor: torch.Tensor) -> Sequence[torch.Tensor]:
    return torch.split(tensor.detach().reshape(-1), CHUNK)


SCRIPT = '''\
"""Compiles the region in this folder, runs it on the inputs and compares with what eager gave."""

from pathlib import Path

import torch

from fullgraph.jit.compare import compare
from fullgraph.jit.lower.signature import Failed, ScalarSpec, Signature, TensorSpec
from fullgraph.jit.runtime import Kernel
from fullgraph.jit.worker import Worker

SIGNATURE = {signature!r}

folder = Path(__file__).parent
artifact = Worker().compile((folder / "region.mlir").read_text(), SIGNATURE)
if isinstance(artifact, Failed):
    raise SystemExit(artifact.reason)
inputs, expected = torch.load(folder / "inputs.pt"), torch.load(folder / "expected.pt")
actual = Kernel(artifact, SIGNATURE).call(inputs, [tensor.shape for tensor in expected])
print(compare(actual, expected, {precisions!r}))
'''


def write_reproducer(
    folder: Path,
    text: str,
    signature: Signature,
    precisions: Sequence[torch.dtype],
    inputs: Sequence[object],
    expected: Sequence[torch.Tensor],
) -> Path | None:
    """Where it was written; None if it is too large."""
    saved = [item for item in (*inputs, *expected) if isinstance(item, torch.Tensor)]
    if sum(item.untyped_storage().nbytes() for item in saved) > MOST_SAVED:
        return None
    place = folder / hashlib.sha256(text.encode()).hexdigest()[:16]
    place.mkdir(parents=True, exist_ok=True)
    (place / "region.mlir").write_text(text)
    (place / "reproduce.py").write_text(SCRIPT.format(signature=signature, precisions=precisions))
    detached = [item.detach() if isinstance(item, torch.Tensor) else item for item in inputs]
    torch.save(detached, place / "inputs.pt")
    torch.save([item.detach() for item in expected], place / "expected.pt")
    return place


def reproducers(dump: Path | None) -> Path:
    return (dump or platformdirs.user_state_path("fullgraph")) / "mismatches"
