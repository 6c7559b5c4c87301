"""The examples show what they are meant to: what check finds in each, and what compiling says about it."""

from __future__ import annotations

import json
import runpy
import subprocess
import sys
from typing import Any, NamedTuple

import click
import pytest
import screens
from checkout import ROOT

SCRIPTS = (
    "examples/layerdrop_transformer.py",
    "examples/detector.py",
    "examples/audio_tagger/tagger.py",
    "examples/moe_router.py",
    "examples/train_step.py",
    "examples/vision_transformer.py",
)
"""In the order of the demo."""
VERIFY = """
import sys
from pathlib import Path
from fullgraph.cli.main import run
from fullgraph.jit import emit_json, emit_text

as_json = emit_json.render

def both(reports):
    Path(sys.argv[1]).write_text(emit_text.render(reports, notes=False, width=None))
    return as_json(reports)

emit_json.render = both
sys.exit(run(["verify", *sys.argv[2:], "--output-format", "json"]))
"""
"""Writes the text into a file beside printing the JSON, so that the scripts run once for both."""


class Expected(NamedTuple):
    code: str
    function: str
    text: str
    """What the finding underlines, its first line."""
    verdict: str


EXPECTED: dict[str, list[Expected]] = {
    "examples/audio_tagger/pooling.py": [
        Expected("FG201", "frame_mask", "int(lengths.max())", "confirmed"),
        Expected("FG101", "attentive_statistics", "torch.isnan(weights).any()", "confirmed"),
    ],
    "examples/detector.py": [
        Expected("FG204", "suppress", "rest[overlap <= threshold]", "not-reached"),
        Expected("FG204", "detect", "boxes[0, confident]", "confirmed"),
        Expected("FG204", "detect", "scores[confident]", "confirmed"),
        Expected("FG204", "detect", "labels[confident]", "confirmed"),
        Expected("FG203", "detect", "torch.where((size >= min_size).all(dim=-1))", "confirmed"),
        Expected("FG409", "main", "detect(model, torch.rand(3, size, size))", "confirmed"),
    ],
    "examples/layerdrop_transformer.py": [
        Expected("FG102", "Decoder.forward", "torch.rand(()) < self.config.layerdrop", "confirmed"),
        Expected("FG101", "Decoder.forward", "torch.isfinite(x).all()", "not-reached"),
        Expected("FG401", "Decoder.decode", "self.seen_tokens", "confirmed"),
    ],
    "examples/moe_router.py": [
        Expected("FG202", "MixtureOfExperts.run_sorted", "counts.tolist()", "confirmed"),
        Expected("FG202", "MixtureOfExperts.run_hit", "chosen.unique().tolist()", "not-reached"),
        Expected("FG203", "MixtureOfExperts.run_hit", "chosen.unique()", "not-reached"),
        Expected("FG203", "MixtureOfExperts.run_hit", "torch.where(chosen == index)", "not-reached"),
        Expected("FG409", "main", "forward(x, x.roll(1, dims=1))", "confirmed"),
    ],
    "examples/train_step.py": [
        Expected("FG401", "Classifier.forward", "self.turn", "refuted"),
        Expected("FG501", "smoothing", 'os.getenv("LABEL_SMOOTHING", "0.1")', "not-reached"),
        Expected("FG808", "train_step", "optimizer.zero_grad()", "confirmed"),
        Expected("FG802", "train_step", "loss.backward()", "confirmed"),
        Expected("FG101", "train_step", "torch.isfinite(norm)", "confirmed"),
        Expected(
            "FG302",
            "train_step",
            'logger.warning("step %d: gradients are not finite, step skipped", step)',
            "not-reached",
        ),
        Expected("FG808", "train_step", "optimizer.step()", "confirmed"),
        Expected("FG405", "train_step", "step % 5 == 0", "confirmed"),
        Expected(
            "FG302",
            "train_step",
            'logger.info("step %d: loss %.4f, lr %.2e", step, loss.item(), schedule.get_last_lr()[0])',
            "confirmed",
        ),
        Expected("FG201", "train_step", "loss.item()", "confirmed"),
    ],
}


def fullgraph(*arguments: str) -> Any:
    command = [sys.executable, "-m", "fullgraph.cli", *arguments, "--output-format", "json"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=900)
    assert done.returncode in (0, 1), done.stderr
    return json.loads(done.stdout)


def described(finding: dict[str, Any]) -> Expected:
    line = (ROOT / finding["path"]).read_text(encoding="utf-8").splitlines()[finding["line"] - 1]
    end = finding["end_column"] if finding["end_line"] == finding["line"] else None
    return Expected(
        finding["code"], finding["function"], line[finding["column"] : end], finding.get("verdict", "unknown")
    )


def by_path(findings: list[dict[str, Any]]) -> dict[str, list[Expected]]:
    paths = sorted({finding["path"] for finding in findings})
    return {path: [described(finding) for finding in findings if finding["path"] == path] for path in paths}


def test_check_finds_what_is_expected() -> None:
    found = by_path(fullgraph("check", "--no-cache", "examples")["findings"])
    assert found == {
        path: [each._replace(verdict="unknown") for each in expected] for path, expected in EXPECTED.items()
    }


class Verified(NamedTuple):
    targets: dict[str, dict[str, Any]]
    text: str


@pytest.fixture(scope="module")
def verification(tmp_path_factory: pytest.TempPathFactory) -> Verified:
    text = tmp_path_factory.mktemp("verify") / "text"
    command = [sys.executable, "-c", VERIFY, text, *SCRIPTS]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=900)
    assert done.returncode in (0, 1), done.stderr
    targets = json.loads(done.stdout)["targets"]
    return Verified({target["target"]: target for target in targets}, click.unstyle(text.read_text(encoding="utf-8")))


@pytest.fixture
def verified(verification: Verified) -> dict[str, dict[str, Any]]:
    return verification.targets


@pytest.mark.torch
@pytest.mark.slow
@pytest.mark.parametrize("script", SCRIPTS)
def test_every_example_runs(verified: dict[str, dict[str, Any]], script: str) -> None:
    assert (verified[script]["status"], verified[script]["detail"]) == ("ok", None)


@pytest.mark.torch
@pytest.mark.slow
def test_compiling_gives_the_expected_verdicts(verified: dict[str, dict[str, Any]]) -> None:
    found = by_path([finding for target in verified.values() for finding in target["findings"]])
    assert found == EXPECTED
    assert {each.verdict for expected in found.values() for each in expected} == {
        "confirmed",
        "refuted",
        "not-reached",
    }


@pytest.mark.torch
@pytest.mark.slow
def test_the_clean_example_is_one_graph(verified: dict[str, dict[str, Any]]) -> None:
    clean = verified["examples/vision_transformer.py"]
    assert [clean[key] for key in ("findings", "breaks", "recompiles", "unpredicted")] == [[], [], [], []]
    assert [frame["graphs"] for frame in clean["frames"]] == [1]


@pytest.mark.torch
@pytest.mark.slow
def test_readme_shows_what_the_demo_prints(verification: Verified) -> None:
    """The demo runs the same scripts in two halves and joins their tables."""
    demo = runpy.run_path(str(ROOT / "examples/demo.py"))
    body, _, table = verification.text.rstrip().rpartition("\n\n")
    output = "\n\n".join([demo["fullgraph"]("check", "examples"), body, demo["joined"]([table])])
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert screens.with_demo(readme, output) == readme, "`python tools/screens.py --demo` writes what it prints now"
