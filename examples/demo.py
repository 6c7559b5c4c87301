"""Runs fullgraph's two commands on the examples, as anybody would type them; `make demo` calls it.

Findings are expected. The exit code is 0 unless a command could not do its work.
"""

from __future__ import annotations

import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

EXAMPLES = Path(__file__).resolve().parent
HALVES = (
    ("layerdrop_transformer.py", "detector.py", "audio_tagger/tagger.py"),
    ("moe_router.py", "train_step.py", "vision_transformer.py"),
)
"""The scripts, in two parts that take about as long: compiling keeps one core busy."""


def fullgraph(*arguments: str) -> str:
    """One command and its output; give up if it failed: exit code 1 only says that it found something."""
    command = [sys.executable, "-m", "fullgraph.cli", *arguments]
    done = subprocess.run(command, cwd=EXAMPLES.parent, text=True, stdout=subprocess.PIPE)
    if done.returncode not in (0, 1):
        sys.exit(f"{done.stdout}demo: fullgraph {arguments[0]} ended with exit code {done.returncode}; see above")
    return f"$ fullgraph {' '.join(arguments)}\n{done.stdout}"


def joined(tables: list[str]) -> str:
    """The summaries that `verify` ends with, as one."""
    lines = [re.split(r"\s{2,}", line) for table in tables for line in table.splitlines()]
    rows = [lines[0], *(line for line in lines[1:] if line[0] != lines[0][0])]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    )


def main() -> None:
    print(fullgraph("check", EXAMPLES.name), flush=True)
    scripts = [[f"{EXAMPLES.name}/{script}" for script in half] for half in HALVES]
    print(f"verifying {sum(map(len, scripts))} scripts, about a minute…", file=sys.stderr, flush=True)
    with ThreadPoolExecutor() as pool:
        outputs = list(pool.map(lambda half: fullgraph("verify", *half).rstrip().rpartition("\n\n"), scripts))
    for body, _, _ in outputs:
        print(body, end="\n\n")
    print(joined([table for _, _, table in outputs]))


if __name__ == "__main__":
    main()
