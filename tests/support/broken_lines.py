"""What Dynamo says of a program: the lines of `net.py` at which compiling and calling its `run` breaks the graph."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType


def broken_lines(folder: Path, source: str) -> list[int]:
    """Write the program to `folder`, run it, and call `run` with a small tensor."""
    import torch

    from fullgraph.jit.capture import Paths, observe
    from fullgraph.jit.events import Break, Event

    path = folder / "net.py"
    path.write_text(source, encoding="utf-8")
    lines: set[int] = set()

    def record(event: Event) -> None:
        if isinstance(event, Break) and event.path == "net.py":
            lines.add(event.line)

    quick = source.replace("@torch.compile\n", '@torch.compile(backend="eager")\n')
    quick = quick.replace("= torch.compile(", '= torch.compile(backend="eager", model=')
    torch._dynamo.reset()
    module = sys.modules["net"] = ModuleType("net")
    try:
        with observe(record, Paths(folder, (folder,))):
            exec(compile(quick, path, "exec"), module.__dict__)
            module.__dict__["run"](torch.tensor([0.5, -1.0, 2.0, 0.0]))
    finally:
        del sys.modules["net"]
    return sorted(lines)
