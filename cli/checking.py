"""What `fullgraph check` does: options become a `CheckRequest`, the report becomes text."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from fullgraph.lint.findings import CheckReport, Severity
from fullgraph.lint.request import CheckRequest

from .baseline import only_changed, settle
from .compare import Comparison
from .fix import Fixing, fix_files
from .output import Background, render
from .progress import progress
from .projects import merged, requests_of
from .terminal import look, show


def run(
    paths: tuple[Path, ...],
    output_format: str,
    config_file: Path | None,
    no_cache: bool,
    jobs: int | None,
    compare_torch: str | None,
    known_file: Path | None,
    written_file: Path | None,
    changed_since: str | None,
    fix: bool,
    unsafe_fixes: bool,
    fix_only: bool,
    diff: bool,
    add_ignores: bool,
    **options: Any,
) -> int:
    """Check, do with the findings what is asked for, and tell what is left; gives the exit code."""

    def requested(**target: Any) -> tuple[CheckRequest, ...]:
        return requests_of(
            paths,
            config_file,
            use_cache=not no_cache,
            jobs=jobs,
            judge_comments=compare_torch is None,
            **options | target,
        )

    fixing = Fixing(fix, unsafe_fixes, fix_only, diff and not add_ignores)
    fixing.refuse_with(
        {"--compare-torch": compare_torch, "--baseline": known_file, "--write-baseline": written_file}
        | {"--changed-since": changed_since}
    )
    if add_ignores:
        refuse_to_ignore(
            {"--compare-torch": compare_torch, "--baseline": known_file, "--write-baseline": written_file}
            | {"--changed-since": changed_since, "--fix": fix or None, "--fix-only": fix_only or None}
        )
    if compare_torch is not None:
        refuse_to_compare(
            output_format,
            {"--baseline": known_file, "--write-baseline": written_file, "--changed-since": changed_since},
        )
    requests = requested()
    notes = any(request.config.notes for request in requests)
    own = [rule for request in requests for rule in request.config.rules]
    report = report_of(requests)
    if fixing.asked:
        outcome = fix_files(fixing, report, requests, notes)
        if fixing.fix_only or fixing.diff:
            return int(fixing.diff and bool(outcome.changed))
        report = outcome.report
    if add_ignores:
        from .ignores import add_ignores as write_comments

        report, changes = write_comments(report, requests, notes, diff)
        if diff:
            return int(changes)
    if compare_torch is not None:
        comparison = Comparison(report, report_of(requested(target_torch=compare_torch)), notes)
        show(comparison.render(output_format, look(own)))
        return int(bool(comparison.appear))
    files = [file for request in requests for file in request.files]
    report, known = settle(report, files, known_file, written_file)
    if changed_since is not None:
        report = only_changed(report, changed_since)
    show(render(report, output_format, notes, Background(own, known, known_file is not None)))
    return exit_code(report)


def refuse_to_ignore(others: dict[str, object]) -> None:
    """Comments are written at all findings, as they are."""
    for option, value in others.items():
        if value is not None:
            raise click.UsageError(f"--add-ignores does not go together with {option}: run one after the other")


def refuse_to_compare(output_format: str, others: dict[str, object]) -> None:
    """A comparison is of all findings, and is told as text or JSON."""
    for option, value in others.items():
        if value is not None:
            raise click.UsageError(f"--compare-torch does not go together with {option}")
    if output_format not in ("text", "concise", "json"):
        raise click.UsageError(f"--compare-torch has no output format {output_format!r}; text and json it has")


def report_of(requests: tuple[CheckRequest, ...]) -> CheckReport:
    """What all the projects' checks say, remarks told at once."""
    from fullgraph.lint import engine

    with progress("checking", "files") as advance:
        report = merged([engine.check(request, advance) for request in requests])
    for remark in report.remarks:
        click.echo(f"fullgraph: {remark}", err=True)
    return report


def exit_code(report: CheckReport) -> int:
    return int(any(finding.severity is not Severity.NOTE for finding in report.findings))
