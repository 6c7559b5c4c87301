"""What mypy knows of an expression counts where the interpreter knows nothing, and never otherwise."""

from __future__ import annotations

import gc
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from in_process import check
from project_on_disk import ProjectOnDisk, lines

from fullgraph.lint import engine, workers
from fullgraph.lint.config import AssumeCompiled, Config, Types, load
from fullgraph.lint.findings import CheckReport, Confidence
from fullgraph.lint.project import Project
from fullgraph.lint.request import CheckRequest
from fullgraph.lint.session import Session
from fullgraph.lint.symbols import nodes_of
from fullgraph.lint.type_source import type_source
from fullgraph.lint.types_mypy import MypyOracle
from fullgraph.lint.values import (
    NONE,
    UNKNOWN,
    ExternalObject,
    Host,
    Instance,
    Mapping,
    Maybe,
    Sequence,
    Tensor,
    Tuple_,
    Value,
)

TORCH = {
    "__init__.py": "from torch._tensor import Tensor as Tensor\nfrom torch import nn as nn\n",
    "version.py": "__version__ = '2.13.0'\n",
    "_tensor.py": """
        from typing import Any

        class Tensor:
            def __gt__(self, other: Any) -> "Tensor": ...
            def __add__(self, other: Any) -> "Tensor": ...
        """,
    "nn/__init__.py": "from torch.nn.modules.linear import Linear as Linear, Module as Module\n",
    "nn/modules/__init__.py": "",
    "nn/modules/linear.py": "class Module:\n    training: bool\n\nclass Linear(Module): ...\n",
}
"""As much of torch as mypy needs here: the whole takes it half a minute."""

BOX = """
    from typing import Generic, TypeVar

    T = TypeVar("T")

    class Box(Generic[T]):
        value: T

        def __init__(self, value: T) -> None:
            self.value = value
    """
NET = """
    import torch
    from box import Box

    class Net(torch.nn.Module):
        box: Box[torch.Tensor]

        def forward(self, x: torch.Tensor):
            if self.box.value > 0:
                x = x + 1
            return x
    """
BRANCH = [("net.py", "FG101", 9)]
BLOCKED = "import sys; sys.modules['mypy'] = None; from fullgraph.cli.main import run; sys.exit(run(sys.argv[1:]))"


@pytest.fixture(scope="module", autouse=True)
def environment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """One with that torch, and a cache that all tests share."""
    folder = tmp_path_factory.mktemp("environment")
    ProjectOnDisk(folder / "lib/python3.11/site-packages/torch").write(TORCH)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("VIRTUAL_ENV", str(folder))
        patch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
        yield folder


def request_for(project: ProjectOnDisk, types: Types, jobs: int = 1, use_cache: bool = True) -> CheckRequest:
    config = Config(project.root, assume_compiled=AssumeCompiled.FORWARD, types=types)
    files = tuple(sorted(project.root.rglob("*.py")))
    return CheckRequest(files, config, use_cache=use_cache, jobs=jobs)


def checked(project: ProjectOnDisk, types: Types = Types.MYPY) -> CheckReport:
    return engine.check(request_for(project, types))


@pytest.mark.parametrize(
    "expression",
    [
        "self.box.value",
        "self.boxes[0].value",
        "self.named(x)['loss']",
        "collections.deque(parts).popleft()",
        "[later for _, later in itertools.pairwise(parts)][0]",
    ],
)
def test_a_branch_on_what_only_mypy_knows_to_be_a_tensor(project: ProjectOnDisk, expression: str) -> None:
    net = f"""
        import collections, itertools
        import torch
        from box import Box

        class Net(torch.nn.Module):
            box: Box[torch.Tensor]
            boxes: "collections.deque[Box[torch.Tensor]]"

            def named(self, x: torch.Tensor) -> collections.ChainMap[str, torch.Tensor]:
                return collections.ChainMap(dict(loss=x))

            def forward(self, x: torch.Tensor, parts: list[torch.Tensor]):
                if {expression} > 0:
                    x = x + 1
                return x
        """
    project.write({"box.py": BOX, "net.py": net})
    assert lines(checked(project, Types.NONE)) == []
    report = checked(project)
    assert lines(report) == [("net.py", "FG101", 14)]
    assert report.findings[0].confidence is Confidence.LIKELY


