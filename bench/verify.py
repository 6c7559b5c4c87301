"""Times a sweep of `fullgraph verify` over many small scripts against capturing them in one process, one after the
other, and a 7-billion-parameter model traced without numbers; prints the figures and writes bench/results/verify.json.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

RESULTS = Path(__file__).resolve().parent / "results"
SCRIPTS = 60
KINDS = (
    "def f(x):\n    return (x * {n}).sin().sum(dim=-1)",
    "def f(x):\n    y = x.softmax(-1) @ x.T\n    return y.relu() + {n}",
    "layer = torch.nn.Linear(8, {n} + 1)\n\ndef f(x):\n    return layer(x).mean()",
    "def f(x):\n    if x.sum() > {n}:\n        return x + 1\n    return x - 1",
)
SCRIPT = "import torch\n\n{body}\n\ncompiled = torch.compile(f, backend='eager')\ncompiled(torch.ones(8, 8))\n"
ONE_PROCESS = """
import sys
from pathlib import Path
import torch
from fullgraph.jit import backend, capture, program
from fullgraph.jit.targets import Job, Settings, parse_target
for name in sys.argv[1:]:
    job = Job(parse_target(name), Settings(backend="eager"), (Path.cwd(),))
    with backend.overridden(job.settings, print), capture.observe(print, capture.Paths(Path.cwd(), job.roots)):
        program.run(job, print)
    torch._dynamo.reset()
"""
LLAMA = """
from transformers import LlamaConfig, LlamaForCausalLM

def make_model() -> LlamaForCausalLM:
    return LlamaForCausalLM(LlamaConfig())
"""


@dataclass(frozen=True, slots=True)
class Row:
    what: str
    wall_s: float
    cpu_s: float
    peak_mb: float


def measured(what: str, folder: Path, command: Sequence[str], expected: tuple[int, ...] = (0,)) -> Row:
    """One run of a command, its children included in CPU seconds; the peak is of its largest process."""
    start = time.perf_counter()
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)  # or the destructor waits for it again
    if process.returncode not in expected:
        sys.exit(f"{what}: ended with exit code {process.returncode}")
    cpu = usage.ru_utime + usage.ru_stime
    return Row(what, round(time.perf_counter() - start, 2), round(cpu, 2), round(usage.ru_maxrss / 1024, 1))


def sweeps(runs: int) -> Iterator[tuple[Row, Row]]:
    """A pair at a time, so that both meet the same load."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        names = [f"s{number:02}.py" for number in range(SCRIPTS)]
        for number, script in enumerate(names):
            body = KINDS[number % len(KINDS)].format(n=number)
            (folder / script).write_text(SCRIPT.format(body=body))
        verify = [sys.executable, "-m", "fullgraph.cli", "verify", "--backend", "eager", *names]
        for _ in range(runs):
            alone = measured("one process", folder, [sys.executable, "-c", ONE_PROCESS, *names])
            yield alone, measured("fullgraph verify", folder, verify, expected=(1,))


def llama() -> Row:
    with tempfile.TemporaryDirectory() as name:
        (Path(name) / "llama.py").write_text(LLAMA)
        options = ["llama.py::make_model", "--fake", "--input", "i64[1,16]<32000"]
        return measured("Llama 7B, --fake", Path(name), [sys.executable, "-m", "fullgraph.cli", "verify", *options])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=3, help="how often to repeat the sweep")
    parser.add_argument("--no-llama", action="store_true", help="leave out the large model, which needs transformers")
    options = parser.parse_args()
    pairs = list(sweeps(options.runs))
    ratios = {
        key: round(statistics.median(getattr(sweep, key) / getattr(alone, key) for alone, sweep in pairs), 2)
        for key in ("wall_s", "cpu_s")
    }
    rows = [row for pair in pairs for row in pair] + ([] if options.no_llama else [llama()])
    for row in rows:
        print(f"{row.what:<18} {row.wall_s:7.2f} s  {row.cpu_s:7.2f} CPU s  {row.peak_mb:7.1f} MB")
    print(f"{SCRIPTS} scripts, verify / one process: {ratios['wall_s']:.2f} wall, {ratios['cpu_s']:.2f} CPU")
    document = {"scripts": SCRIPTS, "ratios": ratios, "rows": [asdict(row) for row in rows]}
    (RESULTS / "verify.json").write_text(json.dumps(document, indent=2) + "\n")


if __name__ == "__main__":
    main()
