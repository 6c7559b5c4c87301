"""Measures what calls and compilations of the backend `mlir` leave behind in the process; writes
bench/results/memory.{json,md}.

Each is repeated in a process of its own, whose resident memory is read before and after, once it has warmed up.
"""

from __future__ import annotations

import argparse
import gc
import json
import mmap
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

RESULTS = Path(__file__).resolve().parent / "results"
MIB = 1 << 20
REPETITIONS = {"calls": 10_000, "compilations": 200}
WARM = {"calls": 1000, "compilations": 20}
BACKENDS = ("mlir", "aot_eager")
"""The second compiles nothing: what it leaves behind is Dynamo's and AOTAutograd's."""


def calls(backend: str) -> Callable[[int], object]:
    import torch

    compiled, x = torch.compile(lambda x: torch.softmax(x.exp() * 2, -1) + x, backend=backend), torch.randn(16, 64)
    return lambda number: compiled(x)


def compilations(backend: str) -> Callable[[int], object]:
    """Of functions that differ, all kept, as a program keeps its models."""
    import torch

    kept, x = [], torch.randn(16, 64)

    def compile_another(number: int) -> None:
        # With code of its own: otherwise Dynamo would take it for the same function, compiled once more.
        another = eval(f"lambda x: torch.softmax(x.exp() * {number + 2}, -1) + x", {"torch": torch})
        kept.append(torch.compile(another, backend=backend))
        kept[-1](x)

    return compile_another


KINDS = {"calls": calls, "compilations": compilations}


def growth(kind: str, backend: str, repetitions: int) -> float:
    """MiB by which the process grows."""
    repeat = KINDS[kind](backend)
    for number in range(WARM[kind]):
        repeat(number)
    before = resident()
    for number in range(WARM[kind], WARM[kind] + repetitions):
        repeat(number)
    return (resident() - before) / MIB


def resident() -> int:
    """Bytes."""
    gc.collect()
    return int(Path("/proc/self/statm").read_text().split()[1]) * mmap.PAGESIZE


def in_a_process(kind: str, backend: str) -> float:
    command = [sys.executable, __file__, "--child", kind, backend, str(REPETITIONS[kind])]
    return float(subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition(";")[0])
    parser.add_argument("--child", nargs=3, metavar=("KIND", "BACKEND", "REPETITIONS"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        kind, backend, repetitions = options.child
        print(growth(kind, backend, int(repetitions)))
        return
    grown = {kind: {backend: round(in_a_process(kind, backend), 2) for backend in BACKENDS} for kind in KINDS}
    lines = ["# Memory of the backend `mlir`", "", "MiB by which the process grows."]
    lines += ["", f"| | {' | '.join(BACKENDS)} |", "|---|--:|--:|"]
    for kind, by_backend in grown.items():
        lines.append(f"| {REPETITIONS[kind]:,} {kind} | {' | '.join(map(str, by_backend.values()))} |")
    text = "\n".join([*lines, "", "Written by `bench/memory.py`.", ""])
    (RESULTS / "memory.md").write_text(text, encoding="utf-8")
    (RESULTS / "memory.json").write_text(json.dumps(grown, indent=1) + "\n", encoding="utf-8")
    print(text, end="")


if __name__ == "__main__":
    main()
