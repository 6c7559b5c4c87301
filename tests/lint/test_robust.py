"""Whatever is in a file: a report, at worst with a syntax finding; never an exception."""

from __future__ import annotations

import importlib.util
import inspect
import os
import random
import sysconfig
from pathlib import Path

import libcst
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from project_on_disk import ProjectOnDisk

from fullgraph.lint.config import AssumeCompiled, Config
from fullgraph.lint.project import Project
from fullgraph.lint.request import CheckRequest
from fullgraph.lint.results import Kind, Result, Task
from fullgraph.lint.ruleset import ruleset
from fullgraph.lint.summary import Summary, SyntaxProblem, summarise
from fullgraph.lint.units import Units

SOURCES = [
    Path(inspect.getfile(module))
    for module in (inspect, random, libcst.codemod if hasattr(libcst, "codemod") else libcst)
]
CODES = {"FG901"}


@given(st.binary(max_size=300))
def test_any_bytes(source: bytes) -> None:
    assert isinstance(summarise(source, None), (Summary, SyntaxProblem))


@given(st.data())
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_mutated_files(project: ProjectOnDisk, data: st.DataObject) -> None:
    lines = data.draw(st.sampled_from(SOURCES)).read_text(encoding="utf-8").splitlines()[:400]
    start = data.draw(st.integers(0, len(lines) - 1))
    length = data.draw(st.integers(0, 8))
    choice = data.draw(st.sampled_from(["delete", "repeat", "swap"]))
    match choice:
        case "delete":
            del lines[start : start + length]
        case "repeat":
            lines[start:start] = lines[start : start + length]
        case "swap":
            lines[start : start + length] = reversed(lines[start : start + length])
    project.write({"net.py": "import torch\n" + "\n".join(lines)})
    report = project.check(assume=AssumeCompiled.ALL)
    assert all(finding.code.startswith("FG") for finding in report.findings)


def _without_a_span(draw: random.Random, source: bytes) -> bytes:
    start = draw.randrange(len(source))
    return source[:start] + source[start + draw.randrange(400) :]


def _with_tokens_swapped(draw: random.Random, source: bytes) -> bytes:
    words = source.split(b" ")
    for _ in range(4):
        one, other = draw.randrange(len(words)), draw.randrange(len(words))
        words[one], words[other] = words[other], words[one]
    return b" ".join(words)


def _nested(draw: random.Random, source: bytes) -> bytes:
    depth = 500
    inner = draw.choice(
        [
            b"value = " + b"(" * depth + b"1" + b")" * depth,
            b"value = " + b"-" * depth + b"1",
            b"value = a" + b".b" * depth,
            b"value = a" + b"(1)" * depth,
            b"value = " + b" + ".join([b"a"] * depth),
            b"value = " + b"lambda: " * depth + b"1",
            b"\n".join(b" " * i + b"if a:" for i in range(depth)) + b"\n" + b" " * depth + b"pass",
        ]
    )
    return b"import torch\n" + inner + b"\n" + source


