"""The packed table of torch's API against the installed torch."""

from __future__ import annotations

import functools
import itertools
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from fullgraph.lint.checks.torch_arity import misfit
from fullgraph.lint.torch_api import load
from fullgraph.lint.values import UNKNOWN, Arguments

ROOT = Path(__file__).parents[2]
TABLE: dict[str, Any] = json.loads((ROOT / "rules" / "torch_api.json").read_text(encoding="utf-8"))
KINDS = {"tensor", "tensors", "int", "float", "bool", "number", "size", "dtype", "str", "none", "unknown"}


def groups(namespace: str) -> list[dict[str, str]]:
    kinds = TABLE["kinds"][namespace]
    return [kinds["attributes"], kinds["methods"]] if namespace == "torch.Tensor" else [kinds]


def kind(namespace: str, name: str) -> str | None:
    return next((k for group in groups(namespace) for k, names in group.items() if name in names.split()), None)


@pytest.mark.parametrize("namespace", TABLE["kinds"])
def test_kinds_are_known_and_each_name_has_one(namespace: str) -> None:
    for group in groups(namespace):
        names = [name for listed in group.values() for name in listed.split()]
        assert set(group) <= KINDS
        assert len(names) == len(set(names))


@pytest.mark.parametrize(
    ("namespace", "name", "expected"),
    [
        ("torch", "sin", "tensor"),
        ("torch", "max", "tensor"),
        ("torch", "topk", "tensors"),
        ("torch", "where", "tensors"),
        ("torch", "is_tensor", "bool"),
        ("torch.Tensor", "shape", "size"),
        ("torch.Tensor", "size", "size"),
        ("torch.Tensor", "dim", "int"),
        ("torch.Tensor", "item", "number"),
        ("torch.Tensor", "__eq__", "tensor"),
        ("torch.Tensor", "__len__", "int"),
        ("torch.nn.functional", "max_pool2d", "tensor"),
        ("torch.linalg", "svd", "tensors"),
    ],
)
def test_kind_of_a_well_known_name(namespace: str, name: str, expected: str) -> None:
    assert kind(namespace, name) == expected


def test_arguments_that_change_the_kind() -> None:
    assert TABLE["given"]["torch.max"] == "dim=tensors"
    assert TABLE["given"]["torch.Tensor.size"] == "dim=int"


@pytest.mark.torch
@pytest.mark.parametrize("namespace", TABLE["kinds"])
def test_every_name_exists(namespace: str) -> None:
    torch = pytest.importorskip("torch")
    owner = functools.reduce(getattr, namespace.split(".")[1:], torch)
    names = [name for group in groups(namespace) for listed in group.values() for name in listed.split()]
    assert [name for name in names if not hasattr(owner, name)] == []


def small_functions() -> list[tuple[str, int]]:
    """Fifty functions with a maximum, spread over the alphabet."""
    found = [
        (name, int(key.split()[1]))
        for key, names in TABLE["parameters"]["torch"].items()
        if key.split()[1] in "12" and key.split()[2] == "input"
        for name in names.split()
    ]
    return sorted(found)[:: max(1, len(found) // 50)][:50]


@pytest.mark.torch
@pytest.mark.parametrize(("name", "maximum"), small_functions())
def test_one_argument_too_many_is_a_type_error(name: str, maximum: int) -> None:
    torch = pytest.importorskip("torch")
    with pytest.raises(TypeError):
        getattr(torch, name)(*[torch.ones(2, 2)] * (maximum + 1))


@pytest.mark.torch
def test_table_is_up_to_date() -> None:
    pytest.importorskip("torch")
    assert subprocess.run([sys.executable, ROOT / "tools" / "torch_api.py", "--check"], check=False).returncode == 0


@pytest.mark.torch
def test_what_torch_passes_in_its_own_operator_tests_fits_the_table() -> None:
    torch = pytest.importorskip("torch")
    pytest.importorskip("expecttest", reason="torch's operator tests need it")
    from torch.testing._internal.common_methods_invocations import op_db

    calls, refused = 0, set()
    for info in op_db:
        dtypes = info.supported_dtypes("cpu")
        dtype = next((dtype for dtype in (torch.float32, torch.int64, torch.bool) if dtype in dtypes), None)
        # `info.sample_inputs` walks the whole stack for each operator, to find a unittest to note its samples at.
        samples = () if dtype is None else info.sample_inputs_func(info, "cpu", dtype, requires_grad=False)
        for sample in itertools.islice(samples, 2):
            for symbol, tensors in ((f"torch.{info.name}", 1), (f"torch.Tensor.{info.name}", 0)):
                if (arity := load().arity(symbol)) is None:
                    continue
                keywords = tuple((name, UNKNOWN) for name in sample.kwargs)
                calls += 1
                if problem := misfit(symbol, arity, Arguments((UNKNOWN,) * (tensors + len(sample.args)), keywords)):
                    refused.add(f"{symbol} {problem}")
    assert calls > 900
    assert not refused
