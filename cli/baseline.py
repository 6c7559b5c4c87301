"""`--baseline`, `--write-baseline`, `--changed-since`: which of the findings count."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import click
from msgspec.structs import replace

from fullgraph.lint import baseline
from fullgraph.lint.discover import lexically_absolute
from fullgraph.lint.emit.look import printable
from fullgraph.lint.findings import CheckReport, Finding, Severity


def settle(
    report: CheckReport, files: Iterable[Path], known_file: Path | None, written_file: Path | None
) -> tuple[CheckReport, tuple[Finding, ...]]:
    """The report without what the baseline knows, and what it knows; writes the new baseline if asked to.

    With both files the new one only drops entries: what is put off may get less, never more.
    """
    try:
        return _settle(report, files, known_file, written_file)
    except baseline.BaselineError as error:
        raise click.UsageError(str(error)) from None


def _settle(
    report: CheckReport, files: Iterable[Path], known_file: Path | None, written_file: Path | None
) -> tuple[CheckReport, tuple[Finding, ...]]:
    if known_file is None:
        if written_file is None:
            return report, ()
        return _write_all(report, written_file)
    base = lexically_absolute(known_file).parent
    entries = baseline.read(known_file)
    found = baseline.compare(report.findings, entries, base, files)
    for entry in found.stale:
        drop = f"drop it from {known_file}" if written_file is None else f"dropped from {known_file}"
        _tell(f"no longer found, {drop}: {printable(entry.path)}: {entry.code} in {entry.function}")
    if found.known:
        _tell(f"{_findings(len(found.known))} put off by {known_file}")
    if written_file is not None:
        stale = {entry.fingerprint for entry in found.stale}
        _move(written_file, base, [entry for entry in entries if entry.fingerprint not in stale])
    return replace(report, findings=found.new), found.known


def _write_all(report: CheckReport, file: Path) -> tuple[CheckReport, tuple[Finding, ...]]:
    known = tuple(baseline.countable(report.findings))
    _move(file, lexically_absolute(file).parent, baseline.entries_of(known, lexically_absolute(file).parent))
    left = tuple(finding for finding in report.findings if finding.severity is Severity.NOTE)
    return replace(report, findings=left), known


def _move(file: Path, base: Path, entries: Iterable[baseline.Known]) -> None:
    if lexically_absolute(file).parent != base:
        raise baseline.BaselineError(f"{file}: a baseline stays in its folder, from which its paths count")
    entries = tuple(entries)
    baseline.write(file, entries)
    _tell(f"wrote {_findings(len(entries))} to {file}")


def _findings(count: int) -> str:
    return f"{count} finding{'' if count == 1 else 's'}"


def _tell(text: str) -> None:
    click.echo(f"fullgraph: {text}", err=True)


def only_changed(report: CheckReport, revision: str) -> CheckReport:
    """The findings on lines that differ from the revision."""
    from fullgraph.lint.changed import ChangedError, changed_lines, touches

    try:
        changed = changed_lines(revision, [Path(finding.span.path) for finding in report.findings])
    except ChangedError as error:
        raise click.UsageError(str(error)) from None
    return replace(report, findings=tuple(finding for finding in report.findings if touches(finding.span, changed)))
