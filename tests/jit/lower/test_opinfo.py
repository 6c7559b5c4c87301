"""A sample of torch's own operator tests through the backend: what was native and right when last listed still is."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

pytest.importorskip("torch")
pytest.importorskip("torch_mlir")
pytest.importorskip("expecttest", reason="torch's operator tests need it")

from mlir_coverage import through_the_backend
from torch.testing._internal.common_methods_invocations import op_db

pytestmark = pytest.mark.torch
LISTED = json.loads(Path(__file__).with_name("opinfo.json").read_text(encoding="utf-8"))["native"]
INFOS = {info.formatted_name: info for info in op_db}


def test_at_least_150_operators_are_native() -> None:
    assert min(map(len, LISTED.values())) >= 150


@pytest.mark.parametrize("name", random.Random(0).sample(LISTED["fixed sizes"], 25))
def test_fixed_sizes(name: str) -> None:
    assert through_the_backend(INFOS[name], dynamic=False) == "native"


@pytest.mark.parametrize("name", random.Random(1).sample(LISTED["symbolic sizes"], 15))
def test_symbolic_sizes(name: str) -> None:
    assert through_the_backend(INFOS[name], dynamic=True) == "native"
