"""`--fix`, `--unsafe-fixes`, `--fix-only`, `--diff`: which fixes are applied, and what is said about it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from fullgraph.lint.discover import lexically_absolute
from fullgraph.lint.emit.look import readable
from fullgraph.lint.findings import CheckReport, Finding, Fix, Severity
from fullgraph.lint.request import CheckRequest

from .projects import merged

if TYPE_CHECKING:
    from fullgraph.lint.apply import Contents, Outcome


@dataclass(frozen=True, slots=True)
class Fixing:
    """What the options ask for."""

    fixing: bool
    unsafe: bool
    fix_only: bool
    diff: bool

    @property
    def asked(self) -> bool:
        return self.fixing or self.fix_only or self.diff

    def refuse_with(self, options: Mapping[str, object]) -> None:
        """Raises click.UsageError where one of these options is given: fixing and comparing exclude each other."""
        given = next((name for name, value in options.items() if value is not None), None)
        if self.asked and given is not None:
            raise click.UsageError(f"{given} and fixing can't be asked for together: run one after the other")


def fix_files(fixing: Fixing, report: CheckReport, requests: Sequence[CheckRequest], notes: bool) -> Outcome:
    """Fix the files of the requests, or print the changes; the summary goes to stderr."""
    from fullgraph.lint import apply

    editable = {file for request in requests for file in request.files}
    outcome = apply.fix_all(
        report, recheck(requests), lambda finding: _allowed(finding, fixing.unsafe, notes, editable)
    )
    save(outcome.changed, fixing.diff)
    for path, code, function in outcome.refused:
        _tell(f"{path}: the fix of {code} in {function} does not help, so it was left out")
    for notebook in sorted({finding.span.path for finding in report.findings if finding.span.cell is not None}):
        _tell(f"{notebook}: notebooks are never edited")
    _tell(_summary(outcome, fixing))
    return outcome


def recheck(requests: Sequence[CheckRequest]) -> Callable[[Contents], CheckReport]:
    """What is found when files hold something else."""
    from fullgraph.lint import engine

    def check(contents: Contents) -> CheckReport:
        files = {str(lexically_absolute(Path(path))): source for path, source in contents.items()}
        return merged([engine.check(replace(request, contents=files)) for request in requests])

    return check


def save(changed: Iterable[tuple[str, bytes, bytes]], diff: bool) -> None:
    """Write the files, or print what would change."""
    from fullgraph.lint.apply import patch

    for path, before, after in changed:
        if diff:
            text = "".join(patch(path, before, after))
            # A terminal is to run no control characters; a patch in a pipe stays as it is.
            click.echo(readable(text) if sys.stdout.isatty() else text, nl=False)
        else:
            _write(path, before, after)


def _allowed(finding: Finding, unsafe: bool, notes: bool, editable: set[Path]) -> tuple[Fix, ...]:
    if finding.severity is Severity.NOTE and not notes:
        return ()
    return tuple(
        fix
        for fix in finding.fixes
        if fix.safety in (("safe", "unsafe") if unsafe else ("safe",))
        and all(lexically_absolute(Path(edit.path)) in editable for edit in fix.edits)
    )


def _write(path: str, before: bytes, after: bytes) -> None:
    from fullgraph.lint import apply

    try:
        apply.write(path, before, after)
    except OSError as error:
        raise click.FileError(path, error.strerror or str(error)) from None


def _summary(outcome: Outcome, fixing: Fixing) -> str:
    counted = [finding for finding in outcome.report.findings if finding.severity is not Severity.NOTE]
    unsafe = sum(any(fix.safety == "unsafe" for fix in finding.fixes) for finding in counted)
    text = f"{'would fix' if fixing.diff else 'fixed'} {outcome.fixed}, {len(counted)} left"
    return text if fixing.unsafe or not unsafe else f"{text}, of which --unsafe-fixes may fix {unsafe}"


def _tell(text: str) -> None:
    click.echo(f"fullgraph: {text}", err=True)
