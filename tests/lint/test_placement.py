"""Where `torch.compile` is put: what others keep of the module it replaces, and how they name its parameters."""

from __future__ import annotations

import pytest
from fixing import fixed
from project_on_disk import ProjectOnDisk, lines

from fullgraph.lint.findings import Confidence

KEEPS = """
import torch
from torch import nn

class Base:
    def run(self, x):
        return [part(x) for part in self.parts]

class Keeps(Base):
    def __init__(self, parts, name=""):
        self.parts = tuple(parts)

class Other:
    def __init__(self, parts):
        self.size = len(parts)
"""


def placed(project: ProjectOnDisk, program: str, confidence: Confidence = Confidence.LIKELY) -> list[tuple[str, int]]:
    """Code and line in the program, which stands below the classes."""
    project.write({"m.py": KEEPS + program})
    above = KEEPS.count("\n")
    found = lines(project.check(min_confidence=confidence))
    return [(code, line - above) for _, code, line in found]


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        ("Keeps(layers)", [("FG603", 3)]),
        ("Keeps(name='a', parts=layers)", [("FG603", 3)]),
        ("Other(layers)", []),
        ("len(layers)", []),
        ("Keeps(layers[1:])", []),
    ],
)
def test_who_keeps_and_calls_a_list_before_it_is_compiled(
    project: ProjectOnDisk, made: str, expected: list[tuple[str, int]]
) -> None:
    program = f"""
def build(layers):
    kept = {made}
    for i, layer in enumerate(layers):
        layers[i] = torch.compile(layer)
    return kept
"""
    assert placed(project, program) == expected


def test_what_is_set_anew_in_between_is_another_module(project: ProjectOnDisk) -> None:
    program = """
def build(layers):
    kept = Keeps(layers)
    layers = nn.ModuleList(nn.Linear(2, 2) for _ in range(3))
    layers = torch.compile(layers)
    return kept
"""
    assert placed(project, program) == []


def test_where_the_compiled_one_is_called_too_it_may_be_meant(project: ProjectOnDisk) -> None:
    program = """
def train(model, x):
    kept = Keeps(model)
    model = torch.compile(model)
    return model(x), kept.run(x)
"""
    assert placed(project, program) == []
    assert placed(project, program, Confidence.POSSIBLE) == [("FG603", 3)]


def test_the_other_functions_of_a_file_may_call_a_global(project: ProjectOnDisk) -> None:
    program = """
model = nn.Linear(2, 2)
kept = Keeps(model)
model = torch.compile(model)
"""
    assert placed(project, program) == [("FG603", 3)]
    assert placed(project, program + "\ndef predict(x):\n    return model(x)\n") == []


NAMED = """
import torch
from torch import nn

class Averages:
    def __init__(self, model):
        self.kept = {lookup}

    def update(self, model):
        for name, value in model.named_parameters():
            {use}

net = nn.Linear(2, 2)
averages = Averages(net)
fast = torch.compile(net)
averages.update({passed})
"""


@pytest.mark.parametrize(
    ("lookup", "use", "passed", "expected"),
    [
        ("dict(model.named_parameters())", "self.kept[name].add_(value)", "fast", True),
        ("model.state_dict()", "self.kept.get(name)", "fast", True),
        ("{name: 0 for name, _ in model.named_buffers()}", "print(name in self.kept)", "fast", True),
        ("dict(model.named_parameters())", "self.kept[name].add_(value)", "net", False),
        ("dict(model.named_parameters())", "print(name)", "fast", False),
        ("[value for _, value in model.named_parameters()]", "self.kept[name].add_(value)", "fast", False),
    ],
)
def test_names_of_a_module_and_of_the_compiled_one(
    project: ProjectOnDisk, lookup: str, use: str, passed: str, expected: bool
) -> None:
    program = NAMED.replace("{lookup}", lookup).replace("{use}", use).replace("{passed}", passed)
    project.write({"m.py": program})
    assert lines(project.check()) == ([("m.py", "FG604", program.count("\n"))] if expected else [])


LOOPS = [
    (
        "def run(batches):\n    # all of them\n    for batch in batches:\n        # once\n"
        "        fast = torch.compile(scale)  # here\n        fast(batch)\n",
        "def run(batches):\n    # all of them\n    # once\n    fast = torch.compile(scale)  # here\n"
        "    for batch in batches:\n        fast(batch)\n",
    ),
    (
        "while True:\n    print(1)\n    fast = torch.compile(scale, dynamic=True)\n    fast(torch.ones(2))\n",
        "fast = torch.compile(scale, dynamic=True)\nwhile True:\n    print(1)\n    fast(torch.ones(2))\n",
    ),
]
LEFT = [
    "for x in (1, 2):\n    fast = torch.compile(scale)\n",
    "fast = None\nfor x in (1, 2):\n    print(fast)\n    fast = torch.compile(scale)\n    fast(torch.ones(x))\n",
    "for x in (1, 2):\n    fast = torch.compile(scale)\n    fast(torch.ones(x))\n    fast = None\n",
    "for x in (1, 2):\n    if x > 1:\n        fast = torch.compile(scale)\n        fast(torch.ones(x))\n",
    "for x in (1, 2):\n    y = torch.compile(scale)(torch.ones(x))\n    print(y)\n",
]
SCALE = "import torch\n\ndef scale(x):\n    return x * 2\n\n"


@pytest.mark.parametrize(("before", "after"), LOOPS)
def test_compiling_is_moved_before_the_loop(project: ProjectOnDisk, before: str, after: str) -> None:
    assert fixed(project, SCALE + before) == SCALE + after


@pytest.mark.parametrize("program", LEFT)
def test_compiling_stays_where_moving_it_would_change_more(project: ProjectOnDisk, program: str) -> None:
    assert fixed(project, SCALE + program) == SCALE + program
    assert "FG607" in {finding.code for finding in project.check().findings}
