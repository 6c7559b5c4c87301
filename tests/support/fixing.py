"""A file with the edits that its findings are offered."""

from __future__ import annotations

from project_on_disk import ProjectOnDisk

from fullgraph.lint.apply import edited
from fullgraph.lint.findings import Fix

TRACED = (
    "import torch\nimport copy\n\n@torch.compile\ndef other(x):\n    return x\n\n"
    "@torch.compile\ndef run(x: torch.Tensor, y):\n"
)
"""Compiled at two places, so that it is not settled which one is to capture everything."""


def body(lines: str) -> str:
    """The lines as the body of a compiled function of two tensors."""
    return TRACED + "".join(f"    {line}\n" for line in lines.split("\n"))


def fixed(project: ProjectOnDisk, before: str, title: str = "") -> str:
    """The file with the first fix of each finding whose title starts like that."""
    project.write({"net.py": before})
    text = (project.root / "net.py").read_text(encoding="utf-8")
    offered = [[fix for fix in found.fixes if _wanted(fix, title)] for found in project.check().findings]
    chosen = [fixes[0] for fixes in offered if fixes]
    return edited(text.encode(), dict.fromkeys(edit for fix in chosen for edit in fix.edits)).decode()


def _wanted(fix: Fix, title: str) -> bool:
    """Fixes that are only to be read have to be asked for."""
    return fix.title.startswith(title) if title else fix.safety != "display"
