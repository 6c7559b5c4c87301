"""The suppression comments of a check's files: which findings they hide, and findings about those that hide nothing."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

from .config import Config
from .discover import lexically_absolute
from .findings import Cause, Confidence, Edit, Effect, Finding, Fix, Severity, Span, When
from .project import Project
from .ruleset import RuleSet
from .source import SourceFile, display
from .suppress import Comment, Suppressions, suppressions

UNUSED = "FG902"
OWN = "FG9"
"""What the tool says of itself is about no compiled code, so that no comment is judged by it."""

Part = tuple[str, int | None]
"""A file (absolute), or a cell of a notebook."""


class Comments:
    """Reads a file's comments when they are asked about; `passed` is all that was found, hidden or not."""

    def __init__(self, project: Project, passed: Iterable[tuple[str, Span]]) -> None:
        self._project = project
        self._passed = passed
        self._read: dict[Part, Suppressions] = {}

    def hide(self, code: str, span: Span) -> bool:
        return self._of(_part(span)).hide(code, span)

    def _of(self, part: Part) -> Suppressions:
        if part not in self._read:
            path, cell = part
            self._read[part] = suppressions(self._project.source(path).text_of(cell))
        return self._read[part]

    def unused(self, paths: Iterable[str], config: Config, rules: RuleSet) -> Iterator[Finding]:
        """A finding for each comment in these files that hides nothing, or some of whose codes do, with its fix."""
        hidden: defaultdict[tuple[Part, Comment], set[str]] = defaultdict(set)
        for code, span in self._passed:
            for comment in self._of(_part(span)).hiding(code, span):
                hidden[_part(span), comment].add(code)
        for path in paths:
            if path in self._project.problems or not config.enables(UNUSED, display(path)):
                continue
            source = self._project.source(path).settled()
            for cell in dict.fromkeys(cell.number for cell in source.cells) or (None,):
                part = (path, cell)
                for comment in self._of(part).comments:
                    unused = tuple(_unused(comment, hidden[part, comment], config, rules, display(path)))
                    span = _span(comment, display(path), cell)
                    if unused and not _hidden(self._of(part), span):
                        yield self._finding(source, comment, span, unused, rules)

    def _finding(
        self, source: SourceFile, comment: Comment, span: Span, unused: tuple[str, ...], rules: RuleSet
    ) -> Finding:
        rule = rules.every[UNUSED]
        whole = comment.codes is None or set(unused) == set(comment.codes)
        what = f"`{comment.text}`" if whole else f"{' and '.join(unused)} in `{comment.text}`"
        fixes = () if span.cell is not None else (_removal(source, comment, span.path, unused, whole),)
        function = self._function(source.path, comment.line) if span.cell is None else "<module>"
        return Finding(
            code=rule.code,
            rule=rule.name,
            span=span,
            function=function,
            message=rule.message.replace("{source}", what),
            advice=rule.advice,
            effect=Effect(rule.effect),
            severity=Severity(rule.severity),
            cause=Cause.USER_ERROR,
            confidence=Confidence.CERTAIN,
            modes=(),
            when=When(),
            root=span.start,
            fixes=fixes,
        )

    def _function(self, path: str, line: int) -> str:
        module = self._project.load(path)
        for symbol in () if module is None else module.symbols():
            first, _, last, _ = symbol.module.settle((symbol.extent[0], 0, symbol.extent[1], 0))
            if first <= line <= last:
                return symbol.qualname
        return "<module>"


def _part(span: Span) -> Part:
    return str(lexically_absolute(Path(span.path))), span.cell


def _span(comment: Comment, path: str, cell: int | None) -> Span:
    return Span(path, comment.line, comment.column, comment.line, comment.column + len(comment.text), cell)


def _hidden(all_: Suppressions, span: Span) -> bool:
    """Only a comment that asks for just this hides it: one that names every code would hide that it is unused."""
    return any(comment.codes is not None for comment in all_.hiding(UNUSED, span))


def _unused(comment: Comment, hidden: set[str], config: Config, rules: RuleSet, path: str) -> Iterator[str]:
    """The comment's codes that hide nothing although their rules were looked for; `*` stands for all of them."""
    if comment.codes is None:
        if comment.ours and not hidden and _looked_for("", config, rules, path):
            yield "*"
        return
    for code in comment.codes:
        ours = comment.ours or code in rules.every  # other tools have codes and prefixes of their own
        if ours and not any(each.startswith(code) for each in hidden) and _looked_for(code, config, rules, path):
            yield code


def _looked_for(prefix: str, config: Config, rules: RuleSet, path: str) -> bool:
    named = [code for code in rules.every if code.startswith(prefix) and not code.startswith(OWN)]
    return all(config.enables(code, path) for code in named) and any(code in rules.hold for code in named)


def _removal(source: SourceFile, comment: Comment, path: str, unused: tuple[str, ...], whole: bool) -> Fix:
    """What stands before and after the comment on its line stays: code, another tool's comment, a remark."""
    row = source.lines[comment.line - 1]
    start, end = comment.column, comment.column + len(comment.text)
    rest = row[end:].strip()
    text = ""
    if not whole:
        text = _without(comment.text, unused)
    elif rest.startswith("#"):
        end = len(row) - len(row[end:].lstrip())
    elif rest:
        text, end = "# ", len(row) - len(row[end:].lstrip())
    else:
        start, end = len(row[:start].rstrip()), len(row)
    line = comment.line
    alone = start == 0 and end == len(row) and not text
    first, last = ((line, 0), (line + 1, 0)) if alone else ((line, start), (line, end))
    title = "remove the comment" if whole else f"remove {', '.join(unused)} from the comment"
    return Fix(title, "safe", (Edit(path, first, last, text),))


def _without(comment: str, codes: tuple[str, ...]) -> str:
    """The comment's text less some of its codes and the separators around them."""
    for code in codes:
        comment = re.sub(rf"\b{code}\b[,\s]*", "", comment, flags=re.IGNORECASE)
    return re.sub(r"[,\s]+(?=\]?$)", "", comment)
