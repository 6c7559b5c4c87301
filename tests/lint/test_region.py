"""Where tracing starts, how far it goes, and how a finding says so."""

from __future__ import annotations

import click
import pytest
from project_on_disk import ProjectOnDisk, lines, only

from fullgraph.lint.config import AssumeCompiled, Mode
from fullgraph.lint.findings import Confidence, Effect, Severity

HELPER = """
    def clamp(x):
        if x.isnan().any():
            return x.nan_to_num()
        return x
"""


def test_a_break_in_another_file_is_reported_there_with_the_way_to_it(project: ProjectOnDisk) -> None:
    project.write(
        {
            "helper.py": HELPER,
            "model.py": """
                import torch
                from helper import clamp

                class Net(torch.nn.Module):
                    def forward(self, x):
                        return self.block(x)

                    def block(self, x):
                        return clamp(x.relu())

                net = torch.compile(Net())
            """,
        }
    )
    report = project.check()
    finding = only(report)
    assert lines(report) == [("helper.py", "FG101", 3)]
    assert finding.via == ("Net.forward", "Net.block", "clamp")
    assert finding.root == "helper.py:3"
    assert [(entry.qualname, entry.how) for entry in report.entries] == [("Net.forward", "call")]


def test_only_the_caller_given_reports_at_the_call(project: ProjectOnDisk) -> None:
    project.write(
        {
            "helper.py": HELPER,
            "model.py": """
                import torch
                import helper

                @torch.compile
                def run(x):
                    return helper.clamp(x.relu())
            """,
        }
    )
    finding = only(project.check("model.py"))
    assert (finding.span.path, finding.span.line, finding.root) == ("model.py", 7, "helper.py:3")


def test_an_entry_named_by_the_user_reports_every_file_reached(project: ProjectOnDisk) -> None:
    project.write(
        {"helper.py": HELPER, "model.py": "from helper import clamp\n\ndef run(x):\n    return clamp(x * 2)\n"}
    )
    report = project.check("model.py", entries=("helper.py::clamp",))
    assert lines(report) == [("helper.py", "FG101", 3)]
    assert report.entries[0].how == "option"


def test_an_entry_that_does_not_exist_is_a_usage_error(project: ProjectOnDisk) -> None:
    project.write({"helper.py": HELPER})
    with pytest.raises(click.UsageError, match="no function, method or module class 'nothing'"):
        project.check(entries=("helper.py::nothing",))


def test_relative_imports_packages_and_reexports(project: ProjectOnDisk) -> None:
    project.write(
        {
            "pkg/__init__.py": "from .ops import read as fetch\n",
            "pkg/ops.py": "def read(x):\n    return x.sum().item()\n",
            "pkg/net.py": """
                import torch
                from . import fetch

                @torch.compile
                def run(x):
                    return x * fetch(x)
            """,
        }
    )
    assert lines(project.check()) == [("ops.py", "FG201", 2)]


def test_submodules_set_in_the_constructor_are_entered(project: ProjectOnDisk) -> None:
    project.write(
        {
            "net.py": """
                import torch
                from torch import nn

                class Gate(nn.Module):
                    def forward(self, x):
                        return x * x.mean().item()

                class Stack(nn.Module):
                    def __init__(self, depth):
                        super().__init__()
                        self.layers = nn.ModuleList([Gate() for _ in range(depth)])
                        self.head = nn.Sequential(nn.Linear(4, 4), Gate())

                    def forward(self, x):
                        for layer in self.layers:
                            x = layer(x)
                        return self.head(x)

                stack = torch.compile(Stack(2))
            """
        }
    )
    report = project.check()
    assert lines(report) == [("net.py", "FG201", 7)]
    assert only(report).via == ("Stack.forward", "Gate.forward")


@pytest.mark.parametrize(
    "border",
    [
        "@torch.compiler.disable",
        "@torch.compiler.disable()",
        "@torch._dynamo.disable",
    ],
)
def test_a_disabled_function_is_a_border(project: ProjectOnDisk, border: str) -> None:
    project.write(
        {
            "net.py": f"""
                import torch

                {border}
                def log(x):
                    print(x.sum().item())

                @torch.compile
                def run(x):
                    log(x)
                    return x * 2
            """
        }
    )
    finding = only(project.check())
    assert (finding.code, finding.span.line, finding.severity) == ("FG801", 10, Severity.WARNING)


def test_callees_of_a_function_disabled_by_itself_are_traced(project: ProjectOnDisk) -> None:
    project.write(
        {
            "net.py": """
                import torch

                def inner(x):
                    return x * x.sum().item()

                @torch.compiler.disable(recursive=False)
                def outer(x):
                    print(x)
                    return inner(x)

                @torch.compile
                def run(x):
                    return outer(x)
            """
        }
    )
    assert [(f.code, f.span.line) for f in project.check().findings] == [("FG201", 5), ("FG801", 14)]


