"""What is compiled where one line of a decorated function cannot be: the plain lines above it, and nothing that Python
has to see.
"""

from __future__ import annotations

import pytest
from project_on_disk import ProjectOnDisk

from fullgraph.lint.apply import edited
from fullgraph.lint.fixes import suggest
from fullgraph.lint.project import Project

HEAD = """\
import torch


@torch.compile
"""
FUNCTION = """\
def chosen(x: torch.Tensor, least: float = 0.5):
    # how far
    y = torch.sin(x)
    good = y > least
    found = y[good]  # here
    return found * 2
"""
SPLIT = """\
def chosen_forward(x: torch.Tensor, least: float):
    # how far
    y = torch.sin(x)
    good = y > least
    return y, good


def chosen(x: torch.Tensor, least: float = 0.5):
    y, good = chosen_forward(x, least)
    found = y[good]  # here
    return found * 2
"""
NESTED = FUNCTION.replace("    found = y[good]  # here\n", "    if len(y):\n        y = y[good]  # here\n").replace(
    "found * 2", "y"
)
METHOD = """\
class Net:
    @torch.compile
    def run(self, x):
        y = torch.sin(x)
        return y[y > 0]  # here
"""


def offered(project: ProjectOnDisk, text: str) -> str | None:
    """The file with the lines above the one that is marked compiled alone."""
    project.write({"net.py": text})
    module = Project(project.root, None).load(str(project.root / "net.py"))
    assert module is not None
    number, row = next((at, row) for at, row in enumerate(text.splitlines(), 1) if "# here" in row)
    span = (number, len(row) - len(row.lstrip()), number, len(row.partition("  #")[0]))
    found = suggest(["compile_above"], module.settled(), span, "net.py")
    assert all(fix.safety == "unsafe" for fix in found)
    return edited(text.encode(), [edit for fix in found for edit in fix.edits]).decode() if found else None


LOUD = [
    (FUNCTION, SPLIT),
    (
        FUNCTION.replace("    y = torch.sin(x)\n", "    print(x)\n    y = torch.sin(x)\n"),
        SPLIT.replace("    # how far\n    y =", "    y =").replace(
            "    y, good =", "    # how far\n    print(x)\n    y, good ="
        ),
    ),
    (
        FUNCTION.replace("    good = y > least\n", "").replace("[good]", "[y > least]"),
        "def chosen_y(x: torch.Tensor):\n    # how far\n    return torch.sin(x)\n\n\n"
        + FUNCTION.replace("    # how far\n    y = torch.sin(x)\n", "    y = chosen_y(x)\n")
        .replace("    good = y > least\n", "")
        .replace("[good]", "[y > least]"),
    ),
    (
        NESTED,
        SPLIT.partition("    found")[0] + NESTED[NESTED.index("    if len") :],
    ),
]
LOUD += [
    (FUNCTION.replace("    ", "\t"), SPLIT.replace("    ", "\t")),
    (
        FUNCTION.replace("y = torch", "y: torch.Tensor = torch"),
        SPLIT.replace("y = torch", "y: torch.Tensor = torch"),
    ),
]
SILENT = [
    FUNCTION.replace("y = torch.sin(x)", "y = x"),
    FUNCTION.replace("    good = y > least\n", "    good = y > least\n    print(good)\n"),
    FUNCTION.replace("good = y > least", "good = (y > least).tolist()"),
    FUNCTION.replace("    found = y", "    more = lambda: y\n    found = y"),
    FUNCTION.replace("found * 2", "locals()"),
    FUNCTION.replace("    # how far\n", "    if least:\n        rate = 2\n").replace("sin(x)", "sin(x) * rate"),
]


@pytest.mark.parametrize(("before", "after"), LOUD)
def test_plain_lines_above_become_a_function(project: ProjectOnDisk, before: str, after: str) -> None:
    assert offered(project, HEAD + before) == HEAD + after


@pytest.mark.parametrize("code", SILENT)
def test_what_cannot_move_stays(project: ProjectOnDisk, code: str) -> None:
    assert offered(project, HEAD + code) is None


@pytest.mark.parametrize("head", ["import torch\n\n", "import torch\n\n@torch.no_grad()\n@torch.compile\n"])
def test_only_what_torch_compile_alone_decorates_is_split(project: ProjectOnDisk, head: str) -> None:
    assert offered(project, head + FUNCTION) is None
    assert offered(project, f"import torch\n\n{METHOD}") is None
