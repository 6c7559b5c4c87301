"""Times the first result of a process whose caches are warm, with the backend `mlir` and with inductor; writes
bench/results/jit_warm.{json,md}.

What counts is the backend's own time: from the first call to its result, without Dynamo's and AOTAutograd's tracing,
which inductor leaves out too where its cache has the graph, and without imports, which are made before.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

RESULTS = Path(__file__).resolve().parent / "results"
NAMES = ("softmax 4096×1024", "cross entropy 2048×8192", "GELU MLP", "attention block", "GPT, 4 layers", "Llama, tiny")
TURNS = 3
IMPORTED = {
    "inductor": tuple(
        f"torch._inductor.{name}"
        for name in ("compile_fx", "codecache", "graph", "async_compile", "output_code", "cpp_builder", "cpu_vec_isa")
    ),
    "mlir": tuple(
        f"fullgraph.jit.{name}" for name in ("mlir", "compare", "loader", "lower.kept_plan", "lower.decompositions")
    ),
}
TRACED = "aot_eager"
"""A backend that does nothing but trace: what it takes for the first call, others need for tracing."""


def first_result(contender: str, name: str) -> float:
    """Seconds of the backend's own."""
    import torch
    from jit_workloads import WORKLOADS
    from torch._dynamo.utils import compilation_time_metrics

    from fullgraph.jit.events import Lowered
    from fullgraph.jit.mlir import Backend

    torch.set_num_threads(1)
    for module in IMPORTED[contender]:
        importlib.import_module(module)
    torch.compile(lambda x: x.sin() + 1, backend=TRACED)(torch.ones(3))
    case, lowered = WORKLOADS[name](), []
    learn = Backend(lambda event: lowered.append(event) if isinstance(event, Lowered) else None, believes=True)
    backend = learn if contender == "mlir" else contender
    compilation_time_metrics.clear()
    with torch.no_grad():
        begun = time.perf_counter()
        torch.compile(case.function, backend=backend, fullgraph=True)(*case.calls[0])
        total = time.perf_counter() - begun
    took = {key: sum(times) for key, times in compilation_time_metrics.items()}
    dynamo = took["_compile.compile_inner"] - took["OutputGraph.call_user_compiler"]
    autograd = took.get("create_aot_dispatcher_function", 0.0) - sum(event.compile_s for event in lowered[:1])
    return total - dynamo - max(autograd, 0.0)


def in_a_process(contender: str, name: str, caches: Path) -> float:
    home = {"XDG_CACHE_HOME": str(caches), "TORCHINDUCTOR_CACHE_DIR": str(caches / "inductor")}
    command = [sys.executable, __file__, "--child", contender, name]
    return float(subprocess.run(command, env={**os.environ, **home}, stdout=subprocess.PIPE, check=True).stdout)


def measure(name: str, caches: Path) -> dict[str, float]:
    """Medians by contender, which take turns once both have filled their caches."""
    times: dict[str, list[float]] = {contender: [] for contender in IMPORTED}
    for turn in range(TURNS + 1):
        for contender, measured in times.items():
            seconds = in_a_process(contender, name, caches)
            measured += [seconds] if turn else []
    return {contender: statistics.median(measured) for contender, measured in times.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n\n")[0])
    parser.add_argument("--child", nargs=2, help=argparse.SUPPRESS)
    if (child := parser.parse_args().child) is not None:
        print(first_result(*child))
        return
    lines = [
        "# The first result from a warm cache",
        "",
        "Seconds of the backend's own, in a new process; 1 thread.",
        "",
    ]
    lines += ["| workload | inductor | mlir | × inductor |", "|---|--:|--:|--:|"]
    rows = {}
    with tempfile.TemporaryDirectory() as caches:
        for name in NAMES:
            rows[name] = row = measure(name, Path(caches))
            ratio = row["inductor"] / row["mlir"]
            lines.append(f"| {name} | {row['inductor']:.3f} | {row['mlir']:.3f} | {ratio:.1f} |")
            print(lines[-1], file=sys.stderr, flush=True)
    text = "\n".join([*lines, "", "Written by `bench/jit_warm.py`.", ""])
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "jit_warm.md").write_text(text, encoding="utf-8")
    (RESULTS / "jit_warm.json").write_text(json.dumps(rows, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    print(text, end="")


if __name__ == "__main__":
    main()
