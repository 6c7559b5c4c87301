"""Times the backend `mlir` against eager and inductor on 16 workloads; writes bench/results/jit.{json,md,svg}.

The contenders take turns in one process, so that their ratios hold although the machine is busy. Compile times are
those of a process with empty caches, and of a second one that finds what the first has left.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import math
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import cycle
from pathlib import Path
from typing import Any

import torch
from jit_workloads import WORKLOADS, Case
from torch._dynamo.utils import compilation_time_metrics

RESULTS = Path(__file__).resolve().parent / "results"
CONTENDERS = ("eager", "inductor", "mlir")
TURN_S = 0.02
"""How long a contender is called in one turn, at least."""
TOLERANCE = 2e-3


@dataclass(frozen=True, slots=True)
class Row:
    """One workload in one process; times in seconds, by contender."""

    workload: str
    threads: int
    run_s: dict[str, float]
    """Medians of one call: CPU time on one thread, where others on the machine disturb least, else wall time."""
    vs_eager: tuple[float, float, float]
    """How many times faster mlir is: the quartiles over the turns."""
    vs_inductor: tuple[float, float, float]
    first_call_s: dict[str, float]
    backend_s: dict[str, float]
    """Of the first call what the backend took for the forward graph, without Dynamo's tracing."""
    error: float
    """The largest difference from eager."""


def measure(name: str, turns: int) -> Row:
    torch.manual_seed(0)
    case = WORKLOADS[name]()
    dynamic = True if len(case.calls) > 1 else None
    steps: dict[str, Callable[[Any], Any]] = {"eager": _step(case, case.function)}
    first: dict[str, float] = {}
    backend: dict[str, float] = {}
    error = 0.0
    expected = steps["eager"](case.calls[0])
    for contender in CONTENDERS[1:]:
        torch._dynamo.reset()
        compilation_time_metrics.clear()
        step = _step(case, torch.compile(case.function, backend=contender, dynamic=dynamic, fullgraph=True))
        begun = time.perf_counter()
        result = step(case.calls[0])
        first[contender] = time.perf_counter() - begun
        backend[contender] = sum(compilation_time_metrics["OutputGraph.call_user_compiler"])
        if contender == "mlir":
            error = _difference(result, expected)
        steps[contender] = step
        for inputs in case.calls * 2:  # regions are compared on their first inputs of each shape
            step(inputs)
    rounds = _rounds(case, steps, turns)
    return Row(
        name,
        torch.get_num_threads(),
        {contender: statistics.median(times[contender] for times in rounds) for contender in CONTENDERS},
        _quartiles([times["eager"] / times["mlir"] for times in rounds]),
        _quartiles([times["inductor"] / times["mlir"] for times in rounds]),
        first,
        backend,
        error,
    )


def _step(case: Case, function: Callable[..., Any]) -> Callable[[Any], Any]:
    def forward(inputs: Any) -> Any:
        with torch.no_grad():
            return function(*inputs)

    def training(inputs: Any) -> Any:
        loss = function(*inputs)
        loss.backward()
        return loss.detach()

    return training if case.trains else forward


def _rounds(case: Case, steps: dict[str, Callable[[Any], Any]], turns: int) -> list[dict[str, float]]:
    """For each turn the seconds of a call, by contender."""
    clock = time.process_time if torch.get_num_threads() == 1 else time.perf_counter
    inputs = {contender: cycle(case.calls) for contender in steps}
    begun = time.perf_counter()
    steps["eager"](case.calls[0])
    calls = max(len(case.calls), math.ceil(TURN_S / (time.perf_counter() - begun)))
    rounds = []
    for _ in range(turns):
        times = {}
        for contender, step in steps.items():
            begun = clock()
            for _ in range(calls):
                step(next(inputs[contender]))
            times[contender] = (clock() - begun) / calls
        rounds.append(times)
    return rounds


def _difference(result: Any, expected: Any) -> float:
    own, reference = (value if isinstance(value, tuple) else (value,) for value in (result, expected))
    for actual, wanted in zip(own, reference, strict=True):
        torch.testing.assert_close(actual, wanted, rtol=TOLERANCE, atol=TOLERANCE)
    return max(float((actual - wanted).abs().max()) for actual, wanted in zip(own, reference, strict=True))


def _quartiles(ratios: Sequence[float]) -> tuple[float, float, float]:
    low, middle, high = statistics.quantiles(ratios, n=4)
    return low, middle, high


def child(names: Sequence[str], threads: int, turns: int) -> None:
    """Print a row for each workload, one a line."""
    torch.set_num_threads(threads)
    for name in names:
        print(json.dumps(asdict(measure(name, turns))), flush=True)


def in_a_process(names: Sequence[str], threads: int, turns: int, caches: Path) -> list[Row]:
    home = {"XDG_CACHE_HOME": str(caches), "TORCHINDUCTOR_CACHE_DIR": str(caches / "inductor")}
    command = [sys.executable, __file__, "--child", "--threads", str(threads), "--turns", str(turns), *names]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env={**os.environ, **home}) as process:
        assert process.stdout is not None
        rows = []
        for line in process.stdout:
            rows.append(Row(**json.loads(line)))
            print(_line(rows[-1]), file=sys.stderr, flush=True)
    if process.returncode:
        sys.exit(f"bench: measuring ended with exit code {process.returncode}")
    return rows


