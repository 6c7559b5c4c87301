"""What a TARGET means, which settings it gets, and the environment that a script asks for; all without torch."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from fullgraph.jit.environment import early
from fullgraph.jit.plan import plans
from fullgraph.jit.targets import (
    Module,
    Object,
    Program,
    PytestTest,
    Script,
    Settings,
    TargetError,
    parse_module,
    parse_target,
)
from fullgraph.lint.config import Config, ConfiguredTarget


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pkg/sub").mkdir(parents=True)
    for name in ("m.py", "test_m.py", "m_test.py", "pkg/__init__.py", "pkg/__main__.py", "pkg/m.py", "pkg/sub/deep.py"):
        (tmp_path / name).touch()
    return tmp_path


@pytest.mark.parametrize(
    ("text", "program"),
    [
        ("m.py", Script(Path("m.py"), "m.py", ("-x",))),
        ("./pkg/../m.py", Script(Path("m.py"), "./pkg/../m.py", ("-x",))),
        ("m.py::f", Object(Path("m.py"), "f")),
        ("m.py::Net.forward", Object(Path("m.py"), "Net.forward")),
        ("m.py::test_f", Object(Path("m.py"), "test_f")),
        ("m.py::make()", Object(Path("m.py"), "make", make=True)),
        ("test_m.py", Script(Path("test_m.py"), "test_m.py", ("-x",))),
        ("test_m.py::f", Object(Path("test_m.py"), "f")),
        ("test_m.py::test_f", PytestTest(Path("test_m.py"), "test_f", ("-x",))),
        ("m_test.py::TestNet::test_f[a::b-1]", PytestTest(Path("m_test.py"), "TestNet::test_f[a::b-1]", ("-x",))),
        ("pkg.m:Net.forward", Object(Path("pkg/m.py"), "Net.forward", "pkg.m")),
        ("pkg:f", Object(Path("pkg/__init__.py"), "f", "pkg")),
        ("pkg.sub.deep:f()", Object(Path("pkg/sub/deep.py"), "f", "pkg.sub.deep", make=True)),
    ],
)
def test_targets(here: Path, text: str, program: Program) -> None:
    found = parse_target(text, ("-x",)).program
    assert found.path == here / program.path
    assert str(found).replace(f"{here}/", "") == str(program)


@pytest.mark.parametrize(("name", "path"), [("pkg", "pkg/__main__.py"), ("pkg.m", "pkg/m.py"), ("m", "m.py")])
def test_modules_to_run(here: Path, name: str, path: str) -> None:
    assert parse_module(name).program == Module(here / path, name)
    assert parse_module(name).text == f"-m {name}"


def test_installed_modules_are_found_without_importing_them() -> None:
    assert parse_target("this:f").path.name == "this.py"
    assert parse_module("json.tool").path.name == "tool.py"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("pkg", "pkg is a folder; name a script, or PATH::QUALNAME"),
        ("pkg.no:f", "there is no Python file of the module pkg.no"),
        ("m.py::f[1]", "'m.py::f[1]' is not of the form PATH::QUALNAME"),
        ("::f", "'::f' is not of the form PATH::QUALNAME"),
    ],
)
def test_what_is_no_target(text: str, message: str) -> None:
    with pytest.raises(TargetError, match=re.escape(message)):
        parse_target(text)


def test_a_package_without_main_cannot_be_run() -> None:
    Path("pkg/__main__.py").unlink()
    with pytest.raises(TargetError, match="there is no Python file of the module pkg, or it cannot be run"):
        parse_module("pkg")


def config(here: Path, *targets: ConfiguredTarget) -> Config:
    return Config(root=here, targets=targets)


def test_configured_targets_bring_their_settings_and_options_outrank_them(here: Path) -> None:
    net = ConfiguredTarget(
        "net", "m.py::Net", inputs=("f32[2]",), init="dim=4", vary=("batch",), train=True, fake=True, device="cpu"
    )
    (plan,) = plans(["net"], [], (), Settings(), config(here, net))
    assert (plan.target.text, plan.target.program) == ("net", Object(here / "m.py", "Net"))
    assert plan.settings == Settings(("f32[2]",), "dim=4", ("batch",), training=True, fake=True, device="cpu")
    given = Settings(("f32[3]",), "dim=5", ("seq",), training=False, device="cuda")
    (plan,) = plans(["net"], [], (), given, config(here, net))
    assert plan.settings == Settings(("f32[3]",), "dim=5", ("seq",), training=False, fake=True, device="cuda")


def test_without_a_target_all_configured_ones_are_meant(here: Path) -> None:
    found = plans(
        [],
        [],
        (),
        Settings(),
        config(
            here,
            ConfiguredTarget("train", "m.py", ("--steps", "3")),
            ConfiguredTarget("module", "-m pkg.m", ("-v",)),
            ConfiguredTarget("test", "test_m.py::test_f"),
        ),
    )
    assert [plan.target.program for plan in found] == [
        Script(here / "m.py", "m.py", ("--steps", "3")),
        Module(here / "pkg/m.py", "pkg.m", ("-v",)),
        PytestTest(here / "test_m.py", "test_f"),
    ]


def test_configured_files_lie_below_the_config_root(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(here / "pkg")
    (plan,) = plans(["net"], [], (), Settings(), config(here, ConfiguredTarget("net", "m.py::Net")))
    assert plan.target.path == here / "m.py"


def test_a_name_that_is_neither_file_nor_target_lists_those_that_there_are(here: Path) -> None:
    with pytest.raises(TargetError, match="there is no file nett, and no target of that name; there are net, train"):
        plans(
            ["nett"],
            [],
            (),
            Settings(),
            config(here, ConfiguredTarget("net", "m.py::f"), ConfiguredTarget("train", "m.py")),
        )


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("import os\nos.environ['TORCH_LOGS'] = 'dynamo'\nimport torch", {"TORCH_LOGS": "dynamo"}),
        ("from os import environ\nenviron['OMP_NUM_THREADS'] = '1'\nfrom torch import nn", {"OMP_NUM_THREADS": "1"}),
        ("import os\nos.environ.setdefault('TORCH_A', '1')\nimport torch.nn", {"TORCH_A": "1"}),
        ("import os\nos.environ.setdefault('TORCH_SET', '1')\nimport torch", {}),
        (
            "import os\nos.environ.update({'TORCH_A': '1', 'B': '2'}, PYTORCH_C='3')\nimport torch",
            {"TORCH_A": "1", "PYTORCH_C": "3"},
        ),
        ("import os\nos.environ['TORCH_A'] = '1'\nos.environ['TORCH_A'] = '2'\nimport torch", {"TORCH_A": "2"}),
        ("import os, torch\nos.environ['TORCH_A'] = '1'", {}),
        ("import os\nos.environ['TORCH_A'] = str(1)\nimport torch", {}),
        ("import os\nos.environ['HOME'] = '/'\nimport torch", {}),
        ("import os\nother['TORCH_A'] = '1'\nimport torch", {}),
        ("import os\nos.environ['TORCH_A'] = '1'", {}),
        ("def f(:", {}),
    ],
)
def test_variables_set_before_torch_is_imported(
    source: str, found: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(os.environ, "TORCH_SET", "0")
    Path("m.py").write_text(source)
    assert dict(early(Path("m.py"))) == found
