"""The text of a document: lines as the protocol and Python's parser count them, and columns as either counts them.

Findings count columns in code points, clients in the units of an encoding, UTF-16 unless they ask for another. Nothing
else in the server knows that these differ.
"""

from __future__ import annotations

import io
import re
import tokenize
from bisect import bisect_right
from dataclasses import dataclass
from functools import cached_property

from lsprotocol.types import Position, PositionEncodingKind, Range

from fullgraph.lint.findings import Span

END = re.compile("\r\n|\r|\n")


@dataclass(frozen=True, slots=True)
class Columns:
    """Translates columns within a line."""

    codec: str = "utf-16-le"
    size: int = 2
    """Bytes a unit."""

    def units(self, line: str, column: int) -> int:
        """Code points → units."""
        return column if line.isascii() else len(line[:column].encode(self.codec)) // self.size

    def column(self, line: str, units: int) -> int:
        """Units → code points, at most the line's length."""
        if line.isascii():
            return min(units, len(line))
        return len(line.encode(self.codec)[: units * self.size].decode(self.codec, errors="ignore"))


ENCODINGS = {
    PositionEncodingKind.Utf8: Columns("utf-8", 1),
    PositionEncodingKind.Utf16: Columns(),
    PositionEncodingKind.Utf32: Columns("utf-32-le", 4),
}


@dataclass(frozen=True)
class Text:
    """One state of a document."""

    source: str
    columns: Columns = Columns()

    @classmethod
    def received(cls, source: str, columns: Columns) -> Text:
        return cls(_whole(source), columns)

    @cached_property
    def lines(self) -> list[str]:
        """Without their ends."""
        return END.split(self.source)

    @cached_property
    def content(self) -> bytes:
        """What a file with this text holds: in the encoding that its first lines declare."""
        try:
            encoding, _ = tokenize.detect_encoding(io.BytesIO(self.source.encode()).readline)
        except SyntaxError:
            encoding = "utf-8"  # what is declared is no encoding, which will be a finding
        return self.source.encode(encoding, errors="replace")

    @property
    def line_end(self) -> str:
        found = END.search(self.source)
        return "\n" if found is None else found[0]

    def changed(self, range_: Range | None, text: str) -> Text:
        """The text with a range, or all of it, replaced."""
        if range_ is None:
            return Text.received(text, self.columns)
        start, end = self._offset(range_.start), self._offset(range_.end)
        return Text(self.source[:start] + _whole(text) + self.source[max(start, end) :], self.columns)

    @cached_property
    def _starts(self) -> list[int]:
        return [0, *(end.end() for end in END.finditer(self.source))]

    def _offset(self, position: Position) -> int:
        if position.line >= len(self.lines):
            return len(self.source)
        return self._starts[position.line] + self.columns.column(self.lines[position.line], position.character)

    def position(self, line: int, column: int) -> Position:
        """A finding's line, from 1, and column → the client's."""
        if line > len(self.lines):
            return Position(len(self.lines), 0)
        return Position(line - 1, self.columns.units(self.lines[line - 1], column))

    def range(self, start: tuple[int, int], end: tuple[int, int]) -> Range:
        return Range(self.position(*start), self.position(*end))

    def range_between(self, start: int, end: int) -> Range:
        """From and to an offset in the source."""
        places = [(bisect_right(self._starts, offset), offset) for offset in (start, end)]
        first, last = ((line, offset - self._starts[line - 1]) for line, offset in places)
        return self.range(first, last)

    def range_of(self, span: Span) -> Range:
        return self.range((span.line, span.column), (span.end_line, span.end_column))


def _whole(text: str) -> str:
    """Half a surrogate pair, which JSON can hold and a file cannot, is replaced by a character as wide."""
    if text.isascii():
        return text
    return text.encode("utf-16-le", errors="surrogatepass").decode("utf-16-le", errors="replace")
