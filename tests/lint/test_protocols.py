"""Special methods: what operators, loops and builtins run on objects, first-party or written in C; Dynamo agrees."""

from __future__ import annotations

import textwrap

import pytest
from broken_lines import broken_lines
from project_on_disk import ProjectOnDisk, lines

OPERATORS = """\
import torch

class Gate:
    def __init__(self, x):
        self.x = x

    def __bool__(self):
        return bool(self.x.sum() > 0)

    def __len__(self):
        return int(self.x.sum())

    def __add__(self, other):
        return Gate(self.x + other.sum().item())

    def __rmul__(self, other):
        return self.x * other.sum().item()

    def __lt__(self, other):
        return self.x.sum().item() < other

    def __neg__(self):
        return self.x.sum().item()

    def __hash__(self):
        return hash(self.x.sum().item())

    def __repr__(self):
        return f"Gate({self.x.sum().item()})"

    def __getitem__(self, index):
        return self.x[index].item()

    def __setitem__(self, index, value):
        self.x[index] = value.item()

    def __contains__(self, value):
        return self.x.sum().item() == value

    def __iter__(self):
        yield self.x.sum().item()

@torch.compile
def run(x):
    gate = Gate(x)
    {statement}
    return x + 1

run(torch.ones(4))
"""
STATEMENTS = {
    "bool": "x = x if gate else -x",
    "len": "x = x * len(gate)",
    "rmul": "x = x * gate",
    "neg": "x = x * -gate",
    "hash": "hash(gate)",
    "repr": "repr(gate)",
    "getitem": "x = x * gate[0]",
    "setitem": "gate[0] = x[0]",
    "contains": "3 in gate",
    "iter": "for part in gate: x = x + part",
}


@pytest.mark.torch
@pytest.mark.parametrize("statement", STATEMENTS.values(), ids=STATEMENTS)
def test_a_special_method_is_followed(statement: str, project: ProjectOnDisk) -> None:
    source = OPERATORS.replace("{statement}", statement)
    found, broken = set(_found(project, source)), set(broken_lines(project.root, source))
    assert found
    assert found <= broken


FOREIGN = """\
import array, datetime, io, operator
import torch

@torch.compile
def apply(x, value):
    {statement}
    return x + 1

def run(x):
    return apply(x, {value})

run(torch.ones(4))
"""
OBJECTS = {
    "parameters": ("for part in value: x = x + part.sum()", "torch.nn.Linear(3, 3).parameters()", True),
    "named parameters": ("dict(value)", "torch.nn.Linear(3, 3).named_parameters()", True),
    "a list of parameters": (
        "for part in value: x = x + part.sum()",
        "list(torch.nn.Linear(3, 3).parameters())",
        False,
    ),
    "list iterator": ("x = x + next(value)", "iter([1, 2])", True),
    "tuple iterator": ("x = x + next(value)", "iter((1, 2))", False),
    "keys": ("for key in value: x = x + len(key)", "{'a': 1}.keys()", False),
    "bytes": ("x = x + value[0]", "b'ab'", False),
    "bytearray": ("x = x + value[0]", "bytearray(b'ab')", True),
    "array": ("x = x + len(value)", "array.array('i', [1, 2])", True),
    "filled array": ("value[0] = 2", "array.array('i', [1, 2])", True),
    "date": ("x = x + value.year", "datetime.date(2020, 1, 1)", False),
    "text of a date": ("str(value)", "datetime.date(2020, 1, 1)", True),
    "negative time": ("-value", "datetime.timedelta(1)", True),
    "lines of a file": ("for line in value: break", "io.StringIO('a')", True),
    "getter": ("x = x + value(x)[0]", "operator.attrgetter('shape')", True),
    "own getter": ("x = x + operator.attrgetter('shape')(x)[0]", "0", False),
    "lists of tensors": ("[x.sum()] == [value]", "torch.zeros(())", True),
    "lists of numbers": ("[1] == [value]", "2", False),
    "file's address": ("x.data_ptr() == value.data_ptr()", "torch.zeros(4)", True),
}


@pytest.mark.torch
@pytest.mark.parametrize(("statement", "value", "breaks"), OBJECTS.values(), ids=OBJECTS)
def test_an_object_from_outside(statement: str, value: str, breaks: bool, project: ProjectOnDisk) -> None:
    source = FOREIGN.replace("{statement}", statement).replace("{value}", value)
    assert _found(project, source) == broken_lines(project.root, source) == ([6] if breaks else [])


def _found(project: ProjectOnDisk, source: str) -> list[int]:
    project.write({"net.py": source})
    return sorted({line for _, _, line in lines(project.check())})


def test_one_pass_over_unknown_rows_says_nothing_of_their_length(project: ProjectOnDisk) -> None:
    source = """
        import torch
        def one(x): return x + 1
        @torch.compile
        def run(xs, parts):
            columns = tuple(x.chunk(parts) for x in xs)
            return [one(*row) for row in zip(*columns)]
    """
    project.write({"m.py": textwrap.dedent(source)})
    assert lines(project.check()) == []


COMPILED_IN_PLACE = """
    import torch

    class Net(torch.nn.Module):
        def forward(self, x, steps):
            for _ in range(steps):
                x = x + 1
            return x

    net, other = Net(), torch.nn.Identity()
    for module in (net, other):
        module.compile()
    for steps in range(2, 6):
        net(torch.ones(3), steps)
"""


def test_calls_of_a_module_compiled_in_place_are_followed(project: ProjectOnDisk) -> None:
    project.write({"m.py": COMPILED_IN_PLACE})
    assert lines(project.check()) == [("m.py", "FG403", 6)]
    project.write({"m.py": COMPILED_IN_PLACE.replace("module.compile()", "module.train()")})
    assert lines(project.check()) == []