def _long(draw: random.Random, source: bytes) -> bytes:
    return source * (50_000 // (source.count(b"\n") + 1) + 1)


def _with_null_bytes(draw: random.Random, source: bytes) -> bytes:
    at = draw.randrange(len(source))
    return source[:at] + b"\0" + source[at:]


MUTATIONS = [
    _without_a_span,
    _with_tokens_swapped,
    _nested,
    _with_null_bytes,
    lambda draw, source: source.replace(b"\n", b"\r\n"),
    lambda draw, source: b"\xef\xbb\xbf" + source,
    lambda draw, source: source.replace(b"\n\n", b"\n\x0c\n"),
    lambda draw, source: source.replace(b"    ", b"\t"),
    lambda draw, source: b"# -*- coding: latin-1 -*-\n" + source + b"\nname = '\xe9'\n",
]
MUTATED = int(os.environ.get("MUTATED_FILES", "30"))


def _real_files() -> list[Path]:
    """Of torch where it is installed, else of Python."""
    found = importlib.util.find_spec("torch")
    folder = sysconfig.get_path("stdlib") if found is None or found.origin is None else Path(found.origin).parent / "nn"
    return sorted(path for path in Path(folder).rglob("*.py") if path.stat().st_size > 1000)


def test_mutated_real_files(project: ProjectOnDisk) -> None:
    """With `MUTATED_FILES=1000` as many; one in fifty is made 50,000 lines long."""
    draw, files = random.Random(MUTATED), _real_files()
    for number in range(MUTATED):
        mutate = _long if number % 50 == 29 else MUTATIONS[number % len(MUTATIONS)]
        file = project.root / f"net_{number}.py"
        file.write_bytes(mutate(draw, draw.choice(files).read_bytes()))
        how = AssumeCompiled.FORWARD if mutate is _long else AssumeCompiled.ALL
        report = project.check(file.name, assume=how)
        assert not report.remarks
        assert all(finding.code.startswith("FG") for finding in report.findings)
        file.unlink()


@pytest.mark.parametrize(
    "source",
    [
        b"\xef\xbb\xbfimport torch\n",
        b"# -*- coding: latin-1 -*-\nname = '\xe9'\nimport torch\n",
        b"import torch\r\n\r\ndef f(x):\r\n    return x\r\n",
        b"import torch\x0c\n\tx = 1\n",
        b"import torch\n" + b"x = " + b"(" * 90 + b"1" + b")" * 90 + b"\n",
        b"import torch\nx = " + b" + ".join([b"1"] * 3000) + b"\n",
        b"import torch\n" + b"x = 1\n" * 50_000,
        b"import torch\nx = 1\x00\n",
        b"import torch\nx = '\xff'\n",
        b"",
    ],
    ids=[
        "BOM",
        "latin-1",
        "CRLF",
        "form feed",
        "nested",
        "long sum",
        "50,000 lines",
        "null byte",
        "not UTF-8",
        "empty",
    ],
)
def test_odd_files(project: ProjectOnDisk, source: bytes) -> None:
    (project.root / "net.py").write_bytes(source)
    (project.root / "other.py").write_text("import torch\n\n@torch.compile\ndef f(x):\n    print(x)\n")
    codes = [finding.code for finding in project.check().findings]
    assert "FG301" in codes
    assert set(codes) <= {"FG301", "FG901"}


def test_code_that_calls_itself_and_imports_in_circles(project: ProjectOnDisk) -> None:
    project.write(
        {
            "a.py": """
                import torch
                from b import pong, Base

                class Net(Base, torch.nn.Module):
                    def forward(self, x, depth=3):
                        return pong(self, x) if depth else self.forward(x, depth - 1)

                net = torch.compile(Net())
                Loop = torch.compile(Loop) if "Loop" in dir() else net
            """,
            "b.py": """
                import a

                class Base(a.Net):
                    pass

                def pong(net, x):
                    return net(x).sum().item()

                TOTAL = TOTAL + 1
            """,
        }
    )
    assert "FG201" in {finding.code for finding in project.check().findings}


@pytest.mark.parametrize("assume", [AssumeCompiled.FORWARD, AssumeCompiled.AUTO])
def test_a_file_that_is_removed_while_others_are_checked(tmp_path: Path, assume: AssumeCompiled) -> None:
    """It counts as one without code; what another gives is not lost."""
    net = "import torch\n\nclass Net(torch.nn.Module):\n    def forward(self, x):\n        return x.sum().item()\n"
    files = [tmp_path / f"{name}.py" for name in "ab"]
    for path in files:
        path.write_text(net + "\nnet = torch.compile(Net())\n")
    units = Units(
        Project(tmp_path, None), Config(tmp_path), ruleset(CheckRequest((), Config(tmp_path)).torch), frozenset()
    )
    files[1].unlink()
    if assume is AssumeCompiled.AUTO:
        results, together = units.found(map(str, files), [])
        assert list(results) == [str(files[0])]
        assert together.emissions
    else:
        first, second = (units.assumed(Task(Kind.FORWARD, str(path))) for path in files)
        assert first.emissions
        assert second == Result()
