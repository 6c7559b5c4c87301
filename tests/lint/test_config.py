"""Settings files: what they mean, where they are found, and one clear line for every mistake."""

from __future__ import annotations

from pathlib import Path

import click
import pytest

from fullgraph.lint.config import AssumeCompiled, Config, ConfiguredTarget, EntryPoint, Mode, load, override
from fullgraph.lint.findings import Confidence, Effect, Finding, Severity, Span
from fullgraph.lint.target import resolve

CODES = frozenset({"FG101", "FG102", "FG201"})


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pkg").mkdir()
    (tmp_path / "pkg/m.py").touch()
    return tmp_path


def read(text: str) -> Config:
    Path("fullgraph.toml").write_text(text)
    return load((), CODES)


def finding(code: str = "FG101", path: str = "pkg/m.py", confidence: Confidence = Confidence.CERTAIN) -> Finding:
    return Finding(
        code=code,
        rule="r",
        span=Span(path, 1, 0, 1, 1),
        function="f",
        message="",
        advice="",
        effect=Effect.GRAPH_BREAK,
        severity=Severity.WARNING,
        cause=None,
        confidence=confidence,
        modes=(),
    )


def test_every_setting_is_read(project: Path) -> None:
    config = read(
        """
        select = ["FG1"]
        ignore = ["FG102"]
        min-confidence = "possible"
        target-torch = "2.11"
        mode = "fullgraph"
        assume-compiled = "forward"
        entry = ["pkg/m.py::Net.forward"]
        exclude = ["old/"]
        per-file-ignores = { "pkg/*" = ["FG101"] }
        first-party = ["lib", "../other", "pkg"]
        include-libraries = true
        notes = true
        """
    )
    assert config == Config(
        root=project,
        source=project / "fullgraph.toml",
        select=("FG1",),
        ignore=("FG102",),
        min_confidence=Confidence.POSSIBLE,
        target_torch="2.11",
        mode=Mode.FULLGRAPH,
        assume_compiled=AssumeCompiled.FORWARD,
        entry=(EntryPoint(project / "pkg/m.py", "Net.forward"),),
        exclude=("old/",),
        per_file_ignores=(("pkg/*", ("FG101",)),),
        first_party=("lib", str(project.parent / "other"), str(project / "pkg")),
        include_libraries=True,
        notes=True,
    )


def test_without_a_file_the_root_is_the_working_directory(project: Path) -> None:
    assert load((Path("pkg/m.py"),), CODES) == Config(root=project)


def test_without_a_file_and_outside_the_working_directory_the_root_is_where_the_paths_meet(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (project / "elsewhere").mkdir()
    monkeypatch.chdir(project / "elsewhere")
    assert load((Path("../pkg/m.py"),), CODES).root == project / "pkg"


def test_the_nearest_file_wins(project: Path) -> None:
    Path("fullgraph.toml").write_text("notes = true")
    Path("pkg/pyproject.toml").write_text("[tool.other]\nx = 1")
    assert load((Path("pkg/m.py"),), CODES).source == project / "fullgraph.toml"
    Path("pkg/pyproject.toml").write_text("[tool.fullgraph]")
    assert load((Path("pkg/m.py"),), CODES).root == project / "pkg"
    assert load((Path("pkg/m.py"), Path()), CODES).root == project


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("selct = []", "fullgraph.toml: `selct` is not a setting; the settings are select, ignore"),
        ("select = 'FG1'", "fullgraph.toml: `select` must be a list of strings"),
        ("select = [1]", "fullgraph.toml: `select` must be a list of strings"),
        ("ignore = ['FG7']", "fullgraph.toml: `ignore`: no rule has the code or prefix 'FG7'"),
        ("notes = 'yes'", "fullgraph.toml: `notes` must be true or false"),
        ("mode = 'max'", "fullgraph.toml: `mode` must be one of default, fullgraph"),
        ("target-torch = 2.13", "fullgraph.toml: `target-torch` must be a string"),
        ("entry = ['pkg/m.py']", "'pkg/m.py' is not of the form PATH::QUALNAME"),
        ("entry = ['pkg/n.py::f']", "fullgraph.toml: `entry`: there is no file pkg/n.py"),
        ("per-file-ignores = ['a']", "`per-file-ignores` must be a table from glob to list of codes"),
        ("per-file-ignores = { a = 'FG1' }", "`per-file-ignores`: 'a' must be a list of strings"),
        ("x = ", "fullgraph.toml: not valid TOML"),
    ],
)
def test_a_mistake_is_named(text: str, message: str) -> None:
    with pytest.raises(click.UsageError) as raised:
        read(text)
    assert message in raised.value.message
    assert "\n" not in raised.value.message


