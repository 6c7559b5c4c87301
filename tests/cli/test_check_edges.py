"""The edges of `fullgraph check`, with an engine that only records what it is asked: options, config, exit codes."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest
from msgspec.structs import replace

import fullgraph.lint
from fullgraph.cli.main import run
from fullgraph.lint.config import AssumeCompiled, EntryPoint, Mode
from fullgraph.lint.engine import Advance
from fullgraph.lint.findings import CheckReport, Confidence, Effect, Finding, Severity, Span
from fullgraph.lint.request import CheckRequest
from fullgraph.rules.support import versions

FINDING = Finding(
    code="FG201",
    rule="tensor-item",
    span=Span("m.py", 1, 4, 1, 12),
    function="f",
    message="reads a value",
    advice="",
    effect=Effect.GRAPH_BREAK,
    severity=Severity.WARNING,
    cause=None,
    confidence=Confidence.CERTAIN,
    modes=(),
)


class Engine(ModuleType):
    """Stands in for `fullgraph.lint.engine`."""

    def __init__(self) -> None:
        super().__init__("fullgraph.lint.engine")
        self.findings: tuple[Finding, ...] = ()
        self.requests: list[CheckRequest] = []

    def check(self, request: CheckRequest, advance: Advance) -> CheckReport:
        self.requests.append(request)
        return CheckReport(request.torch, (), self.findings, len(request.files), request.remarks)


@pytest.fixture
def engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Engine:
    fake = Engine()
    monkeypatch.setitem(sys.modules, fake.__name__, fake)
    monkeypatch.setattr(fullgraph.lint, "engine", fake, raising=False)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "m.py").write_text("y = x.item()\n")
    return fake


@pytest.fixture
def asked(engine: Engine) -> Callable[..., CheckRequest]:
    def ask(*arguments: str) -> CheckRequest:
        run(["check", *arguments])
        return engine.requests[-1]

    return ask


def test_without_paths_the_working_directory_is_checked(asked: Callable[..., CheckRequest], tmp_path: Path) -> None:
    assert asked().files == (tmp_path / "m.py",)


def test_options_reach_the_engine(asked: Callable[..., CheckRequest], tmp_path: Path) -> None:
    request = asked(
        *("m.py", "--entry", "m.py::Net.forward", "--entry", "m.py::f", "--assume-compiled", "forward", "--no-cache"),
        *("--mode", "fullgraph", "--select", "FG2,FG201", "--ignore", "FG2", "--min-confidence", "possible"),
        *("--target-torch", "2.13", "--notes", "--first-party", "transformers", "--include-libraries"),
    )
    config = request.config
    assert config.entry == (EntryPoint(tmp_path / "m.py", "Net.forward"), EntryPoint(tmp_path / "m.py", "f"))
    assert (config.assume_compiled, config.mode) == (AssumeCompiled.FORWARD, Mode.FULLGRAPH)
    assert (config.select, config.ignore, config.min_confidence) == (("FG2", "FG201"), ("FG2",), Confidence.POSSIBLE)
    assert (config.notes, config.first_party, config.include_libraries) == (True, ("transformers",), True)
    assert (request.torch, request.remarks, request.use_cache) == ("2.13", (), False)


def test_defaults_are_those_of_the_documentation(asked: Callable[..., CheckRequest]) -> None:
    request = asked("m.py")
    config = request.config
    assert (config.assume_compiled, config.mode, config.min_confidence) == (
        AssumeCompiled.AUTO,
        None,
        Confidence.LIKELY,
    )
    assert request.use_cache


def test_a_named_config_file_is_used(asked: Callable[..., CheckRequest], tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    (tmp_path / "other/settings.toml").write_text("notes = true")
    config = asked("m.py", "--config", "other/settings.toml").config
    assert (config.notes, config.root) == (True, tmp_path / "other")


def test_remarks_go_to_stderr(engine: Engine, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["check", "--target-torch", "1.0", "--output-format", "json"]) == 0
    output = capsys.readouterr()
    assert output.err.startswith(f"fullgraph: torch 1.0 was not measured; judged by torch {versions()[0]}, the nearest")
    assert json.loads(output.out)["remarks"] == [output.err.strip().removeprefix("fullgraph: ")]


@pytest.mark.parametrize(("severity", "code"), [(Severity.ERROR, 1), (Severity.WARNING, 1), (Severity.NOTE, 0)])
def test_findings_set_the_exit_code_and_notes_do_not(
    engine: Engine, severity: Severity, code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    engine.findings = (replace(FINDING, severity=severity),)
    assert run(["check", "--output-format", "json"]) == code
    assert json.loads(capsys.readouterr().out)["findings"][0]["code"] == "FG201"
    assert run(["check", "--output-format", "concise"]) == code
    assert bool(capsys.readouterr().out) is (severity is not Severity.NOTE)
    assert run(["check"]) == code


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere.py"], "nowhere.py: there is no such file or folder"),
        (["--select", "FG201,XY"], "--select: no rule has the code or prefix 'XY'; `fullgraph rules list` shows all"),
        (["--ignore", "E501"], "--ignore: no rule has the code or prefix 'E501'; `fullgraph rules list` shows all"),
        (["--entry", "m.py"], "--entry: 'm.py' is not of the form PATH::QUALNAME, such as model.py::Net.forward"),
        (["--entry", "n.py::f"], "--entry: there is no file n.py"),
        (["--target-torch", "new"], f"target torch 'new' is not a version such as {versions()[-1]}"),
        (["--config", "none.toml"], "none.toml: cannot read it: No such file or directory"),
        (["--mode", "max"], "Invalid value for '--mode': 'max' is not one of 'default', 'fullgraph'."),
        (["--whatever"], "No such option '--whatever'."),
    ],
)
def test_a_mistake_is_one_line_and_exit_code_2(
    engine: Engine, arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["check", *arguments]) == 2
    output = capsys.readouterr()
    assert (output.out, output.err) == ("", f"fullgraph: {message}\n")
    assert engine.requests == []


def test_a_bug_is_no_finding(
    engine: Engine, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(engine, "check", lambda request: 1 / 0)
    assert run(["check"]) == 2
    assert capsys.readouterr().err.splitlines()[-1].startswith("fullgraph: this is a bug in fullgraph")
