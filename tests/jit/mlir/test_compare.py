"""Rounding passes, everything else is a mismatch, and a mismatch can be reproduced."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import torch
from mlir_regions import SCALED, SCALED_SIGNATURE

from fullgraph.jit import compare as comparing
from fullgraph.jit.compare import Comparison, compare, write_reproducer

pytestmark = pytest.mark.torch
NAN, INF = float("nan"), float("inf")


def compared(actual: list[torch.Tensor], expected: list[torch.Tensor]) -> Comparison:
    return compare(actual, expected, [tensor.dtype for tensor in expected])


@pytest.mark.parametrize(
    ("actual", "expected"),
    [
        ([1.0, NAN, INF, -INF], [1.0, NAN, INF, -INF]),
        ([1.0, 1e6], [1.00001, 1e6 + 10]),
        ([], []),
        ([0.0], [-0.0]),
    ],
)
def test_equal(actual: list[float], expected: list[float]) -> None:
    assert compared([torch.tensor(actual)], [torch.tensor(expected)]).mismatch is None


@pytest.mark.parametrize(
    ("actual", "expected"),
    [([1.0], [1.01]), ([NAN], [1.0]), ([1.0], [NAN]), ([INF], [1.0]), ([1.0], [INF]), ([INF], [-INF])],
)
def test_unequal(actual: list[float], expected: list[float]) -> None:
    assert compared([torch.tensor(actual)], [torch.tensor(expected)]).mismatch is not None


@pytest.mark.parametrize("dtype", [torch.int64, torch.int32, torch.uint8, torch.bool])
def test_integers_have_to_agree(dtype: torch.dtype) -> None:
    one, zero = torch.tensor([1], dtype=dtype), torch.tensor([0], dtype=dtype)
    assert compared([one], [one]).mismatch is None
    assert compared([one], [zero]).mismatch is not None


def test_what_was_rounded_to_half_precision_is_held_to_its_precision() -> None:
    one, near, far = torch.tensor([1.0]), torch.tensor([1.01]), torch.tensor([1.1])
    assert compare([near], [one], [torch.bfloat16]).mismatch is None
    assert compare([far], [one], [torch.bfloat16]).mismatch is not None
    assert compare([one.long() + 1], [one.long()], [torch.bfloat16]).mismatch is not None


def test_the_largest_difference_is_of_all_outputs() -> None:
    actual = [torch.tensor([1.0, 2.0]), torch.tensor([3.0])]
    expected = [torch.tensor([1.0, 2.00002]), torch.tensor([3.00001])]
    assert compared(actual, expected).max_abs_error == pytest.approx(2e-5, rel=0.05)


def test_shape_and_type_count() -> None:
    assert compared([torch.ones(2)], [torch.ones(3)]).mismatch == (
        "output 0 is torch.float32 [2] where eager gives torch.float32 [3]"
    )
    assert compared([torch.ones(2)], [torch.ones(2).double()]).mismatch is not None


def test_every_chunk_is_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(comparing, "CHUNK", 2)
    text = compared([torch.zeros(5)], [torch.tensor([0.0, 0, 0, 0, 9])]).mismatch
    assert text == "output 0 differs from eager in 1 of 5 elements, by up to 9"


def test_gradients_do_not_matter() -> None:
    assert compared([torch.ones(2)], [torch.ones(2, requires_grad=True)]).mismatch is None


def test_a_reproducer_runs_by_itself(tmp_path: Path) -> None:
    a, b = torch.randn(4), torch.nn.Parameter(torch.randn(4))
    folder = write_reproducer(tmp_path, SCALED, SCALED_SIGNATURE, [torch.float32], [a, b], [a.exp() * b + 1])
    assert folder is not None
    done = subprocess.run([sys.executable, folder / "reproduce.py"], capture_output=True, text=True, check=False)
    assert "output 0 differs from eager in 4 of 4 elements, by up to 1" in done.stdout, done.stderr


def test_large_inputs_are_not_saved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(comparing, "MOST_SAVED", 10)
    assert write_reproducer(tmp_path, SCALED, SCALED_SIGNATURE, [torch.float32], [torch.ones(4)], []) is None
    assert list(tmp_path.iterdir()) == []
