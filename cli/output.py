"""The output formats of `fullgraph check`; what only one of them needs is imported when it is asked for."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import click

from fullgraph.lint.findings import CheckReport, Finding
from fullgraph.rules.model import Rule

from .terminal import look


@dataclass(frozen=True, slots=True)
class Background:
    """What a report for other tools tells beside the findings."""

    own_rules: Sequence[Rule] = ()
    known: Sequence[Finding] = ()
    """Findings that the baseline puts off."""
    has_baseline: bool = False


def render(report: CheckReport, output_format: str, notes: bool, background: Background = Background()) -> str:
    """The report as text; for GitHub the summary of the step, and a review, are written on the side."""
    match output_format:
        case "json":
            from fullgraph.lint.emit import json

            return json.render(report)
        case "concise":
            from fullgraph.lint.emit import concise

            return concise.render(report, notes, look(background.own_rules))
        case "sarif":
            return _sarif(report, background)
        case "github":
            from fullgraph.lint.emit import github, review

            _write_beside("GITHUB_STEP_SUMMARY", "a", lambda: github.summary(report, notes))
            _write_beside("FULLGRAPH_REVIEW", "w", lambda: review.render(report, notes))
            return github.render(report, notes)
        case "gitlab":
            from fullgraph.lint.emit import gitlab

            return gitlab.render(report, notes)
        case "junit":
            from fullgraph.lint.emit import junit

            return junit.render(report, notes)
    from fullgraph.lint.emit import text

    return text.render(report, notes, look(background.own_rules))


def _sarif(report: CheckReport, background: Background) -> str:
    from fullgraph import rules
    from fullgraph.lint.emit import sarif

    every = (*rules.load().values(), *background.own_rules)
    return sarif.render(report, every, rules.__version__, background.known, background.has_baseline)


def _write_beside(variable: str, mode: str, text: Callable[[], str]) -> None:
    """GitHub names a file for the summary of the step that runs, the action one for its review."""
    if file := os.environ.get(variable):
        try:
            with Path(file).open(mode, encoding="utf-8", errors="backslashreplace") as out:
                out.write(text())
        except OSError as error:
            raise click.FileError(file, f"{error.strerror} (named by {variable})") from None