@pytest.mark.parametrize("held", ["bool", "int", "str | None", "list[torch.Tensor]", "object"])
def test_a_branch_on_what_mypy_knows_to_be_no_tensor(project: ProjectOnDisk, held: str) -> None:
    net = NET.replace("Box[torch.Tensor]", f"Box[{held}]").replace("value > 0", "value")
    project.write({"box.py": BOX, "net.py": net})
    assert checked(project) == checked(project, Types.NONE)


TYPES: dict[str, Value] = {
    "torch.Tensor": Tensor(sure=False),
    "torch.Tensor | None": Maybe(Tensor(sure=False)),
    "torch.Tensor | float": Tensor(sure=False),
    "torch.Tensor | str": UNKNOWN,
    "bool": Host("bool"),
    "Literal[3]": Host("int"),
    "None": UNKNOWN,
    "list[int]": Sequence(Host("int"), "list"),
    "tuple[int, ...]": Sequence(Host("int"), "tuple"),
    "tuple[torch.Tensor, None]": Tuple_((Tensor(sure=False), NONE)),
    "dict[str, torch.Tensor]": Mapping((), Tensor(sure=False)),
    "Named": Mapping((("size", Host("int")),), Tensor(sure=False)),
    "torch.nn.Linear": ExternalObject("torch.nn.Linear"),
    "Nested": Sequence(Sequence(UNKNOWN, "list"), "list"),
    "Callable[[], int]": UNKNOWN,
    "undefined": UNKNOWN,
}


def test_what_types_mean(project: ProjectOnDisk) -> None:
    """One file for them all; a column counts bytes, as in Python's own tree."""
    definitions = """\
from __future__ import annotations
from typing import Callable, Literal, NotRequired, TypedDict
import torch

Nested = list["Nested"]

class Named(TypedDict):
    size: int
    loss: NotRequired[torch.Tensor]

class Outer:
    class Inner: ...

"""
    kinds = [*TYPES, "Outer.Inner"]
    parameters = ", ".join(f"p{number}: {kind}" for number, kind in enumerate(kinds))
    (project.root / "a.py").write_text(
        definitions + f"def f({parameters}):\n" + "".join(f"    ('é', p{number})\n" for number in range(len(kinds))),
        encoding="utf-8",
    )
    whole = Project(project.root, None)
    module = whole.load(str(project.root / "a.py"))
    assert module is not None
    remarks: list[str] = []
    oracle = type_source(project.root, project.root / "kept").oracle(whole, remarks.append)
    spans = {node[2]: node[1] for node in nodes_of(module.functions["f"].body) if node[0] == "name"}
    found = {kind: oracle.value_of(module, spans[f"p{number}"]) for number, kind in enumerate(kinds)}
    assert remarks == []
    assert found.pop("Outer.Inner") == Instance(module.classes["Outer"].classes["Inner"])
    nested = found.pop("Nested")
    assert isinstance(nested, Sequence)
    assert {**found, "Nested": Sequence(Sequence(UNKNOWN, "list"), "list")} == TYPES


def test_what_has_been_found_with_types_is_not_asked_again(
    project: ProjectOnDisk, monkeypatch: pytest.MonkeyPatch
) -> None:
    project.write({"box.py": BOX, "net.py": NET})
    first = checked(project)
    monkeypatch.setattr(MypyOracle, "value_of", None)
    assert checked(project) == first


def test_what_mypy_reads_from_the_environment_tells_kept_findings_apart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("MYPYPATH", raising=False)
    plain = type_source(tmp_path, tmp_path).identity
    monkeypatch.setenv("MYPYPATH", str(tmp_path))
    assert type_source(tmp_path, tmp_path).identity != plain


