"""Findings → their files with a suppression comment at each of them: where to begin with code that has many."""

from __future__ import annotations

import io
import tokenize
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from .apply import PASSES, Contents, Outcome, edited, rows_of
from .findings import CheckReport, Edit, Finding, Span
from .suppress import Comment, suppressions

STRING_STARTS = {getattr(tokenize, name, None) for name in ("FSTRING_START", "TSTRING_START")}
STRING_ENDS = {getattr(tokenize, name, None) for name in ("FSTRING_END", "TSTRING_END")}


def ignore_all(
    first: CheckReport, check: Callable[[Contents], CheckReport], wanted: Callable[[Finding], bool]
) -> Outcome:
    """Comment on the findings of `first` that are `wanted`; `check` says what is found in changed files.

    Done again until nothing is left, as there may be more on a line than one check tells.
    """
    report = first
    before: dict[str, bytes] = {}
    after: dict[str, bytes] = {}
    added = 0
    for _ in range(PASSES):
        by_path: defaultdict[str, list[Finding]] = defaultdict(list)
        for finding in filter(wanted, report.findings):
            by_path[finding.span.path].append(finding)
        if not by_path:
            break
        for path, findings in by_path.items():
            before.setdefault(path, Path(path).read_bytes())
            after[path] = commented(path, after.get(path, before[path]), findings)
            added += len(findings)
        report = check(after)
    changed = ((path, before[path], source) for path, source in sorted(after.items()))
    return Outcome(report, tuple(changed), added)


def commented(path: str, source: bytes, findings: Iterable[Finding]) -> bytes:
    """The source with comments that hide these findings, which are in it."""
    rows = [row.rstrip("\r\n") for row in rows_of(source)[1]]
    text = "\n".join(rows)
    page = _Page(text)
    comments = {comment.line: comment for comment in suppressions(text).comments if comment.ours and comment.codes}
    codes: defaultdict[int, set[str]] = defaultdict(set)
    for finding in findings:
        codes[page.line_for(finding.span, comments)].add(finding.code)
    edits = [_edit(path, line, rows[line - 1], comments.get(line), found) for line, found in codes.items()]
    return edited(source, edits)


def _edit(path: str, line: int, row: str, comment: Comment | None, codes: set[str]) -> Edit:
    """At the end of the line, or among the codes of the comment that is there."""
    listed = ", ".join(sorted(codes))
    if comment is not None:
        column = comment.column + len(comment.text) - 1
        return Edit(path, (line, column), (line, column), f", {listed}")
    return Edit(path, (line, len(row.rstrip())), (line, len(row)), f"  # fullgraph: ignore[{listed}]")


@dataclass(init=False, slots=True)
class _Page:
    """Where comments can stand in a text."""

    free: set[int]
    """Lines that end outside of strings and without a backslash."""
    statements: list[tuple[int, int]]
    """First and last line of each simple statement or compound header."""

    def __init__(self, text: str) -> None:
        self.free, self.statements = set(), []
        first = inside = 0
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            inside += (token.type in STRING_STARTS) - (token.type in STRING_ENDS)
            line = token.start[0]
            if token.type in (tokenize.NL, tokenize.NEWLINE) and not inside:
                self.free.add(line)
            if token.type == tokenize.NEWLINE:
                self.statements.append((first, line))
                first = 0
            elif token.type not in (tokenize.NL, tokenize.COMMENT, tokenize.INDENT, tokenize.DEDENT) and not first:
                first = line

    def line_for(self, span: Span, comments: Mapping[int, Comment]) -> int:
        """A line whose comment counts for the span: one that has such a comment, else its first that can have one."""
        lines = [line for line in range(span.line, span.end_line + 1) if line in self.free]
        for first, last in self.statements:
            if first <= span.line <= last:
                lines += [line for line in (first, last) if line in self.free]
        return next((line for line in lines if line in comments), lines[0])