def test_without_a_compile_call_every_forward_is_assumed(project: ProjectOnDisk) -> None:
    source = {
        "net.py": """
            import torch

            class Net(torch.nn.Module):
                def forward(self, x):
                    return x * x.sum().item()

            def loose(x):
                return x.sum().item()
        """
    }
    project.write(source)
    assert lines(project.check()) == [("net.py", "FG201", 6)]
    assert lines(project.check(assume=AssumeCompiled.NONE)) == []
    assert lines(project.check(assume=AssumeCompiled.ALL)) == [("net.py", "FG201", 6), ("net.py", "FG201", 9)]
    project.write({"other.py": "import torch\n\nfast = torch.compile(lambda x: x + 1)\n"})
    assert lines(project.check()) == []


@pytest.mark.parametrize(
    "call",
    [
        "torch.compile(Net())",
        "torch.compile(model=Net())",
        "compile_(Net())",
        "partial(torch.compile, dynamic=True)(Net())",
        "Net().compile()",
        "torch.compile(Net().forward)",
    ],
)
def test_ways_to_compile_a_module(project: ProjectOnDisk, call: str) -> None:
    project.write(
        {
            "net.py": f"""
                import torch
                from functools import partial
                from torch import compile as compile_

                class Net(torch.nn.Module):
                    def forward(self, x):
                        return x * x.sum().item()

                net = {call}
            """
        }
    )
    assert lines(project.check()) == [("net.py", "FG201", 8)]


def test_fullgraph_captures_scalars_and_makes_certain_breaks_errors(project: ProjectOnDisk) -> None:
    project.write(
        {
            "net.py": """
                import torch

                @torch.compile(fullgraph=True)
                def run(x: torch.Tensor):
                    n = x.sum().item()
                    if x.max() > 0:
                        return x * n
                    return x
            """
        }
    )
    finding = only(project.check())
    assert (finding.code, finding.span.line, finding.severity) == ("FG101", 7, Severity.ERROR)
    assert lines(project.check(mode=Mode.DEFAULT)) == [("net.py", "FG201", 6), ("net.py", "FG101", 7)]


def test_a_number_read_under_fullgraph_still_decides_no_branch(project: ProjectOnDisk) -> None:
    project.write(
        {
            "net.py": """
                import torch

                @torch.compile(fullgraph=True)
                def run(x):
                    n = x.sum().item()
                    if n > 0:
                        return x * n
                    return x
            """
        }
    )
    assert lines(project.check()) == [("net.py", "FG101", 7)]
    assert lines(project.check(mode=Mode.DEFAULT)) == [("net.py", "FG201", 6)]


def test_a_break_in_a_loop_skips_the_frame_and_hides_what_follows(project: ProjectOnDisk) -> None:
    project.write(
        {
            "net.py": """
                import torch

                @torch.compile
                def run(xs):
                    total = 0
                    for x in xs:
                        total = total + x.sum().item()
                    return total * torch.ones(3).max().item()

                run([torch.ones(3), torch.ones(3)])
            """
        }
    )
    first, second = project.check().findings
    assert (first.effect, first.gb, first.severity) == (
        Effect.SKIPPED_FRAME,
        ("GB0124", "GB0033", "GB7000"),
        Severity.WARNING,
    )
    assert (second.span.line, second.severity) == (9, Severity.NOTE)


def test_what_holds_only_in_training_or_with_an_argument_says_so(project: ProjectOnDisk) -> None:
    project.write(
        {
            "net.py": """
                import torch

                class Net(torch.nn.Module):
                    def forward(self, x, labels: torch.Tensor | None = None):
                        if self.training:
                            x = x * x.mean().item()
                        if labels is not None:
                            x = x * labels.max().item()
                        return x
            """
        }
    )
    training, labels = project.check().findings
    assert (training.when.training, training.when.given) == (True, ())
    assert (labels.when.training, labels.when.given) == (None, ("labels",))


def test_what_no_visible_call_leads_to_is_only_possible(project: ProjectOnDisk) -> None:
    project.write(
        {
            "net.py": """
                import torch

                @torch.compile
                def run(x, y=None):
                    if y is not None:
                        return x * y.max().item()
                    return x + 1

                run(torch.ones(3))
            """
        }
    )
    assert lines(project.check()) == []
    assert only(project.check(min_confidence=Confidence.POSSIBLE)).confidence is Confidence.POSSIBLE


def test_parameters_are_tensors_by_annotation_use_or_call(project: ProjectOnDisk) -> None:
    project.write(
        {
            "net.py": """
                import torch

                @torch.compile
                def annotated(x: torch.Tensor):
                    return 1 if x > 0 else 0

                @torch.compile
                def used(x):
                    y = x.softmax(-1)
                    return 1 if x > 0 else y

                @torch.compile
                def called(x):
                    return 1 if x > 0 else 0

                @torch.compile
                def unknown(flag):
                    return 1 if flag else 0

                called(torch.ones(()))
            """
        }
    )
    found = {finding.span.line: finding.confidence for finding in project.check().findings}
    assert found == {6: Confidence.CERTAIN, 11: Confidence.LIKELY, 15: Confidence.CERTAIN}