def test_a_type_from_another_file_counts_as_that_file_has_it_now(project: ProjectOnDisk) -> None:
    """mypy follows a chain of imports that the interpreter had no reason to follow."""
    box = "from inner import Held\nfrom generic import Box\n\ndef made() -> Box[Held]: ...\n"
    net = NET.replace("box: Box[torch.Tensor]", "box = made()").replace("import Box", "import made")
    project.write({"generic.py": BOX, "box.py": box, "inner.py": "from torch import Tensor as Held\n", "net.py": net})
    assert lines(checked(project)) == BRANCH
    project.write({"inner.py": "Held = int\n"})
    assert lines(checked(project)) == []


def test_a_file_of_a_package_reads_its_neighbours(project: ProjectOnDisk) -> None:
    package = {"pkg/__init__.py": "from .parts import Box\n", "pkg/parts/__init__.py": "from .box import Box\n"}
    net = NET.replace("from box", "from .")
    project.write({**package, "pkg/parts/box.py": BOX, "pkg/net.py": net})
    assert lines(checked(project)) == BRANCH


def test_nothing_of_the_project_is_run(project: ProjectOnDisk) -> None:
    plugin = "from pathlib import Path\nPath('ran').touch()\ndef plugin(version): ...\n"
    settings = '[tool.mypy]\nplugins = ["plugin.py"]\nignore_errors = true\n'
    project.write({"box.py": BOX, "net.py": NET, "plugin.py": plugin, "pyproject.toml": settings})
    project.write({"mypy.ini": "[mypy]\nplugins = plugin.py\n", "sitecustomize.py": plugin})
    assert lines(checked(project)) == BRANCH
    assert not (project.root / "ran").exists()


def test_what_mypy_keeps_lies_in_the_cache(project: ProjectOnDisk, environment: Path) -> None:
    project.write({"box.py": BOX, "net.py": NET})
    before = sorted(project.root.rglob("*"))
    assert lines(checked(project)) == BRANCH
    assert sorted(project.root.rglob("*")) == before
    assert list((environment / "cache/fullgraph/types").rglob("box.*"))


