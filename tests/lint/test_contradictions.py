"""Sizes, dtypes and arguments that contradict each other: what is found raises in torch, and most of what raises is."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import pytest
from project_on_disk import ProjectOnDisk, lines

from fullgraph.lint.findings import Confidence

CODES = ("FG701", "FG705", "FG706")
HEAD = "import torch\nfrom torch import nn\nfrom torch.nn import functional as F\n\n@torch.compile\ndef f():\n"
SHAPES = ("2, 3", "3, 2", "1, 3", "3", "2, 1, 3", "")
FLOATS = [f"torch.ones({shape})" if shape else "torch.tensor(1.5)" for shape in SHAPES]
DTYPES = ("torch.ones(2, 2)", "torch.arange(2)", "torch.zeros(2, 2).argmax(dim=0)", "(torch.ones(2, 2) > 0)")
OF_ONE = (
    *("({}).view(3, 2)", "({}).reshape(-1, 2)", "({}).view((6,))", "({}).reshape(4)", "({}).permute(1, 0)", "({})[1]"),
    *("({})[0, 2]", "({})[-3]", "({}).sum(dim=1)", "({}).sum((0, 1))", "torch.softmax({}, 2)", "({}).unsqueeze(2)"),
    *("({}).transpose(0, 1)", "({}).size(1)", "({}).squeeze(-2)", "torch.cat([{}], dim=1)", "({}).mT @ {}"),
    *("F.linear({}, torch.ones(4, 3))", "nn.Linear(3, 4)({})", "nn.LayerNorm(3)({})", "nn.LayerNorm((2, 3))({})"),
)
OF_TWO = (
    *("({}) + {}", "({}) < {}", "({}) @ {}", "torch.matmul({}, {})", "torch.maximum({}, {})", "torch.mm({}, {})"),
    *("torch.cat([{}, {}])", "torch.cat(({}, {}), dim=-1)", "torch.stack([{}, {}])", "({}).mul({})"),
)
KINDS_OF_ONE = (
    *("({}).mean()", "({}).std()", "({}).float().mean()", "({}).mean(dtype=torch.float64)", "-({})", "~({})"),
    *("F.softmax({}, -1)", "torch.softmax({}, 0, dtype=torch.float32)", "F.gelu({})", "nn.Linear(2, 3)({})"),
    *("nn.Embedding(4, 3)({})", "F.embedding({}, torch.ones(4, 3))", "torch.ones(4, 3)[{}]", "1 - ({})", "({}) & 1"),
    *("torch.where({}, 1.0, 2.0)", "torch.ones(2, 2).masked_fill({}, 0.0)", "({}) * 2", "({}).sum()", "({}).norm()"),
    *("torch.ones(2, 2).index_select(0, ({}).flatten())", "torch.ones(2, 2).scatter(0, {}, 1.0)", "({}) | True"),
)
KINDS_OF_TWO = ("({}) - {}", "({}) @ {}", "({}) & {}", "({}) * {}", "torch.mm({}, {})", "({}) == {}")


def expressions() -> Iterator[str]:
    for values, ones, twos in ((FLOATS, OF_ONE, OF_TWO), (DTYPES, KINDS_OF_ONE, KINDS_OF_TWO)):
        for value in values:
            yield from (one.replace("{}", value) for one in ones)
        for pair in itertools.product(values, repeat=2):
            yield from (two.format(*pair) for two in twos)


@pytest.mark.torch
def test_what_is_found_raises_and_most_of_what_raises_is_found(project: ProjectOnDisk) -> None:
    torch = pytest.importorskip("torch")
    every = list(expressions())
    project.write({"m.py": HEAD + "".join(f"    {expression}\n" for expression in every)})
    found = {every[line - HEAD.count("\n") - 1] for _, code, line in lines(project.check()) if code in CODES}
    names = {"torch": torch, "nn": torch.nn, "F": torch.nn.functional}
    raising = {expression for expression in every if raises(expression, names)}
    assert found <= raising
    assert len(found) >= 0.9 * len(raising)


def raises(expression: str, names: dict[str, object]) -> bool:
    try:
        eval(expression, names)
    except (RuntimeError, IndexError, TypeError, NotImplementedError):
        return True
    return False


MODEL = """
import torch
from torch import nn
from torch.nn import functional as F

