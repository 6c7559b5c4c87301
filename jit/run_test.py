"""Runs one pytest test in this process and turns its outcome into an exception, if it is not that it passed."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

from .targets import PytestTest, TargetError


class TestFailed(Exception):
    """The test, or what it needs, failed; the text says how."""


class Outcome:
    """A plugin of pytest's that keeps what went wrong."""

    def __init__(self) -> None:
        self.failures: list[str] = []
        self.skips: list[str] = []

    def pytest_collectreport(self, report: Any) -> None:
        if report.failed:
            self.failures.append(_last_line(report.longreprtext))

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.failed:
            crash = getattr(report.longrepr, "reprcrash", None)
            text = crash.message.partition("\n")[0] if crash else _last_line(report.longreprtext)
            place = f" ({_shown(crash.path)}:{crash.lineno})" if crash else ""
            during = "" if report.when == "call" else f"{report.when}: "
            self.failures.append(f"{during}{text}{place}")
        elif report.skipped:
            self.skips.append(str(report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr))


def run_test(test: PytestTest) -> None:
    if importlib.util.find_spec("pytest") is None:
        raise TargetError(f"{test.path.name}::{test.node} is a test, and pytest is not installed")
    import pytest

    outcome = Outcome()
    options = ["-p", "no:cacheprovider", "--capture=no", "-q", "--no-header"]
    if importlib.util.find_spec("xdist"):
        options.append("--numprocesses=0")  # whatever the project's own settings say: only this process is observed
    sys.argv[:] = ["pytest"]
    code = pytest.main([*options, *test.arguments, f"{test.path}::{test.node}"], plugins=[outcome])
    if outcome.failures:
        raise TestFailed(outcome.failures[0])
    match code:
        case pytest.ExitCode.OK if outcome.skips:
            raise TargetError(f"the test was skipped: {outcome.skips[0]}")
        case pytest.ExitCode.OK:
            return
        case pytest.ExitCode.USAGE_ERROR | pytest.ExitCode.NO_TESTS_COLLECTED:
            raise TargetError(f"pytest finds no test {test.node} in {test.path.name}")
    raise TestFailed(f"pytest ended with exit code {int(code)}")


def _shown(file: str) -> str:
    path = Path(file)
    return path.relative_to(Path.cwd()).as_posix() if path.is_relative_to(Path.cwd()) else path.as_posix()


def _last_line(text: str) -> str:
    lines = [line.removeprefix("E").strip() for line in text.splitlines() if line.startswith("E ")]
    return lines[0] if lines else text.strip().rpartition("\n")[2]
