"""Runs fullgraph's two commands on the examples, as anybody would type them; `make demo` calls it.

Findings are expected. The exit code is 0 unless a command could not do its work.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

EXAMPLES = Path(__file__).resolve().parent
SCRIPTS = (
    "layerdrop_transformer.py",
    "moe_router.py",
    "detector.py",
    "train_step.py",
    "audio_tagger/tagger.py",
    "vision_transformer.py",
)


def fullgraph(*arguments: str) -> None:
    """Show one command and its output; give up if it failed: exit code 1 only says that it found something."""
    print("$ fullgraph", *arguments, flush=True)
    code = subprocess.run([sys.executable, "-m", "fullgraph.cli", *arguments], cwd=EXAMPLES.parent).returncode
    print(flush=True)
    if code not in (0, 1):
        sys.exit(f"demo: fullgraph {arguments[0]} ended with exit code {code}; it says why above")


def main() -> None:
    fullgraph("check", EXAMPLES.name)
    fullgraph("verify", *(f"{EXAMPLES.name}/{script}" for script in SCRIPTS))


if __name__ == "__main__":
    main()
