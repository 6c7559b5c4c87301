"""Suppression comments: a file's text becomes `Suppressions`, which say what `# fullgraph: ignore[FG101]` and
`# noqa: FG101` hide.
"""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass

from .findings import Span
from .vocabulary import SUPPRESSING

OURS = re.compile(r"#\s*fullgraph:\s*ignore(?:\s*\[(?P<codes>[^\]]*)\])?", re.IGNORECASE)
NOQA = re.compile(r"#\s*noqa(?::\s*(?P<codes>[A-Z]+[0-9]*(?:[,\s]+[A-Z]+[0-9]+)*))?", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Comment:
    """One suppression comment; `codes` None means every code."""

    line: int
    column: int
    text: str
    """As written, without what follows the codes."""
    codes: tuple[str, ...] | None
    ours: bool
    """`# fullgraph: ignore` rather than `# noqa`, whose codes may be another tool's."""

    def names(self, code: str) -> bool:
        return self.codes is None or code.startswith(self.codes)


@dataclass(frozen=True, slots=True)
class Suppressions:
    """The suppression comments of one file and the lines of the statements they stand in."""

    comments: tuple[Comment, ...] = ()
    statements: tuple[tuple[int, int], ...] = ()
    """First and last line of each simple statement or compound header that has a suppression comment."""

    def hide(self, code: str, span: Span) -> bool:
        return any(self.hiding(code, span))

    def hiding(self, code: str, span: Span) -> Iterator[Comment]:
        """A comment counts on any line of the span, and on the first and last line of the statement around it."""
        lines = set(range(span.line, span.end_line + 1))
        for first, last in self.statements:
            if first <= span.line <= last:
                lines |= {first, last}
        return (comment for comment in self.comments if comment.line in lines and comment.names(code))


def suppressions(text: str) -> Suppressions:
    """Read the comments of a file; text without the words costs no tokenizing."""
    if not any(word in text.lower() for word in SUPPRESSING):
        return Suppressions()
    comments: list[Comment] = []
    statements: list[tuple[int, int]] = []
    first = commented = 0
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.COMMENT:
                found = [*_comments(token)]
                comments += found
                commented += len(found)
            elif token.type == tokenize.NEWLINE:
                if commented:
                    statements.append((first, token.start[0]))
                first = commented = 0
            elif token.type not in (tokenize.NL, tokenize.INDENT, tokenize.DEDENT) and not first:
                first = token.start[0]
                # Comments on lines of their own above a statement are not in it.
                commented = 0
    except (tokenize.TokenError, SyntaxError):
        # The file does not parse, which is reported as a finding; what was read until here still counts.
        pass
    return Suppressions(tuple(comments), tuple(statements))


def _comments(token: tokenize.TokenInfo) -> list[Comment]:
    found = []
    for pattern in (OURS, NOQA):
        for match in pattern.finditer(token.string):
            codes = match["codes"]
            words = None if codes is None else tuple(word.upper() for word in re.split(r"[,\s]+", codes) if word)
            line, column = token.start
            found.append(Comment(line, column + match.start(), match[0], words, pattern is OURS))
    return found
