"""Which files a check looks at."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

import click
import pytest

from fullgraph.lint.discover import project_files, python_files


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for name in (
        "a.py",
        "pkg/b.py",
        "pkg/data.txt",
        "pkg/deep/c.py",
        "pkg/deep/generated.py",
        "tests/test_a.py",
        "pkg/b_test.py",
        "conftest.py",
        ".hidden/x.py",
        ".git/x.py",
        "build/x.py",
        "dist/x.py",
        "node_modules/x.py",
        "lib/site-packages/x.py",
        "myenv/lib/x.py",
        "out/x.py",
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    (tmp_path / "myenv/pyvenv.cfg").touch()
    (tmp_path / ".gitignore").write_text("out/\ngenerated.py\n!\n\\\n")
    return tmp_path


def names(files: Iterable[Path | str], root: Path) -> list[str]:
    return [Path(path).relative_to(root).as_posix() for path in files]


def test_a_folder_is_walked_without_ignored_hidden_built_and_installed_files(tree: Path) -> None:
    expected = ["a.py", "conftest.py", "pkg/b.py", "pkg/b_test.py", "pkg/deep/c.py", "tests/test_a.py"]
    assert names(python_files([tree], tree), tree) == expected


def test_a_nested_gitignore_outranks_the_one_above(tree: Path) -> None:
    (tree / "pkg/.gitignore").write_text("!generated.py\n/b.py\n")
    found = names(python_files([tree], tree), tree)
    assert "pkg/deep/generated.py" in found
    assert "pkg/b.py" not in found


def test_gitignore_files_above_the_folder_count_up_to_the_repository(tree: Path) -> None:
    assert names(python_files([tree / "pkg/deep"], tree), tree) == ["pkg/deep/c.py"]


def test_a_file_named_outright_is_always_taken(tree: Path) -> None:
    named = [tree / "out/x.py", tree / "pkg/data.txt"]
    assert names(python_files(named, tree, exclude=("*",)), tree) == ["out/x.py", "pkg/data.txt"]


def test_exclude_takes_gitignore_patterns_relative_to_the_root(tree: Path) -> None:
    found = names(python_files([tree / "pkg"], tree, exclude=("pkg/deep/", "*_test.py")), tree)
    assert found == ["pkg/b.py"]


def test_a_file_is_taken_once(tree: Path) -> None:
    assert len(python_files([tree / "a.py", tree / "pkg/../a.py", tree / "a.py"], tree)) == 1


def test_test_code_is_no_project_file(tree: Path) -> None:
    assert names(project_files(tree), tree) == ["a.py", "pkg/b.py", "pkg/deep/c.py"]


def test_a_root_inside_a_tests_folder_has_project_files(tree: Path) -> None:
    (tree / "tests/model.py").touch()
    assert names(project_files(tree / "tests"), tree) == ["tests/model.py"]


def test_a_missing_path_is_named(tree: Path) -> None:
    with pytest.raises(click.UsageError, match="nowhere: there is no such file or folder"):
        python_files([Path("nowhere")], tree)


def test_links_to_folders_are_not_followed(tree: Path) -> None:
    (tree / "loop").symlink_to(tree)
    assert all("loop" not in name for name in names(python_files([tree], tree), tree))


def test_an_unreadable_file_named_outright_is_an_error(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # The tests may run as root, who may read everything.
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    with pytest.raises(click.UsageError, match=r"a\.py: no permission to read it"):
        python_files([tree / "a.py"], tree)


def test_links_in_a_circle_are_left_out(tmp_path: Path) -> None:
    (tmp_path / "loop.py").symlink_to("loop.py")
    (tmp_path / "folder").symlink_to(".")
    (tmp_path / "a.py").write_text("")
    assert python_files([tmp_path], tmp_path) == (tmp_path / "a.py",)


def test_a_link_to_a_file_that_is_met_anyway_is_left_out(tmp_path: Path) -> None:
    (tmp_path / "inside").mkdir()
    (tmp_path / "outside.py").touch()
    (tmp_path / "inside/m.py").touch()
    for name, target in (("again", "m.py"), ("first", "../outside.py"), ("second", "../outside.py")):
        (tmp_path / f"inside/{name}.py").symlink_to(target)
    inside = tmp_path / "inside"
    assert names(python_files([inside], inside), inside) == ["first.py", "m.py"]
    assert names(python_files([inside / "again.py"], inside), inside) == ["again.py"]
