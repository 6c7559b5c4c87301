"""The shape of the repository: packages, what may import what, vocabulary in step, generated files up to date."""

from __future__ import annotations

import ast
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import pytest
from checkout import ROOT

from fullgraph.lint import findings
from fullgraph.rules import load, model

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
LAYERS = ("rules", "lint", "jit", "server", "cli")
"""Each may import from those before it only."""

MODULES = sorted(path for layer in LAYERS for path in (ROOT / layer).rglob("*.py"))


def imports(path: Path) -> Iterator[tuple[str, int]]:
    """The dotted names a module imports, at any depth of the code, and how many dots they begin with."""
    for node in ast.walk(ast.parse(path.read_bytes())):
        match node:
            case ast.Import(names=names):
                yield from ((alias.name, 0) for alias in names)
            case ast.ImportFrom(module=module, names=names, level=level):
                yield from ((f"{module}.{alias.name}" if module else alias.name, level) for alias in names)


def layer_of(path: Path) -> str:
    return path.relative_to(ROOT).parts[0]


def ids(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def test_every_package_is_listed_and_every_listed_one_exists() -> None:
    found = {
        init.parent.relative_to(ROOT).as_posix() for layer in LAYERS for init in (ROOT / layer).rglob("__init__.py")
    }
    listed = PROJECT["tool"]["setuptools"]["packages"]
    assert {name.removeprefix("fullgraph.").replace(".", "/") for name in listed} == found


def test_every_folder_with_code_is_a_package() -> None:
    assert [ids(path) for path in MODULES if not (path.parent / "__init__.py").exists()] == []


@pytest.mark.parametrize("layer", LAYERS)
def test_every_part_of_the_namespace_is_typed(layer: str) -> None:
    assert (ROOT / layer / "py.typed").is_file()


def test_nothing_shadows_the_installed_namespace() -> None:
    assert not (ROOT / "fullgraph").exists()


@pytest.mark.parametrize("path", MODULES, ids=ids)
def test_imports_point_down_only(path: Path) -> None:
    allowed = LAYERS[: LAYERS.index(layer_of(path))]
    for name, level in imports(path):
        parts = name.split(".")
        if level == 0 and parts[0] == "fullgraph":
            assert len(parts) > 1, f"{name} names no layer"
            assert parts[1] in allowed, f"{name}: inside a folder imports are relative, across they point down"


@pytest.mark.parametrize("path", MODULES, ids=ids)
def test_relative_imports_stay_inside_the_folder(path: Path) -> None:
    depth = len(path.relative_to(ROOT).parts) - 1
    assert [name for name, level in imports(path) if level > depth] == []


@pytest.mark.parametrize("path", [path for path in MODULES if layer_of(path) != "jit"], ids=ids)
def test_only_jit_imports_torch(path: Path) -> None:
    assert [name for name, level in imports(path) if level == 0 and name.split(".")[0] in ("torch", "torch_mlir")] == []


@pytest.mark.parametrize(
    ("words", "enum"),
    [
        (model.Effect, findings.Effect),
        (model.Severity, findings.Severity),
        (model.Cause, findings.Cause),
        (model.Confidence, findings.Confidence),
    ],
)
def test_rules_and_findings_speak_the_same_words(words: object, enum: type[findings.Effect]) -> None:
    assert set(get_args(words)) == {member.value for member in enum}


def test_every_check_that_a_rule_names_exists() -> None:
    named = {rule.check for rule in load().values() if rule.check}
    assert [name for name in sorted(named) if not (ROOT / f"lint/checks/{name}.py").is_file()] == []


def test_generated_files_are_up_to_date() -> None:
    done = subprocess.run([sys.executable, "tools/generate.py", "--check"], cwd=ROOT, capture_output=True, text=True)
    assert (done.stdout, done.stderr, done.returncode) == ("", "", 0)


def test_no_registry_host_is_written_anywhere() -> None:
    hosts = [
        name + suffix for name, suffix in (("pypi", ".org"), ("pythonhosted", ".org"), ("download.pytorch", ".org"))
    ]
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for name in filter(None, listed.split("\0")):
        if (ROOT / name).is_file():
            text = (ROOT / name).read_text(encoding="utf-8", errors="replace")
            assert [host for host in hosts if host in text] == [], name


def test_the_pre_commit_hooks_have_both_names() -> None:
    assert (ROOT / "pre-commit-hooks.yaml").read_text() == (ROOT / ".pre-commit-hooks.yaml").read_text()
