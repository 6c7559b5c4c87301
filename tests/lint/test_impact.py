"""What a finding costs: in a loop, where in the compiled function, for how many entries, and who calls it."""

from __future__ import annotations

import click
import pytest
from project_on_disk import ProjectOnDisk, only

from fullgraph.lint.emit import text
from fullgraph.lint.findings import Impact

NET = """\
import torch

def loud(x):
    print(x)
    return x

@torch.compile
def run(x):
"""


@pytest.mark.parametrize(
    ("body", "where"),
    [
        (["x = loud(x)", "y = x * 2", "return y"], "start"),
        (['"""Text."""', "x = loud(x)", "return x * 2"], "start"),
        (["y = x * 2", "y = loud(y)", "return y * 2"], "middle"),
        (["y = x * 2", "return loud(y)"], "end"),
        (["return loud(x)"], "start"),
    ],
)
def test_where_a_break_splits(project: ProjectOnDisk, body: list[str], where: str) -> None:
    project.write({"m.py": NET + "".join(f"    {line}\n" for line in body)})
    assert only(project.check()).impact == Impact(loop=False, where=where, entries=1, callers=("run",))


@pytest.mark.parametrize(
    "body", [["for _ in range(3):", "    x = loud(x)", "return x"], ["y = [loud(x) for _ in range(3)]", "return y"]]
)
def test_a_loop_counts_in_a_caller_too(project: ProjectOnDisk, body: list[str]) -> None:
    project.write({"m.py": NET + "".join(f"    {line}\n" for line in body)})
    assert only(project.check()).impact.loop


SHARED = """\
import torch

def loud(x):
    y = x + 1
    print(y)
    return y

@torch.compile
def one(x):
    z = loud(x)
    return z

@torch.compile
def two(x):
    x = x + 1
    x = loud(x)
    return x * 2

@torch.compile
def three(x):
    print("three")
    return two(x)
"""


def test_one_line_is_one_finding_with_all_that_lead_to_it(project: ProjectOnDisk) -> None:
    project.write({"m.py": SHARED})
    loud, three = project.check().findings
    assert (loud.span.line, loud.impact.entries, loud.impact.callers) == (5, 3, ("one", "two"))
    assert (three.span.line, three.impact.entries, three.impact.callers) == (21, 1, ())


def test_the_text_names_the_worst_and_all_callers(project: ProjectOnDisk) -> None:
    project.write({"m.py": SHARED})
    shown = click.unstyle(text.render(project.check(), notes=False))
    assert "  = called by: one, two\n" in shown
    assert "\nworst: m.py:5 splits 3 entries\n" in shown
    project.write({"m.py": SHARED.replace('"three"', "x").replace("    z = loud(x)", "    for _ in range(2): loud(x)")})
    shown = click.unstyle(text.render(project.check(), notes=False))
    assert "\nworst: m.py:5 splits 3 entries, in a loop\n" in shown
