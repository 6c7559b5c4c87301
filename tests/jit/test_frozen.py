"""Frozen values are proven: by the program's own changes, or by a change after its end."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from fullgraph.jit.events import Event, Probed, Result
from fullgraph.jit.sources import Kind, Source, Watch

MODULE = """
import os, random, sys
import torch

os.environ["PRESENT"] = "1"
rng = random.Random(3)

@torch.compile
def absent(x):
    return x * float(os.getenv("ABSENT", "1"))

def present(x):
    return x * 2 if os.environ.get("PRESENT") == "1" else x * 3

def draws(x):
    return x + rng.random()

def unused(x):
    os.getenv("UNUSED")
    return x + 1

def limit(x):
    return x + sys.getrecursionlimit()

def threads(x):
    large = torch.ones(400, 400)
    return (large @ large).mean() * float(os.getenv("ABSENT", "1")) + x

def changes(value):
    for name in ("ABSENT", "PRESENT", "UNUSED"):
        os.environ[name] = value
"""
CHANGING = """
import os
import torch

@torch.compile
def f(x):
    return x * float(os.getenv("SCALE", "1"))

for value in ("1", "2"):
    os.environ["SCALE"] = value
    f(torch.ones(3))
"""
HOOKED = """
import torch

net = torch.nn.ReLU()
compiled = torch.compile(net)
seen = []
for n in range(3):
    compiled(torch.ones(3))
    net.register_forward_hook(lambda module, given, out: seen.append(n))
"""
AROUND = """
import abc
import random
import torch

class Base(abc.ABC):
    pass

class Net(torch.nn.Module):
    level = 1

    def weight(self):
        return 2

    def forward(self, x):
        return x * self.weight() * self.level + isinstance(self, Base)

net = Net()
compiled = torch.compile(net)
compiled(torch.ones(3))
match KIND:
    case "patch":
        Net.weight = lambda self: 3
    case "hook":
        net.register_forward_hook(lambda module, given, out: None)
    case "class":
        Base.register(Net)
    case "guarded":
        Net.level = 3
    case "unsteady":
        torch.seed()
compiled(torch.ones(3) if KIND != "unsteady" else torch.rand(3))
"""
pytestmark = [pytest.mark.torch, pytest.mark.slow]


@cache
def verified() -> dict[str, list[dict[str, Any]]]:
    """The findings of each target that are traced, or about a hook."""
    with TemporaryDirectory() as folder:
        Path(folder, "module.py").write_text(MODULE)
        Path(folder, "changing.py").write_text(CHANGING)
        Path(folder, "hooked.py").write_text(HOOKED)
        Path(folder, "pyproject.toml").write_text("[tool.fullgraph]\n")
        functions = ("absent", "present", "draws", "unused", "limit", "threads")
        targets = ["changing.py", "hooked.py", *(f"module.py::{name}" for name in functions)]
        options = ["--input", "f32[4]", "--backend", "eager", "--output-format", "json"]
        both = [(targets[:2], options[2:]), (targets[2:], options)]
        found: dict[str, list[dict[str, Any]]] = {}
        for names, given in both:
            command = [sys.executable, "-m", "fullgraph.cli", "verify", *given, *names]
            done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300)
            assert done.returncode in (0, 1), done.stderr
            for target in json.loads(done.stdout)["targets"]:
                found[target["target"]] = [
                    item for item in target["findings"] if item["basis"]["traced"] or item["code"] == "FG505"
                ]
    return found


@pytest.mark.parametrize(
    ("target", "verdict", "evidence"),
    [
        ("changing.py", "confirmed", "call 2 gave the old result although the environment variable had changed"),
        ("hooked.py", "confirmed", "eagerly a hook ran that compiled code leaves out, seen at call 2"),
        ("module.py::absent", "confirmed", "with ABSENT set to '0', the compiled function gives the old result"),
        ("module.py::present", "refuted", "with PRESENT set to 'PRESENT', it is compiled again"),
        ("module.py::draws", "confirmed", "3 calls give one result, and others in eager"),
        ("module.py::unused", "not-reached", "no other value of UNUSED that was tried changes the result"),
        ("module.py::limit", "confirmed", "with another limit, the compiled function gives the old result"),
        ("module.py::threads", "confirmed", "with ABSENT set to '0', the compiled function gives the old result"),
    ],
)
def test_verdicts(target: str, verdict: str, evidence: str) -> None:
    (finding,) = verified()[target]
    assert (finding["verdict"], finding["evidence"]) == (verdict, evidence)


@pytest.mark.parametrize("kind", ["patch", "hook", "class", "guarded", "unsteady"])
def test_stale_calls_that_nobody_foresaw_and_none_else(kind: str, tmp_path: Path) -> None:
    (tmp_path / "around.py").write_text(AROUND.replace("KIND", repr(kind)))
    options = ("--ignore", "FG4,FG5", "--compare-eager", "--backend", "eager", "--output-format", "json", "around.py")
    command = [sys.executable, "-m", "fullgraph.cli", "verify", *options]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300)
    (target,) = json.loads(done.stdout)["targets"]
    stale = [(item["entry"], item["path"], item["line"], item["call"]) for item in target["stale"]]
    # This hook changes no result.
    assert stale == ([("Net", "around.py", 15, 2)] if kind in ("patch", "class") else [])
    assert done.returncode == int(bool(stale))


Record = Callable[[str, Watch], list[Event]]


@pytest.fixture
def record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Record]:
    import torch

    from fullgraph.jit.frozen import watched

    def run(code: str, watch: Watch) -> list[Event]:
        (tmp_path / "patched.py").write_text(code)
        events: list[Event] = []
        with watched(watch, events.append):
            __import__("patched")
        return events

    monkeypatch.syspath_prepend(tmp_path)
    torch._dynamo.reset()
    yield run
    sys.modules.pop("patched", None)
    torch._dynamo.reset()


PATCHED = """
import torch

class Registry:
    power = 2

    @classmethod
    def scale(cls):
        return 1.0

    def weight(self, x):
        return x * 1.0

registry = Registry()
power = 2

@torch.compile(backend="eager")
def f(x):
    return registry.weight(x) * Registry.scale() * power

f(torch.ones(3))
"""


def test_attributes_and_methods_are_patched_where_they_are_found(record: Record, tmp_path: Path) -> None:
    names = ("registry.weight", "Registry.scale", "power", "Registry.power")
    path = str(tmp_path / "patched.py")
    events = record(PATCHED, Watch(tuple(Source(Kind.ATTRIBUTE, name, path) for name in names), eager=False))
    stale = {names[event.source]: event.stale for event in events if isinstance(event, Probed)}
    assert stale == {"registry.weight": True, "Registry.scale": True, "power": False, "Registry.power": None}


def test_outermost_calls_are_recorded_alike_compiled_and_eagerly(record: Record) -> None:
    code = """
import torch

@torch.compile(backend="eager")
def inner(x):
    return x + 1

@torch.compile(backend="eager")
def outer(x):
    return inner(x) * 2, "ä"

for n in (1, 2):
    outer(torch.full((3,), float(n)))
"""
    results = [event for event in record(code, Watch((), eager=True)) if isinstance(event, Result)]
    assert [event.entry for event in results] == ["outer", "outer"]
    assert [event.value.numbers for event in results] == [(4.0,) * 3, (6.0,) * 3]
    assert results[0].value.form == results[1].value.form
    assert not results[0].arguments.same(results[1].arguments)
