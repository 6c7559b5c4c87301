"""Writes what the linter got wrong as examples for its rules: refuted findings and unpredicted breaks, each cut down to
what it needs and compiled once more, to see that it still is what it was.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeAlias

from msgspec import structs

from fullgraph.lint.findings import Finding, Verdict

from .events import Break, Observation
from .isolate import Pool
from .snippets import Snippet, cut
from .targets import Job, Object, Script, Target
from .verify import TargetReport, judge, read_source, rules_for

Read: TypeAlias = Callable[[str], str]


@dataclass(frozen=True, slots=True)
class Case:
    """One mistake of the linter's, and the program that shows it."""

    job: Job
    subject: Finding | Break
    said: str

    @property
    def path(self) -> str:
        return self.subject.span.path if isinstance(self.subject, Finding) else self.subject.path

    @property
    def line(self) -> int:
        return self.subject.span.line if isinstance(self.subject, Finding) else self.subject.line

    @property
    def kind(self) -> str:
        return "refuted" if isinstance(self.subject, Finding) else "unpredicted"

    @property
    def codes(self) -> tuple[str, ...]:
        """Of the rules that it is about."""
        return (self.subject.code,) if isinstance(self.subject, Finding) else rules_for(self.subject)

    @property
    def gb(self) -> tuple[str, ...]:
        if isinstance(self.subject, Finding):
            return self.subject.gb
        return tuple(dict.fromkeys(filter(None, (self.subject.gb, self.subject.root_gb))))

    def shows(self, seen: Observation, path: str, line: int) -> bool:
        """Whether what was seen of a program is the case too, at that line of it."""
        match self.subject:
            case Finding() as finding:
                moved = line - finding.span.line
                span = structs.replace(finding.span, path=path, line=line, end_line=finding.span.end_line + moved)
                there = structs.replace(finding, span=span, root=f"{path}:{line}")
                return judge(seen, [there], read_source).judged[0].verdict is Verdict.REFUTED
            case Break() as broken:
                return any((item.path, item.line, item.gb) == (path, line, broken.gb) for item in seen.breaks)


def cases(job: Job, report: TargetReport) -> Iterator[Case]:
    for item in report.judged:
        if item.verdict is Verdict.REFUTED:
            yield Case(job, item.finding, f"{item.finding.message} ({item.evidence})")
    for broken in report.unpredicted:
        yield Case(job, broken, f"{broken.gb or 'no GB id'} {broken.gb_type}")


def record(pool: Pool, jobs: Sequence[Job], reports: Sequence[TargetReport], folder: Path, read: Read) -> None:
    """A file for each case, named after what it is and where; `read` gives the source of a path."""
    folder.mkdir(parents=True, exist_ok=True)
    found = [case for job, report in zip(jobs, reports, strict=False) for case in cases(job, report)]
    with TemporaryDirectory(prefix="fullgraph-") as scratch:
        tried = [_attempt(case, Path(scratch, str(number)), read) for number, case in enumerate(found)]
        seen = iter(list(pool.observe([job for job, _ in filter(None, tried)])))
        for case, attempt in zip(found, tried, strict=True):
            snippet = None
            if attempt and (observed := next(seen, None)):
                job, snippet = attempt
                if not case.shows(observed, job.target.path.as_posix(), snippet.line):
                    snippet = None
            name = f"{case.kind}-{Path(case.path).stem}-{case.line}-{(*case.codes, *case.gb, 'break')[0]}.yaml"
            (folder / name).write_text(_text(case, snippet, read), encoding="utf-8")


def _attempt(case: Case, folder: Path, read: Read) -> tuple[Job, Snippet] | None:
    """A job for the smaller program, if the case lies in the target's own file and that can be cut down."""
    target = case.job.target
    if not isinstance(target.program, Script | Object) or Path(case.path).absolute() != target.path:
        return None
    if (snippet := cut(read(case.path), case.line)) is None:
        return None
    folder.mkdir()
    file = folder / target.path.name
    file.write_text(snippet.code, encoding="utf-8")
    match target.program:
        case Script() as script:
            program: Script | Object = replace(script, path=file, shown=str(file))
        case Object() as wanted:
            program = replace(wanted, path=file, module=None)
    return replace(case.job, target=Target(target.text, program), roots=(*case.job.roots, folder)), snippet


def _text(case: Case, snippet: Snippet | None, read: Read) -> str:
    """A part of a rule's file; a refuted finding is an example of what is good."""
    shown = snippet or Snippet(read(case.path), case.line)
    bad = case.kind == "unpredicted"
    mark = next(iter(case.codes), "FG???")
    code = shown.marked(mark) if bad else shown.code
    how = (
        f"cut out of {case.path} and compiled once more" if snippet else f"all of {case.path}: it could not be cut down"
    )
    lines = [f"# {case.kind}: {case.path}:{case.line}: {case.said}", f"# {how}; the line is {shown.line}"]
    lines += [f"gb: [{', '.join(case.gb)}]", f"{'bad' if bad else 'good'}:", "  - code: |"]
    lines += [f"      {line}".rstrip() for line in code.splitlines()]
    if isinstance(program := case.job.target.program, Object):
        given = ", ".join(map(json.dumps, case.job.settings.inputs))
        lines.append(f"    # {program.qualname} was called with [{given}]")
    return "\n".join(lines) + "\n"