class Net(nn.Module):
    def __init__(self, width=16):
        super().__init__()
        self.first = nn.Linear(8, width)
        self.second = nn.Linear(32, 4)
        self.image = nn.Conv2d(3, 6, 3)
        self.pool = nn.MaxPool2d(2)
        self.deep = nn.Conv2d(12, 6, 3)
        self.words = nn.Embedding(100, 24)
        self.both = nn.ModuleList([nn.Linear(8, 32), nn.Linear(16, 4)])

    def forward(self, x, flag):
        {}

net = torch.compile(Net())
"""


def found(project: ProjectOnDisk, body: str, confidence: Confidence = Confidence.LIKELY) -> list[str]:
    project.write({"m.py": MODEL.format(body.replace("\n", "\n        "))})
    return [code for _, code, _ in lines(project.check(min_confidence=confidence)) if code in CODES]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("return self.second(F.gelu(self.first(x)))", ["FG705"]),
        ("return self.second(self.first(x) * x.mean())", ["FG705"]),
        ("return self.deep(self.pool(F.relu(self.image(x))))", ["FG705"]),
        ("return self.first(self.words(x.argmax(-1)))", ["FG705"]),
        ("return self.first(x) + self.second(x)", ["FG705"]),
        ("return self.first(x.argmax(-1))", ["FG706"]),
        ("return self.words(self.first(x))", ["FG706"]),
        ("for _ in range(2):\n    x = self.second(x)\nreturn x", ["FG705"]),
        # sizes that the code does not say
        ("return self.second(x)", []),
        ("return self.second(torch.cat([self.first(x), self.first(x)], -1))", []),
        ("return self.second(self.first(x).view(-1, 32))", []),
        ("return self.second(self.first(x).flatten(1))", []),
        ("return self.second(self.first(x).transpose(1, 2))", []),
        ("return self.deep(torch.cat([self.image(x)] * 2, 1))", []),
        ("y = self.first(x)\nif flag:\n    y = x\nreturn self.second(y)", []),
        ("for layer in self.both:\n    x = layer(x)\nreturn x", []),
        ("return self.words(x) + self.first(x.float()).mean()", []),
        ("return torch.ones(1, 2, 3).transpose(int(flag), 2) + torch.ones(3, 1, 1)", []),
        ("return torch.embedding(x.float(), x.argmax(-1))", []),
        # a branch that such a value never takes
        ("y = self.first(x)\nif y.shape[-1] == 32:\n    y = self.second(y)\nreturn y", []),
        ("y = self.first(x)\nif flag:\n    y = self.second(y)\nreturn y", []),
    ],
)
def test_layers_that_do_not_fit(project: ProjectOnDisk, body: str, expected: list[str]) -> None:
    assert found(project, body) == expected


def test_in_a_branch_it_is_merely_possible(project: ProjectOnDisk) -> None:
    body = "y = self.first(x)\nif flag:\n    y = self.second(y)\nreturn y"
    assert found(project, body, Confidence.POSSIBLE) == ["FG705"]


def test_a_width_that_differs_from_object_to_object_is_not_judged(project: ProjectOnDisk) -> None:
    project.write({"m.py": MODEL.format("return self.second(self.first(x))") + "wide = torch.compile(Net(width=32))\n"})
    assert [line for _, code, line in lines(project.check()) if code in CODES] == [18]


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ("x.softmax(dimension=1)", ["FG701"]),
        ("torch.cat()", ["FG701"]),
        ("torch.sum(x, axis=0, keepdims=True)", []),
        ("x.float(memory_format=torch.contiguous_format)", []),
        ("x.to(device='cpu', copy=True)", []),
        ("torch.sum(x, **flag)", []),
        ("F.softmax(x, axis=1)", ["FG701"]),
    ],
)
def test_arguments(project: ProjectOnDisk, call: str, expected: list[str]) -> None:
    assert found(project, f"return {call}") == expected
