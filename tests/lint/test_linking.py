"""How names find their modules: stubs, source layouts, namespace packages, star imports, installed libraries."""

from __future__ import annotations

import pytest
from project_on_disk import ProjectOnDisk, lines

from fullgraph.lint.config import AssumeCompiled
from fullgraph.lint.findings import Confidence

LOUD = "def loud(x):\n    print(x)\n    return x\n"
USER = "import torch\nfrom {module} import {name}\n\n@torch.compile\ndef run(x):\n    return {name}(x)\n"
PACKAGES = ".venv/lib/python3.12/site-packages"


@pytest.fixture(autouse=True)
def no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("VIRTUAL_ENV", raising=False)


@pytest.mark.parametrize(
    "files",
    [
        {"main.py": USER.format(module="helpers", name="loud"), "helpers.py": LOUD},
        {
            "main.py": USER.format(module="pkg.helpers", name="loud"),
            "src/pkg/__init__.py": "",
            "src/pkg/helpers.py": LOUD,
        },
        {"main.py": USER.format(module="pkg.sub.helpers", name="loud"), "pkg/sub/helpers.py": LOUD},
        {
            "main.py": USER.format(module="pkg.sub", name="helpers").replace("helpers(x)", "helpers.loud(x)"),
            "pkg/sub/helpers.py": LOUD,
        },
        {
            "main.py": USER.format(module="torch", name="nn")
            .replace("nn(x)", "pkg.helpers.loud(x)")
            .replace("import nn", "import nn\nimport pkg.helpers"),
            "pkg/helpers.py": LOUD,
        },
        {"a/main.py": USER.format(module=".helpers", name="loud"), "a/helpers.py": LOUD},
        {
            "packages/one/tests/main.py": USER.format(module="one.helpers", name="loud"),
            "packages/one/src/one/__init__.py": "",
            "packages/one/src/one/helpers.py": LOUD,
        },
        {
            "main.py": USER.format(module="pkg", name="loud"),
            "pkg/__init__.py": "from .api import *\n",
            "pkg/api/__init__.py": "from .deep import *\nfrom .other import *\n",
            "pkg/api/deep.py": "import os\n",
            "pkg/api/other.py": LOUD,
        },
        {
            "main.py": USER.format(module="pkg", name="shout"),
            "pkg/__init__.py": "from pkg.api import shout\n",
            "pkg/api.py": "from .helpers import loud as shout\n",
            "pkg/helpers.py": LOUD,
        },
    ],
    ids=["sibling", "src", "namespace", "from namespace", "dotted", "relative", "monorepo", "stars", "chain"],
)
def test_a_helper_is_found(project: ProjectOnDisk, files: dict[str, str]) -> None:
    project.write(files)
    (found,) = lines(project.check())
    assert found[1:] == ("FG301", 2)


def test_a_stub_says_what_compiled_code_returns_and_is_not_reported(project: ProjectOnDisk) -> None:
    project.write(
        {
            "main.py": """
            import torch
            from fast import norm, lookup

            @torch.compile
            def run(x):
                if lookup("a") > 3:
                    x = x + 1
                if norm(x) > 0:
                    return x
                return -x
            """,
            "fast.pyi": "from torch import Tensor\ndef norm(x) -> Tensor: ...\ndef lookup(k: str) -> int: ...\n",
        }
    )
    assert lines(project.check()) == [("main.py", "FG101", 9)]


def test_the_source_outranks_its_stub(project: ProjectOnDisk) -> None:
    stub = "def loud(x): ...\n"
    project.write({"main.py": USER.format(module="helpers", name="loud"), "helpers.py": LOUD, "helpers.pyi": stub})
    assert lines(project.check()) == [("helpers.py", "FG301", 2)]


def test_imports_for_the_type_checker_serve_annotations_only(project: ProjectOnDisk) -> None:
    project.write(
        {
            "main.py": """
            from __future__ import annotations
            from typing import TYPE_CHECKING
            import typing as t
            import torch
            if TYPE_CHECKING:
                from blocks import Block
                torch.compile(print)

            @torch.compile
            def run(x: torch.Tensor, block: Block):
                if t.TYPE_CHECKING:
                    print(x)
                return block.step(x)
            """,
            "blocks.py": "class Block:\n    def step(self, x):\n        print(x)\n        return x\n",
        }
    )
    report = project.check()
    assert lines(report) == [("blocks.py", "FG301", 3)]
    assert [entry.qualname for entry in report.entries] == ["run"]


@pytest.mark.parametrize(
    ("guard", "shadowed"), [("if True:", True), ("if TYPE_CHECKING:", False)], ids=["run", "for types only"]
)
def test_a_builtin_is_hidden_by_a_star_import_that_runs(project: ProjectOnDisk, guard: str, shadowed: bool) -> None:
    project.write(
        {
            "main.py": f"""
            from typing import TYPE_CHECKING
            import torch
            {guard}
                from quiet import *

            @torch.compile
            def run(x):
                print(x)
                return x
            """,
            "quiet.py": "def print(x):\n    pass\n",
        }
    )
    assert lines(project.check("main.py")) == ([] if shadowed else [("main.py", "FG301", 9)])


def test_a_package_checked_from_inside_means_itself_and_not_the_one_installed(project: ProjectOnDisk) -> None:
    project.write(
        {
            "shouting/__init__.py": "",
            "shouting/main.py": USER.format(module="shouting.impl", name="loud"),
            "shouting/impl.py": LOUD,
            **{f"shouting/{path}": text for path, text in library("def loud(x):\n    return x\n").items()},
        }
    )
    inside = ProjectOnDisk(project.root / "shouting")
    assert lines(inside.check("main.py")) == [("main.py", "FG301", 6)]


