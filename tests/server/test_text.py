"""Columns in the client's units, changes by range, and what of a check still holds for a later text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lsprotocol.types import Position, PositionEncodingKind, Range

from fullgraph.server.checked import Shift
from fullgraph.server.text import ENCODINGS, Columns, Text

LINE = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r\n"), max_size=12)
CODECS = {
    PositionEncodingKind.Utf8: "utf-8",
    PositionEncodingKind.Utf16: "utf-16-le",
    PositionEncodingKind.Utf32: "utf-32-le",
}


@given(LINE, st.sampled_from([*ENCODINGS]), st.data())
def test_columns_are_translated_there_and_back(line: str, encoding: PositionEncodingKind, data: st.DataObject) -> None:
    column = data.draw(st.integers(0, len(line)))
    columns = ENCODINGS[encoding]
    assert columns.units(line, column) * columns.size == len(line[:column].encode(CODECS[encoding]))
    assert columns.column(line, columns.units(line, column)) == column


def test_a_column_within_a_character_or_beyond_the_line_is_brought_into_it() -> None:
    columns = Columns()
    assert columns.column("a😀b", 2) == 1
    assert columns.column("a😀b", 99) == 3
    assert columns.column("ab", 99) == 2


@given(st.lists(st.tuples(LINE, st.sampled_from(["\n", "\r\n", "\r"])), max_size=5), LINE, st.data())
def test_a_change_replaces_just_its_range(rows: list[tuple[str, str]], text: str, data: st.DataObject) -> None:
    source = "".join(line + end for line, end in rows)
    before = Text(source)
    offsets = [i for i in range(len(source) + 1) if source[max(i - 1, 0) : i + 1] != "\r\n"]
    start, end = sorted((data.draw(st.sampled_from(offsets)), data.draw(st.sampled_from(offsets))))
    assert before.changed(before.range_between(start, end), text).source == source[:start] + text + source[end:]


@pytest.mark.parametrize("separator", ["\x0c", "\x0b", "\x1c", "\x85", "\u2028"])
def test_only_line_feeds_and_carriage_returns_end_lines(separator: str) -> None:
    text = Text(f"a{separator}b\nc")
    assert text.lines == [f"a{separator}b", "c"]
    assert text.changed(Range(Position(1, 0), Position(1, 1)), "d").source == f"a{separator}b\nd"


def test_half_a_character_is_replaced_by_one_as_wide() -> None:
    text = Text.received("a\ud83dx", Columns())
    assert text.source == "a�x"
    assert text.content == "a�x".encode()


def test_the_content_is_in_the_encoding_that_the_text_declares() -> None:
    assert Text("# coding: latin-1\nä").content.endswith(b"\xe4")
    assert Text("# coding: nonsense\nä").content.endswith("ä".encode())


@pytest.mark.parametrize(
    ("old", "new", "moved"),
    [
        ("abc", "abc", [1, 2, 3]),
        ("abc", "xabc", [2, 3, 4]),
        ("abc", "axbc", [1, 3, 4]),
        ("abc", "axc", [1, None, 3]),
        ("abc", "ac", [1, None, 2]),
        ("aab", "ab", [1, None, 2]),
        ("abc", "", [None, None, None]),
        ("abc", "xyz", [None, None, None]),
    ],
)
def test_lines_that_stay_are_found_where_they_have_moved_to(old: str, new: str, moved: list[int | None]) -> None:
    shift = Shift.between([*old], [*new])
    assert [lines and lines[0] for number in (1, 2, 3) for lines in [shift.lines(number, number)]] == moved
