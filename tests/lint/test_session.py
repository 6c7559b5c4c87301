"""A file checked after each edit has the findings that a fresh check of the same text has."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from project_on_disk import ProjectOnDisk

from fullgraph.cli.projects import build_request
from fullgraph.lint import engine
from fullgraph.lint.findings import CheckReport
from fullgraph.lint.session import Session

MODEL = """\
\"\"\"A model.\"\"\"
import torch
from torch import nn
from helpers import clamp, SCALE

LIMIT = 3
flags = {"fast": True}


def scaled(x, by=LIMIT):
    if by > 2:
        return x * by
    return clamp(x)


class Block(nn.Module):
    rate = 0.5

    def __init__(self, width):
        super().__init__()
        self.proj = nn.Linear(width, width)
        self.count = 0
        self._more()

    def _more(self):
        self.extra = None

    @property
    def wide(self):
        return self.proj.in_features > 4

    def forward(self, x):
        self.count += 1
        if self.wide:
            x = scaled(x)
        print(x.sum())
        return self.proj(x)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList([Block(8) for _ in range(2)])

    def forward(self, x, mask=None):
        for block in self.blocks:
            x = block(x)
        if mask is not None and mask.any():
            x = x * SCALE
        return x.sum().item()
"""
HELPERS = """\
import torch

SCALE = 2.0


def clamp(x):
    if x.max() > 1:
        return x / x.max()
    return x
"""
COMPILED = """\
import torch
from model import Net

net = torch.compile(Net())
net(torch.ones(2, 8))
"""
LINES = (
    "",
    "# a remark",
    "        x = x + 1",
    "        if x.sum() > 0:",
    "            x = x.float()",
    "        self.extra = x",
    "        self.count = self.count + 1",
    "    def wide(self): return bool(self.rate)",
    "    if x.sum() > 0: x = x + 1  # noqa: FG101",
    "LIMIT = 1",
    "from helpers import clamp as scaled",
    "@torch.compile",
    "def extra(x): return x.item()",
    "        return x",
    "class Other(Block): pass",
)
WORDS = (("x", "mask"), ("Block", "Net"), ("> 2", "> 5"), ("print", "str"), ("0", "None"), ("self.", ""), ("(", "(("))

edits = st.one_of(
    st.tuples(st.just("insert"), st.integers(0, 70), st.sampled_from(LINES)),
    st.tuples(st.just("delete"), st.integers(0, 70), st.integers(1, 12)),
    st.tuples(st.just("swap"), st.integers(0, 70), st.sampled_from(WORDS)),
    st.tuples(st.just("copy"), st.integers(0, 70), st.integers(0, 70)),
)


Edit = tuple[str, int, object]


def _edited(text: str, edit: Edit) -> str:
    lines = text.split("\n")
    kind, at, what = edit
    at = min(at, len(lines) - 1)
    match kind, what:
        case "insert", str():
            lines.insert(at, what)
        case "delete", int():
            del lines[at : at + what]
        case "swap", (old, new):
            lines[at] = lines[at].replace(old, new, 1)
        case "copy", int():
            lines.insert(at, lines[min(what, len(lines) - 1)])
    return "\n".join(lines)


def _parses(text: str) -> bool:
    try:
        compile(text, "<text>", "exec", dont_inherit=True)
    except (SyntaxError, ValueError):
        return False
    return True


def _without_fixes(report: CheckReport) -> CheckReport:
    return replace(report, findings=tuple(replace(finding, fixes=()) for finding in report.findings))


class _Edited:
    """Two files that are edited in a session."""

    def __init__(self, root: Path) -> None:
        self.texts = {str(root / "model.py"): MODEL, str(root / "helpers.py"): HELPERS}
        self.request = build_request((root / "model.py",), None, use_cache=False)
        self.session = Session(self.request)

    def edit(self, path: str, edit: Edit) -> None:
        self.texts[path] = _edited(self.texts[path], edit)
        self.session.update(path, self.texts[path].encode())

    def fresh(self, path: str) -> CheckReport:
        contents = {path: text.encode() for path, text in self.texts.items()}
        return _without_fixes(engine.check(dataclasses.replace(self.request, files=(Path(path),), contents=contents)))


@pytest.mark.parametrize("compiled", [False, True])
@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(edits=st.lists(st.tuples(st.sampled_from(("model.py", "helpers.py")), edits), min_size=1, max_size=7))
def test_after_edits_as_from_the_beginning(
    project: ProjectOnDisk, compiled: bool, edits: list[tuple[str, Edit]]
) -> None:
    project.write({"model.py": MODEL, "helpers.py": HELPERS} | ({"main.py": COMPILED} if compiled else {}))
    edited = _Edited(project.root)
    for name, edit in edits:
        edited.edit(str(project.root / name), edit)
        found = {path: edited.session.report(path) for path in edited.texts}
    assume(all(map(_parses, edited.texts.values())))
    for path, report in found.items():
        assert report == edited.fresh(path), edited.texts


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("        x = x + 1", "        x = (x + 1"),
        ("        return x", "        return 'x"),
        ("        return x", '        return """x'),
        ("            x = x + 1", "        x = x + 1"),
        ("        if x.sum() > 0:", "        if x.sum() > 0"),
        ("class Net", "  class Net"),
        ("import torch", "import"),
        ("        return x", "        return x +"),
        ("def last():", "def last()"),
    ],
)
def test_what_does_not_parse_is_told_as_by_a_check(project: ProjectOnDisk, before: str, after: str) -> None:
    text = (
        "import torch\n\n\nclass Net(torch.nn.Module):\n    def forward(self, x):\n        if x.sum() > 0:\n"
        "            x = x + 1\n        x = x + 1\n        return x\n\n\ndef last():\n    pass\n"
    )
    project.write({"m.py": text})
    path = project.root / "m.py"
    request = build_request((path,), None, use_cache=False)
    session = Session(request)
    session.update(str(path), text.encode())
    assert [finding.code for finding in session.report(str(path)).findings] == ["FG101"]
    broken = text.replace(before, after, 1)
    session.update(str(path), broken.encode())
    (told,) = (finding for finding in session.report(str(path)).findings if finding.code == "FG901")
    (fresh,) = engine.check(dataclasses.replace(request, contents={str(path): broken.encode()})).findings
    assert told == fresh
    session.update(str(path), text.encode())
    assert [finding.code for finding in session.report(str(path)).findings] == ["FG101"]
