"""What users get: the wheel, an install from a git clone into an environment without torch, the pre-commit hook."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest
from checkout import ROOT, copy_checkout

pytestmark = pytest.mark.slow

BREAKS = """\
import torch

@torch.compile
def scale(x):
    return x * x.sum().item()
"""

CALLS = """\
import torch
from helpers import read

@torch.compile
def scale(x):
    return read(x) * x
"""
WITHOUT_TORCH = """
import sys
from fullgraph.cli.main import run
code = run(["check", "--no-cache", "--output-format", "json", "m.py"])
assert "torch" not in sys.modules
sys.exit(code)
"""


def call(*command: str | Path, cwd: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command, cwd=cwd, env={**os.environ, **environment}, capture_output=True, text=True, timeout=600
    )


def succeed(*command: str | Path, cwd: Path) -> str:
    done = call(*command, cwd=cwd)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A git repository with one commit: this checkout, changes included."""
    folder = copy_checkout(tmp_path_factory.mktemp("clone") / "repository")
    identity = ("-c", "user.name=test", "-c", "user.email=test@example.com")
    succeed("git", "init", "--quiet", cwd=folder)
    succeed("git", "add", "--all", cwd=folder)
    succeed("git", *identity, "commit", "--quiet", "--no-verify", "--message=all", cwd=folder)
    return folder


@pytest.fixture(scope="module")
def bare_python(clone: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The interpreter of an environment with the package and its core dependencies, installed as pre-commit does."""
    folder = tmp_path_factory.mktemp("bare")
    venv.create(folder)
    python = folder / "bin/python"
    succeed(sys.executable, "-m", "pip", "--python", python, "install", "--quiet", f"git+file://{clone}", cwd=folder)
    return python


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "m.py").write_text(BREAKS)
    return tmp_path


def test_the_wheel_built_from_the_sdist_holds_the_tree(clone: Path, tmp_path: Path) -> None:
    succeed(sys.executable, "-m", "build", "--outdir", tmp_path, clone, cwd=tmp_path)
    (wheel,) = tmp_path.glob("*.whl")
    packed = {
        name.removeprefix("fullgraph/") for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name
    }
    tree = {
        path.relative_to(clone).as_posix()
        for layer in ("rules", "lint", "jit", "server", "cli")
        for path in (clone / layer).rglob("*")
        if path.is_file() and path.suffix != ".md"  # for people who read the repository
    }
    assert packed == tree


def test_check_works_without_torch(bare_python: Path, project: Path) -> None:
    assert call(bare_python, "-c", "import torch", cwd=project).returncode == 1
    done = call(bare_python, "-c", WITHOUT_TORCH, cwd=project)
    assert done.returncode == 1, done.stderr
    assert [finding["code"] for finding in json.loads(done.stdout)["findings"]] == ["FG201"]


def test_the_command_and_the_module_are_the_same(bare_python: Path, project: Path) -> None:
    command = succeed(bare_python.with_name("fullgraph"), "--help", cwd=project)
    assert succeed(bare_python, "-m", "fullgraph.cli", "--help", cwd=project) == command


@pytest.mark.parametrize("command", [["rules", "explain", "FG201"], ["check", "m.py"]])
def test_built_in_rules_are_known_without_reading_yaml(bare_python: Path, project: Path, command: list[str]) -> None:
    program = f"""
import sys
from fullgraph.cli.main import run
run({command})
print({{"yaml", "jsonschema"}} & {{*sys.modules}})
"""
    out = succeed(bare_python, "-c", program, cwd=project)
    assert "FG201" in out
    assert out.splitlines()[-1] == "set()"


def test_the_pre_commit_hook_runs_from_a_clone(clone: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    """On what is staged: a caller of a function in a file that is not, then no Python at all, then everything."""
    project = tmp_path_factory.mktemp("project")
    (project / "helpers.py").write_text("def read(x):\n    return x.sum().item()\n")
    (project / "m.py").write_text("import torch\n")
    (project / "notes.md").touch()
    head = succeed("git", "rev-parse", "HEAD", cwd=clone).strip()
    config = {"repos": [{"repo": str(clone), "rev": head, "hooks": [{"id": "fullgraph"}]}]}
    (project / ".pre-commit-config.yaml").write_text(json.dumps(config))
    identity = ("-c", "user.name=test", "-c", "user.email=test@example.com")
    succeed("git", "init", "--quiet", cwd=project)
    succeed("git", "add", "--all", cwd=project)
    succeed("git", *identity, "commit", "--quiet", "--message=all", cwd=project)
    home = str(tmp_path_factory.mktemp("pre-commit"))

    def hook(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = (sys.executable, "-m", "pre_commit", "run", *arguments)
        return call(*command, cwd=project, PRE_COMMIT_HOME=home)

    (project / "notes.md").write_text("more\n")
    succeed("git", "add", "notes.md", cwd=project)
    done = hook()
    assert done.returncode == 0, done.stdout + done.stderr
    assert "no files to check" in done.stdout

    (project / "m.py").write_text(CALLS)
    succeed("git", "add", "m.py", cwd=project)
    done = hook()
    assert done.returncode == 1, done.stdout + done.stderr
    assert "m.py:6:12: FG201" in done.stdout
    assert "(in read, helpers.py:2)" in done.stdout

    done = hook("--all-files")
    assert done.returncode == 1, done.stdout + done.stderr
    assert "helpers.py:2:12: FG201" in done.stdout


def test_the_version_is_the_packages(bare_python: Path) -> None:
    version = succeed(
        bare_python, "-c", "from importlib.metadata import version; print(version('fullgraph'))", cwd=ROOT
    )
    told = succeed(bare_python.with_name("fullgraph"), "--version", cwd=ROOT).splitlines()
    assert told[:3] == [f"fullgraph {version.strip()}", "torch not installed", "torch-mlir not installed"]
