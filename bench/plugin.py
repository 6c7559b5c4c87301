"""Times the pytest plugin: samples of twenty tests that compile, plain, with a fresh Dynamo for each test, and with
`--fullgraph`, in turn; writes bench/results/plugin.{json,md}. The backend is eager, so that Dynamo's own work is all
that observing adds to.
"""

from __future__ import annotations

import json
import os
import platform
import resource
import subprocess
import sys
import time
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory

RESULTS = Path(__file__).resolve().parent / "results"
RUNS = 3

HEAD = """
import pytest
import torch
from torch import nn

def compiled(thing):
    return torch.compile(thing, backend="eager")
"""
PERCEPTRON = """
class Net{n}(nn.Module):
    def __init__(self):
        super().__init__()
        blocks = [nn.Sequential(nn.Linear(16, 16), nn.LayerNorm(16), nn.GELU()) for _ in range({n} + 1)]
        self.layers = nn.Sequential(*blocks)

    def forward(self, x):
        return self.layers(x)

def test_perceptron_{n}():
    assert compiled(Net{n}())(torch.ones(2, 16)).shape == (2, 16)
"""
TRANSFORMER = """
class Encoder{n}(nn.Module):
    def __init__(self):
        super().__init__()
        layer = nn.TransformerEncoderLayer(32, 4, 64, batch_first=True)
        self.layers = nn.TransformerEncoder(layer, {n} + 1, enable_nested_tensor=False)

    def forward(self, x):
        return self.layers(x)

def test_transformer_{n}():
    assert compiled(Encoder{n}())(torch.ones(2, 8, 32)).shape == (2, 8, 32)
"""
BREAK = """
def test_break_{n}():
    def f(x):
        x = x.cos()
        if x.sum() > 0:
            return x + 1
        return x - 1
    compiled(f)(torch.ones({n} + 3))
"""
RECOMPILE = """
def test_recompile_{n}():
    def f(x, n):
        for _ in range(n):
            x = x.cos()
        return x
    g = compiled(f)
    for n in range(1, {n} + 3):
        g(torch.ones(4), n)
"""
KINDS = ((PERCEPTRON, 10), (TRANSFORMER, 4), (BREAK, 3), (RECOMPILE, 3))
APART = HEAD + "".join(kind.replace("{n}", str(n)) for kind, count in KINDS for n in range(count))
"""Each test compiles code of its own: what has the same code shares a cache, and eight variants at most."""
TOGETHER = (
    HEAD
    + """
layer = nn.TransformerEncoderLayer(32, 4, 64, batch_first=True)
net = compiled(nn.TransformerEncoder(layer, 2, enable_nested_tensor=False))

@pytest.mark.parametrize("length", range(2, 22))
def test_transformer(length):
    assert net(torch.ones(2, length, 32)).shape == (2, length, 32)
"""
)
"""All tests call the same module, which is compiled anew in each: that is what keeps them apart."""
FRESH = """
import pytest
import torch

@pytest.fixture(autouse=True)
def fresh():
    torch._dynamo.reset()
"""
"""The same without the plugin: what watching costs beside what compiling anew costs."""
WAYS = {"plain": (), "fresh": ("-p", "fresh"), "watched": ("--fullgraph",)}
PROJECTS = {"apart": APART, "together": TOGETHER}


@dataclass(frozen=True, slots=True)
class Row:
    """The least of the runs of one project, in seconds, by way of running it: what else the machine does only adds."""

    project: str
    cpu_s: dict[str, float]
    wall_s: dict[str, float]

    def __str__(self) -> str:
        cells = [f"{times[way]:.1f}" for times in (self.cpu_s, self.wall_s) for way in WAYS]
        ratios = [f"{self.cpu_s['watched'] / self.cpu_s[way]:.2f}" for way in ("plain", "fresh")]
        return f"| {' | '.join((self.project, *cells, *ratios))} |"


def seconds(folder: Path, *options: str) -> tuple[float, float]:
    """CPU and wall time of one run."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *options]
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(command, cwd=folder, env=environment, check=True, stdout=subprocess.DEVNULL)
    wall = time.perf_counter() - started
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, wall


def measured(name: str, source: str) -> Row:
    with TemporaryDirectory() as folder:
        Path(folder, "test_sample.py").write_text(source)
        Path(folder, "fresh.py").write_text(FRESH)
        Path(folder, "pytest.ini").write_text("[pytest]\n")
        seconds(Path(folder))  # bytecode is written here
        runs = [{way: seconds(Path(folder), *options) for way, options in WAYS.items()} for _ in range(RUNS)]
    cpu, wall = ({way: round(min(run[way][which] for run in runs), 2) for way in WAYS} for which in (0, 1))
    return Row(name, cpu, wall)


def main() -> None:
    rows = [measured(name, source) for name, source in PROJECTS.items()]
    machine = f"torch {version('torch')}, Python {platform.python_version()}, {os.cpu_count()} cores, {RUNS} runs"
    heads = [f"{way}, {kind} s" for kind in ("CPU", "wall") for way in WAYS]
    table = [
        f"# What `pytest --fullgraph` costs ({machine})",
        "",
        "Twenty tests that compile; in `apart` each compiles what is its own, in `together` all call one module, which",
        "is compiled anew in each test so that the order does not matter. `fresh` is without the plugin, but with a",
        "fresh Dynamo for each test: what `watched` takes more than that is watching. The ratios are of CPU time.",
        "",
        f"| tests | {' | '.join(heads)} | watched / plain | watched / fresh |",
        f"|{' --- |' * (len(heads) + 3)}",
        *map(str, rows),
    ]
    (RESULTS / "plugin.md").write_text("\n".join(table) + "\n")
    document = {"machine": machine, "projects": [asdict(row) for row in rows]}
    (RESULTS / "plugin.json").write_text(json.dumps(document, indent=2) + "\n")
    print(*table, sep="\n")


if __name__ == "__main__":
    main()
