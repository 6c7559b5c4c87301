"""`fullgraph check`: the static half on the command line; options become a `CheckRequest`, the report becomes text."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import click

from fullgraph.lint.config import AssumeCompiled, Mode
from fullgraph.lint.findings import CheckReport, Confidence, Severity
from fullgraph.lint.request import CheckRequest

from .baseline import only_changed, settle
from .compare import Comparison
from .fix import Fixing, fix_files
from .output import FORMATS, Background, render
from .projects import merged, requests_of


class PathArgument(click.Path):
    """A path that names something: an empty one would mean the working directory."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if value == "":
            raise click.UsageError("an empty PATH names nothing; `.` is the working directory")
        return super().convert(value, param, ctx)


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("paths", nargs=-1, type=PathArgument(path_type=Path, readable=False), metavar="[PATH]...")
@click.option("--entry", multiple=True, metavar="PATH::QUALNAME", help="Take this function for compiled. Repeatable.")
@click.option(
    "--assume-compiled",
    type=click.Choice([choice.value for choice in AssumeCompiled]),
    help="What to take for compiled beside the compile calls found. auto (default): every nn.Module.forward if the "
    "project has no compile call at all.",
)
@click.option(
    "--mode",
    type=click.Choice([mode.value for mode in Mode]),
    help="Judge by this mode instead of what the compile call says.",
)
@click.option("--target-torch", metavar="VERSION", help="Judge by this torch version, such as 2.13.")
@click.option(
    "--compare-torch",
    metavar="VERSION",
    help="Say which findings appear and which vanish when that version takes the place of the target.",
)
@click.option(
    "--select", multiple=True, metavar="CODES", help="Report only these rules: codes or prefixes, with commas."
)
@click.option("--ignore", multiple=True, metavar="CODES", help="Leave these rules out.")
@click.option(
    "--min-confidence",
    type=click.Choice([level.value for level in Confidence]),
    help="Leave out what is less sure (default: likely).",
)
@click.option("--notes", is_flag=True, help="Show notes too; they never change the exit code.")
@click.option("--first-party", multiple=True, metavar="NAME|PATH", help="Trace into this package too. Repeatable.")
@click.option("--include-libraries", is_flag=True, help="Report findings in installed libraries too.")
@click.option("--output-format", type=click.Choice(FORMATS), default="text", show_default=True)
@click.option(
    "--baseline",
    "known_file",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Leave out the findings that this file puts off.",
)
@click.option(
    "--write-baseline",
    "written_file",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Put off all findings in this file; together with --baseline only drop what is no longer found.",
)
@click.option("--changed-since", metavar="REVISION", help="Report only on lines that differ from this git revision.")
@click.option("--fix", is_flag=True, help="Apply the safe fixes, then report what is left.")
@click.option("--unsafe-fixes", is_flag=True, help="Let the other three take fixes that may change results.")
@click.option("--fix-only", is_flag=True, help="Apply the fixes and report nothing; exit with 0.")
@click.option("--diff", is_flag=True, help="Print what --fix would change, write nothing; exit with 1 if there is any.")
@click.option("--config", "config_file", type=click.Path(path_type=Path), help="Use this file's settings.")
@click.option("--no-cache", is_flag=True, help="Neither read nor write the cache.")
@click.option(
    "--jobs", type=click.IntRange(min=1), metavar="N", help="Use at most this many processes (default: one a core)."
)
def check(
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
    **options: Any,
) -> int:
    """Say where compiling the Python files in PATH (default: here) will break graphs, recompile or freeze values.

    Nothing is imported or run. Exit codes: 0 nothing found, 1 findings, 2 wrong usage or an internal error; with
    --compare-torch, 1 says that findings appear.
    """

    def requested(**target: Any) -> tuple[CheckRequest, ...]:
        return requests_of(
            paths,
            config_file,
            use_cache=not no_cache,
            jobs=jobs,
            judge_comments=compare_torch is None,
            **options | target,
        )

    fixing = Fixing(fix, unsafe_fixes, fix_only, diff)
    fixing.refuse_with(
        {"--compare-torch": compare_torch, "--baseline": known_file, "--write-baseline": written_file}
        | {"--changed-since": changed_since}
    )
    if compare_torch is not None:
        refuse_to_compare(
            output_format,
            {"--baseline": known_file, "--write-baseline": written_file, "--changed-since": changed_since},
        )
    requests = requested()
    notes = any(request.config.notes for request in requests)
    report = report_of(requests)
    if fixing.asked:
        outcome = fix_files(fixing, report, requests, notes)
        if fixing.fix_only or fixing.diff:
            return int(fixing.diff and bool(outcome.changed))
        report = outcome.report
    if compare_torch is not None:
        comparison = Comparison(report, report_of(requested(target_torch=compare_torch)), notes)
        show(comparison.render(output_format))
        return int(bool(comparison.appear))
    files = [file for request in requests for file in request.files]
    report, known = settle(report, files, known_file, written_file)
    if changed_since is not None:
        report = only_changed(report, changed_since)
    own = [rule for request in requests for rule in request.config.rules]
    show(render(report, output_format, notes, Background(own, known, known_file is not None)))
    return exit_code(report)


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

    report = merged([engine.check(request) for request in requests])
    for remark in report.remarks:
        click.echo(f"fullgraph: {remark}", err=True)
    return report


def show(text: str) -> None:
    """click strips the styles by itself when stdout is no terminal."""
    click.echo(text, nl=False, color=False if os.environ.get("NO_COLOR") else None)


def exit_code(report: CheckReport) -> int:
    return int(any(finding.severity is not Severity.NOTE for finding in report.findings))