def geomean(ratios: Sequence[float]) -> float:
    return math.exp(statistics.fmean(map(math.log, ratios)))


def machine() -> dict[str, str | int]:
    return {
        "system": f"{platform.system()} {platform.machine()}",
        "cores": os.cpu_count() or 0,
        "load": f"{os.getloadavg()[0]:.1f}",
        "python": platform.python_version(),
        **{name: importlib.metadata.version(name) for name in ("torch", "torch-mlir", "transformers")},
    }


def table(about: dict[str, str | int], runs: Sequence[Row], warm: Sequence[Row]) -> str:
    """Markdown."""
    lines = ["# Speed of the backend `mlir`", "", ", ".join(f"{key} {value}" for key, value in about.items()) + "."]
    lines += ["Ratios are medians over turns, above 1 where mlir is faster, with their quartiles. Float32."]
    for threads in sorted({row.threads for row in runs}):
        lines += ["", f"## Run time, {threads} thread{'s' * (threads > 1)}", ""]
        lines += ["| workload | eager ms | inductor ms | mlir ms | × eager | × inductor |", "|---|--:|--:|--:|--:|--:|"]
        rows = [row for row in runs if row.threads == threads]
        lines += map(_line, rows)
        over = (geomean([row.vs_eager[1] for row in rows]), geomean([row.vs_inductor[1] for row in rows]))
        lines.append(f"| geometric mean | | | | {over[0]:.2f} | {over[1]:.2f} |")
    if warm:
        lines += ["", *_compile_times(runs[: len(warm)], warm)]
    return "\n".join([*lines, "", "Written by `bench/jit.py`.", ""])


def _compile_times(cold: Sequence[Row], warm: Sequence[Row]) -> Iterator[str]:
    yield "## Compile time\n"
    yield "Seconds in the backend for the forward graph, in parentheses those of the first call. The first workload"
    yield "pays for starting the compilers.\n"
    yield "| workload | inductor | mlir | inductor, warm cache | mlir, warm cache |\n|---|--:|--:|--:|--:|"
    for one, other in zip(cold, warm, strict=True):
        times = [
            f"{row.backend_s[contender]:.2f} ({row.first_call_s[contender]:.2f})"
            for row in (one, other)
            for contender in CONTENDERS[1:]
        ]
        yield f"| {one.workload} | {' | '.join(times)} |"


def _line(row: Row) -> str:
    times = " | ".join(f"{row.run_s[contender] * 1000:.3f}" for contender in CONTENDERS)
    ratios = (f"{middle:.2f} ({low:.2f}–{high:.2f})" for low, middle, high in (row.vs_eager, row.vs_inductor))
    return f"| {row.workload} | {times} | {' | '.join(ratios)} |"


def bars(rows: Sequence[Row]) -> str:
    """An SVG chart: for each workload how mlir's speed compares with the other two."""
    scale = 300 / max(max(row.vs_eager[1], row.vs_inductor[1]) for row in rows)
    height = 40 * len(rows) + 60
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="640" height="{height}"',
        'font-family="sans-serif" font-size="13">',
        '<text x="8" y="22" font-weight="bold">Speed of mlir over inductor (blue) and eager (grey)</text>',
        f'<path d="M{236 + scale:.0f} 36V{height - 16}" stroke="#c03030" stroke-dasharray="4"/>',
    ]
    for number, row in enumerate(rows):
        top = 40 + 40 * number
        parts.append(f'<text x="228" y="{top + 20}" text-anchor="end">{row.workload}</text>')
        for place, (ratio, colour) in enumerate(((row.vs_inductor[1], "#3b6fb6"), (row.vs_eager[1], "#9aa5b1"))):
            y, width = top + 15 * place, scale * ratio
            parts.append(f'<rect x="236" y="{y}" width="{width:.0f}" height="13" fill="{colour}"/>')
            parts.append(f'<text x="{242 + width:.0f}" y="{y + 11}" font-size="11">{ratio:.2f}</text>')
    return "\n".join([*parts, "</svg>", ""])


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("names", nargs="*", metavar="WORKLOAD", help="by the beginning of a name; all by default")
    parser.add_argument("--threads", type=int, nargs="+", default=[1])
    parser.add_argument("--turns", type=int, default=21)
    parser.add_argument("--caches", type=Path, help="a folder kept between runs; compile times are then not written")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_intermixed_args()
    names = [name for name in WORKLOADS if not options.names or name.lower().startswith(tuple(options.names))]
    if options.child:
        child(options.names, options.threads[0], options.turns)
        return
    with tempfile.TemporaryDirectory() as folder:
        caches = options.caches or Path(folder)
        runs = [row for threads in options.threads for row in in_a_process(names, threads, options.turns, caches)]
        if options.names:
            return
        warm = [] if options.caches else in_a_process(names, options.threads[0], 2, caches)
    text = table(machine(), runs, warm)
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "jit.md").write_text(text, encoding="utf-8")
    (RESULTS / "jit.svg").write_text(bars(runs[: len(names)]), encoding="utf-8")
    document = {"machine": machine(), "runs": [asdict(row) for row in runs], "warm": [asdict(row) for row in warm]}
    (RESULTS / "jit.json").write_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    print(text, end="")


if __name__ == "__main__":
    main()