def library(source: str = LOUD) -> dict[str, str]:
    return {f"{PACKAGES}/shouting/__init__.py": "from .impl import *\n", f"{PACKAGES}/shouting/impl.py": source}


def test_a_break_in_a_library_is_reported_where_it_is_called(project: ProjectOnDisk) -> None:
    project.write({"main.py": USER.format(module="shouting", name="loud"), **library()})
    (finding,) = project.check("main.py").findings
    assert (finding.span.path, finding.span.line, finding.function) == ("main.py", 6, "run")
    assert finding.root == f"{PACKAGES}/shouting/impl.py:2"
    assert finding.via == ("run", "loud")
    (named,) = project.check("main.py", entries=("main.py::run",)).findings
    assert (named.span.path, named.root) == ("main.py", finding.root)


def test_libraries_are_reported_on_request(project: ProjectOnDisk) -> None:
    project.write({"main.py": USER.format(module="shouting", name="loud"), **library()})
    assert lines(project.check("main.py", libraries=True)) == [("impl.py", "FG301", 2)]
    assert lines(project.check("main.py", first_party=("shouting",), entries=("main.py::run",))) == [
        ("impl.py", "FG301", 2)
    ]


def test_a_base_class_from_a_library_is_followed(project: ProjectOnDisk) -> None:
    base = """
    from torch import nn
    class Base(nn.Module):
        def forward(self, x):
            return self.step(x)
    """
    user = """
    from shouting import Base
    class Net(Base):
        def step(self, x):
            print(x)
            return x
    """
    project.write({"main.py": user, **library(base)})
    assert lines(project.check("main.py", entries=("main.py::Net.forward",))) == [("main.py", "FG301", 5)]


def test_what_is_unsure_in_a_library_is_kept_back(project: ProjectOnDisk) -> None:
    source = "def loud(x, debug=None):\n    if debug_wanted():\n        print(x)\n    return x\n"
    project.write({"main.py": USER.format(module="shouting", name="loud"), **library(source)})
    assert lines(project.check("main.py")) == []


def test_what_a_library_compiles_is_no_entry(project: ProjectOnDisk) -> None:
    source = "import torch\n@torch.compile\ndef loud(x):\n    print(x)\n    return x\n"
    project.write({"main.py": USER.format(module="shouting", name="loud"), **library(source)})
    assert [entry.qualname for entry in project.check("main.py").entries] == ["run"]


def test_the_active_environment_outranks_the_folder(project: ProjectOnDisk, monkeypatch: pytest.MonkeyPatch) -> None:
    project.write({"main.py": USER.format(module="shouting", name="loud"), **library("def loud(x):\n    return x\n")})
    project.write({"other/lib/python3.12/site-packages/shouting.py": LOUD})
    assert lines(project.check("main.py")) == []
    monkeypatch.setenv("VIRTUAL_ENV", str(project.root / "other"))
    assert lines(project.check("main.py")) == [("main.py", "FG301", 6)]


def test_a_change_in_a_library_is_seen(project: ProjectOnDisk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(project.root / "cache"))
    project.write({"main.py": USER.format(module="shouting", name="loud"), **library("def loud(x):\n    return x\n")})
    assert lines(project.check("main.py", use_cache=True)) == []
    project.write(library())
    assert lines(project.check("main.py", use_cache=True)) == [("main.py", "FG301", 6)]


def test_a_folder_of_data_is_no_package(project: ProjectOnDisk) -> None:
    project.write({"main.py": USER.format(module="shouting", name="loud"), "shouting/log.txt": "", **library()})
    assert lines(project.check("main.py")) == [("main.py", "FG301", 6)]


def test_assumed_entries_are_those_of_the_files_given(project: ProjectOnDisk) -> None:
    net = "from torch import nn\nclass Net(nn.Module):\n    def forward(self, x):\n        print(x)\n        return x\n"
    project.write({"main.py": "from shouting import Net\nnet = Net()\n", **library(net)})
    assert project.check("main.py", assume=AssumeCompiled.FORWARD).entries == ()


def test_a_driver_that_only_calls_what_another_module_compiles_is_followed(
    project: ProjectOnDisk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(project.root / "cache"))
    project.write(
        {
            "net.py": "import torch\n@torch.compile\ndef run(x, n):\n    return x * n if n.sum() > 0 else x\n",
            "drive.py": "import torch\nfrom net import run\nrun(torch.ones(3), torch.ones(3))\n",
            "other.py": "import torch\nprint(torch.ones(3))\n",
        }
    )
    for use_cache in (False, True, True):
        (found,) = project.check(use_cache=use_cache).findings
        assert (found.span.path, found.span.line, found.confidence) == ("net.py", 4, Confidence.CERTAIN)


@pytest.mark.parametrize(("fakes", "expected"), [("ops.py", []), ("fakes.py", []), (None, [("ops.py", "FG704", 9)])])
def test_a_fake_may_stand_beside_the_operator_or_elsewhere(
    fakes: str | None, expected: list[tuple[str, str, int]], project: ProjectOnDisk
) -> None:
    operator = """\
import torch

@torch.library.custom_op("own::double", mutates_args=())
def double(x: torch.Tensor) -> torch.Tensor:
    return x * 2

@torch.compile
def run(x):
    return double(x)
"""
    fake = '\n@torch.library.register_fake("own::double")\ndef _(x):\n    return torch.empty_like(x)\n'
    if fakes == "fakes.py":
        project.write({"ops.py": operator.partition("@torch.compile")[0], "fakes.py": "import torch\n" + fake})
        project.write(
            {"m.py": "import torch\nfrom ops import double\n\n@torch.compile\ndef run(x):\n    return double(x)\n"}
        )
    else:
        project.write({"ops.py": operator + (fake if fakes else "")})
    assert lines(project.check()) == expected
