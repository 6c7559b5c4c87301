"""A project on disk for one test, and what `check` says of it."""

from __future__ import annotations

import textwrap
from pathlib import Path

from fullgraph.lint.config import AssumeCompiled, Config, EntryPoint, Mode
from fullgraph.lint.engine import check
from fullgraph.lint.findings import CheckReport, Confidence, Finding
from fullgraph.lint.request import CheckRequest


class ProjectOnDisk:
    """Files below `root`; `check` reports on all of them, or on those named."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def write(self, files: dict[str, str]) -> None:
        for name, text in files.items():
            path = self.root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(textwrap.dedent(text), encoding="utf-8")

    def check(
        self,
        *names: str,
        entries: tuple[str, ...] = (),
        assume: AssumeCompiled = AssumeCompiled.AUTO,
        mode: Mode | None = None,
        min_confidence: Confidence = Confidence.LIKELY,
        use_cache: bool = False,
        jobs: int = 1,
        libraries: bool = False,
        first_party: tuple[str, ...] = (),
    ) -> CheckReport:
        files = [self.root / name for name in names] or sorted(self.root.rglob("*.py"))
        points = tuple(EntryPoint(self.root / entry.split("::")[0], entry.split("::")[1]) for entry in entries)
        config = Config(
            root=self.root,
            entry=points,
            assume_compiled=assume,
            mode=mode,
            min_confidence=min_confidence,
            include_libraries=libraries,
            first_party=first_party,
        )
        return check(CheckRequest(tuple(files), config, use_cache=use_cache, jobs=jobs))


def lines(report: CheckReport) -> list[tuple[str, str, int]]:
    """`(file, code, line)` of everything but notes."""
    return [
        (Path(finding.span.path).name, finding.code, finding.span.line)
        for finding in report.findings
        if finding.severity.value != "note"
    ]


def only(report: CheckReport) -> Finding:
    (finding,) = report.findings
    return finding