def test_options_outrank_the_file() -> None:
    config = override(
        read("select = ['FG1']\nnotes = true"), CODES, {"select": ("FG2,FG101",), "notes": False, "mode": None}
    )
    assert (config.select, config.notes, config.mode) == (("FG2", "FG101"), True, None)


def test_selection_is_by_prefix_and_ignores_win(project: Path) -> None:
    assert Config(project).reports(finding())
    assert Config(project, select=("FG1",)).reports(finding())
    assert not Config(project, select=("FG2",)).reports(finding())
    assert not Config(project, select=("FG1",), ignore=("FG101",)).reports(finding())


def test_findings_below_the_confidence_bound_are_dropped(project: Path) -> None:
    assert Config(project).reports(finding(confidence=Confidence.LIKELY))
    assert not Config(project).reports(finding(confidence=Confidence.POSSIBLE))


@pytest.mark.parametrize(("glob", "ignored"), [("m.py", True), ("pkg", True), ("pkg/*", True), ("*/n.py", False)])
def test_ignores_per_file_match_names_or_paths_below_the_root(project: Path, glob: str, ignored: bool) -> None:
    config = Config(project, per_file_ignores=((glob, ("FG101",)),))
    assert config.reports(finding()) is not ignored
    assert config.reports(finding(code="FG102"))


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("requirements-dev.txt", "# pins\nnumpy==1.0\ntorch==2.12.0 ; python_version > '3'\n"),
        ("constraints.txt", "torchvision==0.1\ntorch==2.12.0+cpu\n"),
        ("pyproject.toml", "[project]\ndependencies = ['torch ==2.12']\n"),
        ("pyproject.toml", "[project.optional-dependencies]\nx = ['torch[opt]==2.12.*']\n"),
        ("pyproject.toml", "[dependency-groups]\nx = [{include-group = 'y'}, 'torch==2.12']\n"),
        ("uv.lock", '[[package]]\nname = "torch"\nversion = "2.12.0"\n'),
        ("poetry.lock", '[[package]]\nname = "torch"\nversion = "2.12.0"\n'),
    ],
)
def test_the_projects_pin_is_the_target(project: Path, file: str, text: str) -> None:
    Path(file).write_text(text)
    remark = f"torch 2.12 (pinned in {file}) was not measured; judged by torch 2.11, the nearest that was"
    assert (target := resolve(None, project)).remark == remark
    assert target.torch == "2.11"


def test_a_range_or_another_package_is_no_pin(project: Path) -> None:
    Path("requirements.txt").write_text("torch>=2.12\ntorchaudio==2.12\nmytorch==2.12\n")
    assert resolve(None, project).remark is None


def test_an_option_outranks_the_pin_and_a_measured_version_needs_no_remark(project: Path) -> None:
    Path("requirements.txt").write_text("torch==2.12\n")
    assert resolve("2.13.0", project).remark is None


@pytest.mark.parametrize("text", ["new", "2", "2.x"])
def test_what_is_no_version_is_refused(project: Path, text: str) -> None:
    with pytest.raises(click.UsageError, match=r"is not a version such as 2\.\d+"):
        resolve(text, project)


def test_targets_have_names_and_settings_of_their_own() -> None:
    config = read(
        """
        [targets]
        train = "train.py"

        [targets.net]
        target = "pkg/m.py::Net"
        arguments = []
        inputs = ["f32[2]", "mask=bool[2]"]
        init = "dim=4"
        vary = ["batch"]
        train = false
        fake = true
        device = "cpu"
        """
    )
    assert config.targets == (
        ConfiguredTarget("train", "train.py"),
        ConfiguredTarget(
            "net",
            "pkg/m.py::Net",
            inputs=("f32[2]", "mask=bool[2]"),
            init="dim=4",
            vary=("batch",),
            train=False,
            fake=True,
            device="cpu",
        ),
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("targets = 3", "`targets` must be a table from name to target"),
        ("targets.net = 3", '`targets`: `net` must be a target, such as "model.py::Net", or a table with a `target`'),
        ("targets.net = { inputs = [] }", "`targets`: `net` must be a target"),
        (
            "targets.net = { target = 'm.py', shape = 3 }",
            "`targets`: `net`: `shape` is not a setting; the settings are",
        ),
        ("targets.net = { target = 'm.py', train = 3 }", "`targets`: `net`: `train` must be true or false"),
        ("targets.net = { target = 'm.py', inputs = 'f32' }", "`targets`: `net`: `inputs` must be a list of strings"),
    ],
)
def test_mistakes_in_targets_are_pointed_at(text: str, message: str) -> None:
    with pytest.raises(click.UsageError) as caught:
        read(text)
    assert message in caught.value.message
