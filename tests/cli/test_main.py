"""The command line as a whole: help, version, unknown commands, the rules command, pipes."""

from __future__ import annotations

import subprocess
import sys

import click
import pytest

from fullgraph.cli import words
from fullgraph.cli.main import COMMANDS, run
from fullgraph.cli.rules import readable
from fullgraph.lint.config import AssumeCompiled, Mode, Types
from fullgraph.lint.findings import Confidence
from fullgraph.rules import __version__, load
from fullgraph.rules.page import page


def test_help_names_every_command_and_imports_none() -> None:
    script = (
        "import sys; from fullgraph.cli.main import run; run(['--help']);"
        "assert not {'click', 'fullgraph.lint', 'fullgraph.cli.check'} & set(sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert all(f"\n  {name} " in done.stdout for name in COMMANDS)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_explains_itself(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([name, "--help"]) == 0
    assert capsys.readouterr().out.startswith(f"Usage: fullgraph {name}")


def test_no_command_is_wrong_usage(capsys: pytest.CaptureFixture[str]) -> None:
    assert run([]) == 2
    assert capsys.readouterr().out.startswith("Usage: fullgraph COMMAND")


def test_an_unknown_command_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["chek"]) == 2
    commands = "check, verify, run, rules, server, cache, doctor, completion"
    assert capsys.readouterr().err == f"fullgraph: no command 'chek'; the commands are {commands}\n"


def test_the_versions_are_shown_without_importing_them() -> None:
    script = "import sys; from fullgraph.cli.main import run; run(['--version']); assert 'torch' not in sys.modules"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    lines = [line.split(" ", 1) for line in done.stdout.splitlines()]
    assert lines[0] == ["fullgraph", __version__]
    assert [name for name, _ in lines] == ["fullgraph", "torch", "torch-mlir", "Python"]


def test_help_imports_nothing_that_only_work_needs() -> None:
    script = (
        "import sys; from fullgraph.cli.main import run; run(['check', '--help']);"
        "assert not {'rich', 'libcst', 'msgspec', 'yaml', 'watchfiles', 'fullgraph.lint'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)


def test_options_take_the_words_of_the_enums() -> None:
    assert tuple(choice.value for choice in AssumeCompiled) == words.ASSUME_COMPILED
    assert tuple(mode.value for mode in Mode) == words.MODES
    assert tuple(source.value for source in Types) == words.TYPES
    assert tuple(level.value for level in Confidence) == words.CONFIDENCES


def test_rules_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["rules", "list"]) == 0
    assert any(line.startswith("FG201  tensor-item ") for line in capsys.readouterr().out.splitlines())


@pytest.mark.parametrize("word", ["FG201", "fg201", "tensor-item"])
def test_a_rule_is_explained_by_code_or_name(word: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["rules", "explain", word]) == 0
    page = capsys.readouterr().out
    headings = [line for line in page.splitlines() if line.startswith("#")]
    assert headings[:1] == ["# FG201: tensor-item"]
    assert [heading for heading in headings if heading.startswith("## ")] == [
        "## What it does",
        "## Why is this bad",
        "## Example",
        "## Use instead",
        "## Fix safety",
        "## References",
    ]


@pytest.mark.parametrize(
    ("word", "hint"), [("tensor-itm", "did you mean tensor-item"), ("qqqq", "`fullgraph rules list` shows all")]
)
def test_an_unknown_rule_is_one_line(word: str, hint: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["rules", "explain", word]) == 2
    assert capsys.readouterr().err.startswith(f"fullgraph: no rule {word!r}; {hint}")


def test_a_reader_that_goes_away_is_no_crash() -> None:
    command = f"{sys.executable} -m fullgraph.cli rules explain FG201 | true; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True)
    assert done.stderr == ""
    assert done.returncode in (0, 2)  # 0 if it was done before the reader had gone


def test_a_page_for_a_terminal_has_no_marks() -> None:
    text = click.unstyle("\n".join(readable(page(load()["FG201"]))))
    assert text.startswith("FG201: tensor-item\n\nEffect: graph-break\n")
    assert not any(mark in text for mark in ("```", "`", "\n#", "| ---", "<https"))
    assert "    @torch.compile\n" in text
