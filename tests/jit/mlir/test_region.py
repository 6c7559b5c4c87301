"""A region is compared with eager once, then enters native code by the shortest way that its inputs allow."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
import torch
from mlir_regions import SCALED, SCALED_SIGNATURE

from fullgraph.jit.lower.planned import Region
from fullgraph.jit.lower.signature import Artifact
from fullgraph.jit.region import NativeRegion
from fullgraph.jit.runtime import Kernel
from fullgraph.jit.worker import Worker

pytestmark = pytest.mark.torch


class Judge:
    def __init__(self) -> None:
        self.verdicts: list[str] = []

    def agreed(self, error: float) -> None:
        self.verdicts.append("agreed")

    def disagreed(self, reason: str, inputs: Sequence[Any], expected: Sequence[Any]) -> None:
        self.verdicts.append("disagreed")

    def abandoned(self, reason: str) -> None:
        self.verdicts.append("abandoned")


class Eager:
    def __init__(self, factor: float = 1.0) -> None:
        self.calls = 0
        self._factor = factor

    def __call__(self, a: torch.Tensor, b: torch.Tensor) -> tuple[torch.Tensor]:
        self.calls += 1
        return (a.exp() * b * self._factor,)


@pytest.fixture(scope="module")
def artifact() -> Artifact:
    worker = Worker()
    made = worker.compile(SCALED, SCALED_SIGNATURE)
    worker.close()
    assert isinstance(made, Artifact)
    return made


def region_of(artifact: Artifact, eager: Eager, judge: Judge, compared: bool = True) -> NativeRegion:
    described = Region(SCALED, SCALED_SIGNATURE, lambda inputs: [(4,)], ("exp", "mul"), (torch.float32,))
    return NativeRegion(Kernel(artifact, SCALED_SIGNATURE), described, eager, judge, compared)


def test_whatever_way_it_takes_the_result_is_right(artifact: Artifact) -> None:
    eager, judge = Eager(), Judge()
    region = region_of(artifact, eager, judge)
    x = torch.linspace(-1, 1, 4)
    y = torch.nn.Parameter(torch.randn(4))
    every_way = [(x, x), (x, x), (x, x), (torch.randn(8)[::2], x), (torch._neg_view(x), x), (x, y), (y, y), (x, x)]
    with torch.no_grad():
        for a, b in every_way:
            torch.testing.assert_close(region(a, b)[0], a.exp() * b)
    assert eager.calls == 1
    assert judge.verdicts == ["agreed"]
    region(x.double(), x)
    assert eager.calls == 2


def test_a_region_that_is_believed_never_runs_eagerly(artifact: Artifact) -> None:
    eager, judge = Eager(), Judge()
    region = region_of(artifact, eager, judge, compared=False)
    x = torch.randn(4)
    for _ in range(3):
        torch.testing.assert_close(region(x, x)[0], x.exp() * x)
    assert eager.calls == 0
    assert judge.verdicts == []


def test_a_region_that_differs_runs_eagerly_for_ever(artifact: Artifact) -> None:
    eager, judge = Eager(2.0), Judge()
    region = region_of(artifact, eager, judge)
    x = torch.randn(4)
    for _ in range(4):
        torch.testing.assert_close(region(x, x)[0], x.exp() * x * 2)
    assert eager.calls == 4
    assert judge.verdicts == ["disagreed"]
