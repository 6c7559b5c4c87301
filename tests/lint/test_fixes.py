"""Suggested edits: applied to the source they give the code one would write."""

from __future__ import annotations

import pytest
from project_on_disk import ProjectOnDisk

from fullgraph.lint.findings import Edit, Finding


def apply(text: str, edits: tuple[Edit, ...]) -> str:
    lines = text.split("\n")
    for edit in sorted(edits, key=lambda edit: edit.start, reverse=True):
        (first, start), (last, end) = edit.start, edit.end
        changed = lines[first - 1][:start] + edit.text + lines[last - 1][end:]
        lines[first - 1 : last] = changed.split("\n")
    return "\n".join(lines)


def fixed(project: ProjectOnDisk, before: str) -> str:
    project.write({"net.py": before})
    text = (project.root / "net.py").read_text(encoding="utf-8")
    findings: tuple[Finding, ...] = project.check().findings
    return apply(text, tuple(edit for finding in findings for fix in finding.fixes for edit in fix.edits))


HEAD = "import logging\nimport torch\nlog = logging.getLogger()\n\n@torch.compile\ndef run(x):\n"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('    print("é", x)  # done\n', '    if not torch.compiler.is_compiling():\n        print("é", x)  # done\n'),
        (
            "    if x.shape[0] > 1:\n        log.info(\n            'big %s',\n            x.shape,\n        )\n",
            "    if x.shape[0] > 1:\n        if not torch.compiler.is_compiling():\n            log.info(\n"
            "                'big %s',\n                x.shape,\n            )\n",
        ),
        ("    if x.shape[0] > 1: print(x)\n", "    if x.shape[0] > 1: print(x)\n"),
        ("    x = x + 1; print(x)\n", "    x = x + 1; print(x)\n"),
        ("    y = [print(v) for v in x]\n", "    y = [print(v) for v in x]\n"),
    ],
    ids=["comment kept", "call over lines", "one-line if left alone", "shared line left alone", "no statement"],
)
def test_logging_is_guarded(project: ProjectOnDisk, before: str, after: str) -> None:
    tail = "    return x * 2\n"
    assert fixed(project, HEAD + before + tail) == HEAD + after + tail


def test_compile_moves_inside_ddp(project: ProjectOnDisk) -> None:
    before = (
        "import torch\nfrom torch.nn.parallel import DistributedDataParallel as DDP\n\n"
        "net = torch.compile(DDP(torch.nn.Linear(2, 2), device_ids=[0]), mode='max-autotune')  # trained below\n"
    )
    after = before.replace(
        "torch.compile(DDP(torch.nn.Linear(2, 2), device_ids=[0]), mode='max-autotune')",
        "DDP(torch.compile(torch.nn.Linear(2, 2), mode='max-autotune'), device_ids=[0])",
    )
    assert fixed(project, before) == after


def test_suppress_errors_is_switched_off(project: ProjectOnDisk) -> None:
    before = "import torch\n\nif True:\n    torch._dynamo.config.suppress_errors = True\n"
    assert fixed(project, before) == before.replace("errors = True", "errors = False")
