"""Which findings a suppression comment hides."""

from __future__ import annotations

import pytest

from fullgraph.lint.findings import Span
from fullgraph.lint.suppress import suppressions


def hidden(text: str, line: int, code: str = "FG101", end_line: int | None = None) -> bool:
    return suppressions(text).hide(code, Span("m.py", line, 0, end_line or line, 1))


@pytest.mark.parametrize(
    "comment",
    [
        "# fullgraph: ignore",
        "#fullgraph:ignore",
        "# fullgraph: ignore[FG101]",
        "# fullgraph: ignore[FG2, FG1]",
        "# fullgraph: ignore [fg101] because it is measured",
        "# noqa",
        "# NOQA",
        "# noqa: FG101",
        "# noqa: E501, FG101",
        "# noqa:E501 FG101",
        "# noqa: E501  # fullgraph: ignore[FG101]",
        "# type: ignore # noqa: FG101",
    ],
)
def test_a_comment_hides_a_finding_on_its_line(comment: str) -> None:
    assert hidden(f"x = 1\ny = x.item()  {comment}\n", 2)
    assert not hidden(f"x = 1\ny = x.item()  {comment}\n", 1)


@pytest.mark.parametrize(
    "comment",
    [
        "# fullgraph: ignore[FG102]",
        "# fullgraph: ignore[]",
        "# noqa: E501",
        "# noqa: FG102",
        "# fullgraph ignores this",
        "'# noqa'",
    ],
)
def test_other_comments_and_strings_hide_nothing(comment: str) -> None:
    assert not hidden(f"y = x.item() or {comment}\n" if comment.startswith("'") else f"y = x.item()  {comment}\n", 1)


STATEMENT = """\
a = 1  # noqa
if (  # fullgraph: ignore[FG101]
    x.sum() > 0
    and y.sum() > 0  # fullgraph: ignore[FG102]
):  # fullgraph: ignore[FG103]
    z = x.item()
"""


@pytest.mark.parametrize(
    ("code", "line", "expected"),
    [
        ("FG101", 3, True),  # the statement's first line
        ("FG103", 3, True),  # the header's last line
        ("FG102", 4, True),  # the finding's own line
        ("FG102", 3, False),  # another line inside the statement
        ("FG101", 6, False),  # the body is another statement
        ("FG104", 3, False),
    ],
)
def test_a_comment_counts_on_the_first_and_last_line_of_the_statement(code: str, line: int, expected: bool) -> None:
    assert hidden(STATEMENT, line, code) is expected


def test_a_comment_counts_on_every_line_of_the_finding() -> None:
    assert hidden(STATEMENT, 3, "FG102", end_line=4)


def test_a_comment_above_a_statement_does_not_belong_to_it() -> None:
    assert not hidden("# noqa\n\ny = x.item()\n", 3)


def test_comments_before_a_syntax_error_still_count() -> None:
    assert hidden("y = x.item()  # noqa\nz = (\n", 1)


def test_a_text_without_the_words_has_no_suppressions() -> None:
    assert suppressions("y = (") == suppressions("")