def test_without_a_cache_nothing_is_kept(
    project: ProjectOnDisk, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    scratch = tmp_path_factory.mktemp("scratch")
    monkeypatch.setattr(tempfile, "tempdir", str(scratch))
    monkeypatch.setenv("XDG_CACHE_HOME", str(scratch / "cache"))
    project.write({"box.py": BOX, "net.py": NET})
    assert lines(engine.check(request_for(project, Types.MYPY, use_cache=False))) == BRANCH
    gc.collect()
    assert list(scratch.iterdir()) == []


def test_a_file_that_mypy_refuses_is_checked_without_types(project: ProjectOnDisk) -> None:
    """Twice the same: what was found without types is not taken for all that there is."""
    refused = NET.replace("value > 0:", "value > 0 or x > 0:") + "\n    break\n"
    project.write({"box.py": BOX, "net.py": refused})
    reports = [checked(project), checked(project)]
    for report in reports:
        assert lines(report) == BRANCH
        assert report.findings[0].message.endswith("`x > 0`")
        assert report.remarks == ('net.py was checked without types, because mypy failed: "break" outside loop',)
    project.write({"net.py": NET})
    assert checked(project).remarks == ()


def test_a_neighbour_that_mypy_refuses(project: ProjectOnDisk) -> None:
    net = NET.replace("from box import Box", "import collections, refused").replace(
        "self.box.value > 0", "collections.deque([x]).popleft() > 0"
    )
    project.write({"refused.py": "break\n", "net.py": net.replace("Box[torch.Tensor]", "int")})
    report = checked(project)
    assert (lines(report), report.remarks) == (BRANCH, ())


def test_mypy_breaking_down_is_no_end_of_the_check(project: ProjectOnDisk, monkeypatch: pytest.MonkeyPatch) -> None:
    from mypy import build

    def broken(*arguments: object, **options: object) -> None:
        raise AssertionError("Impossible type")

    monkeypatch.setattr(build, "build", broken)
    project.write({"box.py": BOX, "net.py": NET.replace("return x", "return x.item()")})
    report = checked(project)
    assert lines(report) == [("net.py", "FG201", 11)]
    assert report.remarks == ("net.py was checked without types, because mypy failed: AssertionError: Impossible type",)


def test_several_processes_say_the_same(
    project: ProjectOnDisk, environment: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workers, "WORTH_IT", 1)
    project.write({"box.py": BOX})
    for name in "ab":
        project.write({f"{name}/net.py": NET, f"{name}/refused.py": NET + "\n    break\n"})
    one = engine.check(request_for(project, Types.MYPY, jobs=1))
    shutil.rmtree(environment / "cache/fullgraph/projects")
    two = engine.check(request_for(project, Types.MYPY, jobs=2))
    assert one == two
    assert lines(one) == BRANCH * 2
    assert len(one.remarks) == 2


def test_without_the_option_mypy_is_not_imported(project: ProjectOnDisk) -> None:
    project.write({"box.py": BOX, "net.py": NET})
    script = (
        "import sys; from fullgraph.cli.main import run; code = run(['check', '--jobs', '1', *sys.argv[1:]]);"
        "print('mypy' in sys.modules, code)"
    )
    told = [
        subprocess.run([sys.executable, "-c", script, *options], capture_output=True, text=True, check=True).stdout
        for options in ([], ["--types", "mypy"])
    ]
    assert [text.splitlines()[-1] for text in told] == ["False 0", "True 1"]


def test_a_missing_mypy_is_named(project: ProjectOnDisk) -> None:
    project.write({"net.py": NET, "fullgraph.toml": 'types = "mypy"\n'})
    done = subprocess.run([sys.executable, "-c", BLOCKED, "check"], capture_output=True, text=True, check=False)
    message = "fullgraph: types come from mypy, which is not installed: pip install 'fullgraph[types]'\n"
    assert (done.returncode, done.stdout, done.stderr) == (2, "", message)
    off = [sys.executable, "-c", BLOCKED, "check", "--types", "none"]
    assert subprocess.run(off, capture_output=True, text=True, check=False).returncode == 0


def test_a_missing_torch_is_named(project: ProjectOnDisk, monkeypatch: pytest.MonkeyPatch) -> None:
    libraries = project.root / "empty/lib/python3.11/site-packages"
    libraries.mkdir(parents=True)
    monkeypatch.setenv("VIRTUAL_ENV", str(project.root / "empty"))
    project.write({"net.py": NET})
    done = check("--types", "mypy")
    message = f"fullgraph: types need those of torch, which is not installed in {libraries}: pip install torch\n"
    assert (done.exit_code, done.stdout, done.stderr) == (2, "", message)


def test_the_setting(project: ProjectOnDisk) -> None:
    project.write({"pyproject.toml": '[tool.fullgraph]\ntypes = "mypy"\n'})
    assert load((project.root,), frozenset()).types is Types.MYPY
    project.write({"pyproject.toml": '[tool.fullgraph]\ntypes = "pyright"\n'})
    with pytest.raises(click.UsageError, match="`types` must be one of none, mypy"):
        load((project.root,), frozenset())


def test_an_editor_does_not_wait_for_types(project: ProjectOnDisk) -> None:
    project.write({"box.py": BOX, "net.py": NET})
    assert Session(request_for(project, Types.MYPY)).report(str(project.root / "net.py")).findings == ()


@pytest.mark.torch
@pytest.mark.slow
def test_torch_itself(project: ProjectOnDisk, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whose stubs take mypy half a minute."""
    monkeypatch.delenv("VIRTUAL_ENV")
    project.write({"box.py": BOX, "net.py": NET})
    report = checked(project)
    assert (lines(report), report.remarks) == (BRANCH, ())
