"""Times what observing costs: the same programs with and without it, in turn, each run in a fork of its own; writes
bench/results/capture.{json,md}. The backend does nothing, so that Dynamo's own work is all that observing adds to.
"""

from __future__ import annotations

import contextlib
import json
import os
import platform
import statistics
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

import torch
import torch._dynamo
from torch import nn

from fullgraph.jit.backend import eager
from fullgraph.jit.capture import Paths, observe
from fullgraph.jit.events import Event
from fullgraph.jit.wire import encode

RESULTS = Path(__file__).resolve().parent / "results"
HERE = Path(__file__).parent
RUNS = 9


@dataclass(frozen=True, slots=True)
class Row:
    """Medians over the runs, of CPU seconds."""

    program: str
    alone_s: float
    observed_s: float
    events: int

    @property
    def ratio(self) -> float:
        return self.observed_s / self.alone_s


def transformer() -> None:
    layer = nn.TransformerEncoderLayer(32, 4, 64, batch_first=True)
    net = torch.compile(nn.TransformerEncoder(layer, 6, enable_nested_tensor=False), backend=eager)
    for length in (8, 12, 16):
        net(torch.ones(2, length, 32))


def convolutions() -> None:
    layers = [nn.Sequential(nn.Conv2d(8, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU()) for _ in range(16)]
    net = torch.compile(nn.Sequential(*layers), backend=eager)
    for batch in (2, 3):
        net(torch.ones(batch, 8, 16, 16))


def breaks() -> None:
    @torch.compile(backend=eager)
    def f(x: torch.Tensor) -> torch.Tensor:
        for step in range(20):
            x = x * step + 1
        if x.sum() > 0:
            x = x + x.mean().item()
        print(end="")
        return x.sin()

    for size in range(3, 9):
        f(torch.ones(size))


def recompiles() -> None:
    @torch.compile(backend=eager, dynamic=False)
    def f(x: torch.Tensor, rounds: int) -> torch.Tensor:
        for _ in range(rounds):
            x = x.cos() + 1
        return x

    for rounds in range(30, 37):
        f(torch.ones(4), rounds)


def calls() -> None:
    @torch.compile(backend=eager)
    def f(x: torch.Tensor) -> torch.Tensor:
        return x.cos() + x.sin()

    x = torch.ones(64)
    for _ in range(20_000):
        f(x)


PROGRAMS = (transformer, convolutions, breaks, recompiles, calls)


def seconds(program: Callable[[], None], watched: bool) -> tuple[float, int]:
    """CPU time of one run in a fork, and how many events it made."""
    read_end, write_end = os.pipe()
    if os.fork() == 0:
        torch._dynamo.reset()
        lines: list[str] = []

        def emit(event: Event) -> None:
            lines.append(encode(event))

        started = time.process_time()
        with observe(emit, Paths(HERE, (HERE,))) if watched else contextlib.nullcontext():
            program()
        os.write(write_end, json.dumps([time.process_time() - started, len(lines)]).encode())
        os._exit(0)
    os.close(write_end)
    with os.fdopen(read_end) as pipe:
        elapsed, events = json.load(pipe)
    os.wait()
    return elapsed, events


def measured(program: Callable[[], None]) -> Row:
    pairs = [(seconds(program, watched=False), seconds(program, watched=True)) for _ in range(RUNS)]
    alone, observed = (statistics.median(pair[side][0] for pair in pairs) for side in (0, 1))
    return Row(program.__name__, round(alone, 3), round(observed, 3), pairs[0][1][1])


def main() -> None:
    torch.set_num_threads(1)
    torch.manual_seed(0)
    transformer()  # what the first compilation imports is paid here
    rows = [measured(program) for program in PROGRAMS]
    whole = sum(row.observed_s for row in rows) / sum(row.alone_s for row in rows)
    machine = f"torch {torch.__version__}, Python {platform.python_version()}, {os.cpu_count()} cores, {RUNS} runs"
    table = [
        f"# What observing costs ({machine})",
        "",
        "| program | alone, CPU s | observed, CPU s | ratio | events |",
        "| --- | --- | --- | --- | --- |",
        *(f"| {row.program} | {row.alone_s} | {row.observed_s} | {row.ratio:.3f} | {row.events} |" for row in rows),
        f"| all | | | {whole:.3f} | |",
    ]
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "capture.md").write_text("\n".join(table) + "\n")
    document = {"machine": machine, "ratio": round(whole, 3), "programs": [asdict(row) for row in rows]}
    (RESULTS / "capture.json").write_text(json.dumps(document, indent=2) + "\n")
    print(*table, sep="\n")


if __name__ == "__main__":
    main()
