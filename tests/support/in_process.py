"""`fullgraph check` without a process of its own."""

from __future__ import annotations

from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from io import StringIO

from fullgraph.cli.main import run


@dataclass(frozen=True)
class Done:
    exit_code: int
    stdout: str
    stderr: str


def check(*arguments: str) -> Done:
    """One command, cold and in this process alone."""
    with redirect_stdout(StringIO()) as stdout, redirect_stderr(StringIO()) as stderr:
        code = run(["check", "--no-cache", "--jobs", "1", *arguments])
    return Done(code, stdout.getvalue(), stderr.getvalue())
