"""Which findings a suppression comment hides."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from in_process import check

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


# comments that hide nothing

UNUSED = """\
import torch

@torch.compile
def f(x):
    a = x * 2  # fullgraph: ignore[FG301]
    b = x.sum().item()  # fullgraph: ignore[FG201, FG101]  because
    # fullgraph: ignore
    c = x  # type: ignore # noqa: FG101 as it is
    d = x  # noqa: E501, FG101, W292
    e = x  # noqa: FG101, E501
    print(x)  # fullgraph: ignore[FG3] # fmt: skip
    g = x  # fullgraph: ignore[FG1] # fmt: skip
    h = x  # fullgraph: ignore[FG4, FG902]
    return a, b, c, d, e, g, h  # noqa: F
"""
REMOVED = """\
import torch

@torch.compile
def f(x):
    a = x * 2
    b = x.sum().item()  # fullgraph: ignore[FG201]  because
    c = x  # type: ignore # as it is
    d = x  # noqa: E501, W292
    e = x  # noqa: E501
    print(x)  # fullgraph: ignore[FG3] # fmt: skip
    g = x  # fmt: skip
    h = x  # fullgraph: ignore[FG4, FG902]
    return a, b, c, d, e, g, h  # noqa: F
"""


def test_comments_that_hide_nothing_are_found_and_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("m.py").write_text(UNUSED)
    done = check("--output-format", "json")
    assert [(found["code"], found["line"], found["function"]) for found in json.loads(done.stdout)["findings"]] == [
        ("FG902", line, "f") for line in (5, 6, 7, 8, 9, 10, 12)
    ]
    assert "FG101 in `# noqa: E501, FG101, W292` hides no finding" in done.stdout
    assert check("--fix").exit_code == 0
    assert Path("m.py").read_text() == REMOVED


@pytest.mark.parametrize(
    "options",
    [
        ["--select", "FG1"],
        ["--select", "FG902,FG2"],
        ["--ignore", "FG301"],
        ["--ignore", "FG902"],
        ["--target-torch", "2.9"],
        ["--mode", "fullgraph"],
        ["--entry", "m.py::other"],
        ["--assume-compiled", "none"],
    ],
)
def test_a_comment_is_judged_only_where_its_rule_was_looked_for(
    options: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("m.py").write_text(
        "import torch\n\n@torch.compile\ndef f(x):\n    return x  # fullgraph: ignore[FG301]\n\ndef other(): pass\n"
    )
    assert "FG902" in check("--output-format", "concise").stdout
    assert check(*options).exit_code == 0


def test_what_a_file_left_out_may_need_a_comment_for_is_left_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A test may compile what nothing else does, and a call leads out of the files that are asked about."""
    monkeypatch.chdir(tmp_path)
    Path("helpers.py").write_text("def shout(x):\n    print(x)\n    return x\n")
    Path("m.py").write_text(
        "import torch\nfrom helpers import shout\n\n@torch.compile\ndef f(x):\n"
        "    return shout(x)  # fullgraph: ignore[FG301]\n\n"
        "def g(x):\n    return x.item()  # fullgraph: ignore[FG201]\n"
    )
    Path("test_m.py").write_text("import torch\nfrom m import g\n\ntorch.compile(g)(torch.ones(1))\n")
    assert check("m.py").exit_code == 0
    assert [line.split()[1] for line in check("--output-format", "concise").stdout.splitlines()] == ["FG301"]
