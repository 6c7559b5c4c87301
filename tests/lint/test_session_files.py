"""Edits that touch more than the lines of one file: files that come and go, star imports, texts that never parsed."""

from __future__ import annotations

import dataclasses

import pytest
from msgspec.structs import replace
from project_on_disk import ProjectOnDisk

from fullgraph.cli.projects import build_request
from fullgraph.lint import engine
from fullgraph.lint.findings import CheckReport
from fullgraph.lint.session import Session

MODEL = """\
import torch
from helpers import clamp


class Net(torch.nn.Module):
    def forward(self, x):
        return clamp(x)
"""
HELPERS = """\
import torch


def clamp(x):
    return x.item()
"""


class _Open:
    """A project in a session, and what a check from the beginning says of the same contents."""

    def __init__(self, project: ProjectOnDisk, files: dict[str, str]) -> None:
        project.write(files)
        self.root = project.root
        self.request = build_request((project.root,), None, use_cache=False)
        self.contents: dict[str, bytes] = {}
        self.session = Session(dataclasses.replace(self.request, files=()))

    def type(self, name: str, text: str) -> None:
        self.contents[str(self.root / name)] = text.encode()
        self.session.update(str(self.root / name), text.encode())

    def save(self, name: str, text: str) -> None:
        path = self.root / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
        self.session.update(str(path), self.contents.get(str(path)))

    def remove(self, name: str) -> None:
        (self.root / name).unlink()
        self.session.update(str(self.root / name), None)

    def codes(self, name: str) -> list[str]:
        """What is found in a file, the same either way."""
        path = self.root / name
        fresh = engine.check(dataclasses.replace(self.request, files=(path,), contents=dict(self.contents)))
        told = self.session.report(str(path))
        assert _without_fixes(told) == _without_fixes(fresh)
        return [finding.code for finding in told.findings]


def _without_fixes(report: CheckReport) -> CheckReport:
    return replace(report, findings=tuple(replace(finding, fixes=()) for finding in report.findings))


@pytest.mark.parametrize("typed_before", [False, True])
def test_a_module_that_comes_and_goes(project: ProjectOnDisk, typed_before: bool) -> None:
    opened = _Open(project, {"model.py": MODEL})
    opened.type("model.py", MODEL)
    assert opened.codes("model.py") == []
    if typed_before:
        opened.type("helpers.py", HELPERS)
        assert opened.codes("model.py") == []
    opened.save("helpers.py", HELPERS)
    assert opened.codes("model.py") == ["FG201"]
    if not typed_before:
        opened.remove("helpers.py")
        assert opened.codes("model.py") == []


def test_a_package_takes_the_name_of_a_module(project: ProjectOnDisk) -> None:
    opened = _Open(project, {"model.py": MODEL, "helpers.py": HELPERS})
    assert opened.codes("model.py") == ["FG201"]
    opened.save("helpers/__init__.py", "def clamp(x):\n    return x\n")
    assert opened.codes("model.py") == []
    opened.remove("helpers/__init__.py")
    assert opened.codes("model.py") == ["FG201"]


def test_a_star_import_is_of_what_was_typed(project: ProjectOnDisk) -> None:
    star = MODEL.replace("import clamp", "import *")
    opened = _Open(project, {"model.py": star, "helpers.py": "import torch\n"})
    opened.type("model.py", star)
    assert opened.codes("model.py") == []
    opened.type("helpers.py", HELPERS)
    assert opened.codes("model.py") == ["FG201"]
    opened.type("model.py", star.replace("from helpers import *\n", ""))
    assert opened.codes("model.py") == []


def test_a_star_import_is_of_what_was_saved(project: ProjectOnDisk) -> None:
    star = MODEL.replace("import clamp", "import *")
    opened = _Open(project, {"model.py": star, "helpers.py": "import torch\n"})
    assert opened.codes("model.py") == []
    opened.save("helpers.py", HELPERS)
    assert opened.codes("model.py") == ["FG201"]


def test_a_module_imported_whole_is_the_one_that_was_saved(project: ProjectOnDisk) -> None:
    whole = MODEL.replace("from helpers import clamp", "import helpers").replace("clamp(", "helpers.clamp(")
    opened = _Open(project, {"model.py": whole, "helpers.py": HELPERS})
    opened.type("model.py", whole)
    assert opened.codes("model.py") == ["FG201"]
    opened.save("helpers.py", HELPERS.replace("    return", "    x = x + 1\n    return"))
    assert opened.codes("model.py") == ["FG201"]
    opened.save("helpers.py", HELPERS.replace(".item()", ""))
    assert opened.codes("model.py") == []


def test_the_first_forward_of_a_file(project: ProjectOnDisk) -> None:
    opened = _Open(project, {"helpers.py": HELPERS})
    opened.type("helpers.py", HELPERS)
    assert opened.codes("helpers.py") == []
    opened.type("helpers.py", HELPERS + MODEL)
    assert "FG201" in opened.codes("helpers.py")


@pytest.mark.parametrize("ending", ["x = (\n", "x = 1\\\n", "x = 1\n\\\n"])
def test_a_file_that_did_not_parse_at_first_or_ends_too_early(project: ProjectOnDisk, ending: str) -> None:
    opened = _Open(project, {"helpers.py": HELPERS + ending})
    opened.type("helpers.py", HELPERS + ending)
    assert opened.codes("helpers.py") == ["FG901"]
    opened.type("helpers.py", HELPERS)
    assert opened.codes("helpers.py") == []
    opened.type("helpers.py", HELPERS + ending)
    assert opened.codes("helpers.py") == ["FG901"]


def test_lines_after_a_text_that_did_not_parse_is_taken_back(project: ProjectOnDisk) -> None:
    text = HELPERS + MODEL.replace("from helpers import clamp\n", "")
    opened = _Open(project, {"model.py": text})
    opened.type("model.py", text)
    assert opened.codes("model.py") == ["FG201"]
    opened.type("model.py", text.replace("import torch\n", "import torch\n\n(\n", 1))
    opened.session.report(str(opened.root / "model.py"))
    opened.type("model.py", text)
    assert opened.codes("model.py") == ["FG201"]
