"""What `check` writes to a terminal and to a pipe, and that it goes on watching."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

BREAKS = """\
import torch

@torch.compile
def scale(x):
    print("\u202e", "a long line " * 12, x)
    return x
"""
LINK = "\x1b]8;;https://"
PLAIN = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "FORCE_COLOR", "COLUMNS")}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "m.py").write_text(BREAKS)
    return tmp_path


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "fullgraph.cli", *arguments]


def in_pipe(*arguments: str, **variables: str) -> str:
    done = subprocess.run(command(*arguments), capture_output=True, env=PLAIN | variables)
    return done.stdout.decode()


def on_terminal(*arguments: str, **variables: str) -> str:
    """All that the command writes to a pseudo-terminal."""
    ours, theirs = os.openpty()
    environment = PLAIN | {"TERM": "xterm-256color"} | variables
    with subprocess.Popen(command(*arguments), stdout=theirs, stderr=theirs, stdin=theirs, env=environment):
        os.close(theirs)
        text = b""
        try:
            while part := os.read(ours, 65536):
                text += part
        except OSError:  # the way in which Linux says that nobody has it open any more
            pass
    os.close(ours)
    return text.decode()


CHECK = ("check", "--no-cache", "m.py")


@pytest.mark.parametrize("arguments", [CHECK, (*CHECK, "--diff", "--unsafe-fixes")])
def test_what_could_move_the_cursor_or_turn_text_is_shown(arguments: tuple[str, ...]) -> None:
    shown = on_terminal(*arguments)
    assert "\\u202e" in shown
    assert "\u202e" not in shown


def test_a_terminal_gets_colours_links_and_lines_that_fit() -> None:
    shown = on_terminal(*CHECK, COLUMNS="60")
    assert "\x1b[33m" in shown
    assert f"{LINK}meta-pytorch.github.io/compile-graph-break-site/gb/gb0059.html\x1b\\" in shown
    assert (
        max(len(line) for line in on_terminal(*CHECK, COLUMNS="60", TERM="dumb").split("\r\n") if " | " in line) <= 60
    )


@pytest.mark.parametrize(
    ("variables", "colours", "links"),
    [({"NO_COLOR": "1"}, False, True), ({"TERM": "dumb"}, False, False), ({"NO_COLOR": ""}, True, True)],
)
def test_a_terminal_without(variables: dict[str, str], colours: bool, links: bool) -> None:
    shown = on_terminal(*CHECK, **variables)
    assert ("\x1b[" in shown, LINK in shown) == (colours, links)


def test_a_pipe_gets_plain_text_unless_colour_is_forced() -> None:
    assert "\x1b" not in in_pipe(*CHECK)
    assert "\x1b[33m" in in_pipe(*CHECK, FORCE_COLOR="1")
    assert LINK not in in_pipe(*CHECK, FORCE_COLOR="1")
    assert "\x1b" not in in_pipe(*CHECK, FORCE_COLOR="1", NO_COLOR="1")
    assert "\x1b" not in in_pipe(*CHECK, FORCE_COLOR="0")


def until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.1)


def test_watching_checks_again_and_ends_with_the_last_exit_code(folder: Path) -> None:
    out, err = folder / "out.txt", folder / "err.txt"
    with out.open("w") as stdout, err.open("w") as stderr:
        watching = subprocess.Popen(
            command(*CHECK, "--watch", "--output-format", "concise"), stdout=stdout, stderr=stderr
        )
    try:
        until(lambda: "watching" in err.read_text())
        assert out.read_text().count("FG301") == 1
        time.sleep(0.5)  # the watcher is about to begin
        Path("pyproject.toml").write_text("[tool.fullgraph]\nnonsense = 1\n")
        until(lambda: "`nonsense` is not a setting" in err.read_text())
        Path("pyproject.toml").unlink()
        until(lambda: out.read_text().count("FG301") == 2)
        Path("m.py").write_text("import torch\n")
        until(lambda: "m.py changed" in err.read_text())
    finally:
        watching.send_signal(signal.SIGINT)
    assert watching.wait(30) == 0
    assert "Traceback" not in err.read_text()


def test_an_interrupt_that_gets_lost_ends_the_watching(tmp_path: Path) -> None:
    program = """
import signal, sys
from contextlib import suppress
from fullgraph.cli.watch import watching

def run():
    with suppress(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)
    return 3

sys.exit(watching(run, []))
"""
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, timeout=30, check=False)
    assert done.returncode == 3


def test_a_shell_is_told_what_may_come_next() -> None:
    ask = {"_FULLGRAPH_COMPLETE": "bash_complete", "COMP_CWORD": "2", "COMP_WORDS": "fullgraph check --add"}
    assert in_pipe(**ask) == "plain,--add-ignores\n"
    assert in_pipe(**ask | {"COMP_CWORD": "1", "COMP_WORDS": "fullgraph do"}) == "plain,doctor\n"
    for shell in ("bash", "zsh", "fish"):
        assert "_FULLGRAPH_COMPLETE" in in_pipe("completion", shell)
