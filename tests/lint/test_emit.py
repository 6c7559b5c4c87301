"""What people and programs read: the text, concise and JSON forms of a report."""

from __future__ import annotations

import json
from pathlib import Path

import click
import jsonschema
import pytest
from msgspec.structs import replace

from fullgraph.lint.emit import concise, text
from fullgraph.lint.emit import json as json_output
from fullgraph.lint.emit.look import WIDTH
from fullgraph.lint.findings import (
    Cause,
    CheckReport,
    Confidence,
    Edit,
    Effect,
    Entry,
    Finding,
    Fix,
    Severity,
    Span,
    When,
)

SCHEMA = Path(__file__).parents[2] / "docs/schema/check.json"

FINDING = Finding(
    code="FG201",
    rule="tensor-item",
    span=Span("m.py", 3, 8, 3, 16),
    function="Block.forward",
    message="`x.item()` reads a tensor's value on the host",
    advice="keep it a tensor",
    effect=Effect.GRAPH_BREAK,
    severity=Severity.WARNING,
    cause=Cause.FUNDAMENTAL,
    confidence=Confidence.CERTAIN,
    modes=(("default", "breaks"), ("fullgraph", "captured")),
    when=When(training=True, given=("labels",), dtype="float16"),
    gb=("GB0124",),
    root="m.py:3",
    via=("Net.forward", "Block.forward"),
)
NOTE = replace(FINDING, code="FG801", span=Span("m.py", 1, 0, 1, 1), severity=Severity.NOTE)
REPORT = CheckReport(
    torch="2.13", entries=(Entry("m.py", "Net.forward", "decorator"),), findings=(NOTE, FINDING), files=4
)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write("def f(x):\n    if x:\n        x.item()\n")
    return tmp_path


def write(source: str) -> None:
    Path("m.py").write_text(source, encoding="utf-8")


def rendered(report: CheckReport = REPORT, notes: bool = False) -> str:
    return click.unstyle(text.render(report, notes))


def at(line: int, column: int, end_line: int, end_column: int) -> str:
    """The source part of the text for a finding at this span, without the margin."""
    finding = replace(FINDING, span=Span("m.py", line, column, end_line, end_column))
    lines = rendered(replace(REPORT, findings=(finding,))).splitlines()
    return "\n".join(line.partition("|")[2][1:] for line in lines if "|" in line[:4])[1:]


def test_the_text_shows_place_source_reason_and_advice() -> None:
    assert rendered() == (
        "m.py:3:9: FG201 [certain] `x.item()` reads a tensor's value on the host\n"
        "  |\n"
        "3 |         x.item()\n"
        "  |         ^^^^^^^^\n"
        "  = traced because: Net.forward → Block.forward; Net.forward is decorated with torch.compile\n"
        "  = holds: under default compile (fullgraph=True captures it), "
        "in training, when `labels` is passed, for float16\n"
        "  = help: keep it a tensor\n"
        "\n"
        "`fullgraph rules explain FG201` says more about a rule.\n"
        "1 finding in 1 of 4 files (1 note hidden, --notes shows them); 1 entry by decorator; judged for torch 2.13\n"
    )


def test_notes_are_shown_on_request_and_named() -> None:
    assert "m.py:1:1: FG801 [certain] note: `x.item()`" in rendered(notes=True)
    assert "2 findings in 1 of 4 files;" in rendered(notes=True)


def test_a_root_elsewhere_is_named() -> None:
    finding = replace(FINDING, root="helper.py:12")
    assert "  = root: helper.py:12\n" in rendered(replace(REPORT, findings=(finding,)))


@pytest.mark.parametrize(
    ("hows", "expected"),
    [
        ((), "nothing is compiled here (name an entry with --entry, or see --assume-compiled)"),
        (("assumed", "assumed"), "no compile call found: 2 functions assumed to be compiled"),
        (("call", "decorator", "call"), "3 entries by call and decorator"),
    ],
)
def test_the_summary_says_what_is_compiled(hows: tuple[str, ...], expected: str) -> None:
    entries = tuple(Entry("m.py", "f", how) for how in hows)
    assert rendered(replace(REPORT, entries=entries, findings=())).strip() == (
        f"no findings in 4 files; {expected}; judged for torch {REPORT.torch}"
    )


def test_a_span_over_lines_is_underlined_on_each() -> None:
    write("y = (a +\n     b)\n")
    assert at(1, 4, 2, 7) == "y = (a +\n    ^^^^\n     b)\n     ^^"


def test_a_long_span_is_cut() -> None:
    write("y = [\n" + "  1,\n" * 9 + "]\n")
    assert at(1, 4, 11, 1).splitlines()[-1] == "..."
    assert at(1, 4, 11, 1).count("1,") == 3


def test_tabs_and_wide_characters_keep_the_underline_in_place() -> None:
    write("\tz = '漢字' + x.item()\n")
    assert at(1, 12, 1, 20) == "    z = '漢字' + x.item()\n" + " " * 17 + "^" * 8


def test_combining_characters_take_no_cell() -> None:
    write("e\u0301 = x.item()\n")
    assert at(1, 5, 1, 13) == "e\u0301 = x.item()\n    ^^^^^^^^"


def test_a_long_line_is_cut_around_the_span() -> None:
    write("a = [" + "1, " * 500 + "x.item(), " + "2, " * 500 + "]\n")
    source, marks = at(1, 1505, 1, 1513).splitlines()
    assert source[marks.index("^") : marks.index("^") + 8] == "x.item()"
    assert len(source) <= WIDTH


def test_control_characters_do_not_reach_the_terminal() -> None:
    write("x = '\x1b[2J'; y.item()\n")
    assert "\x1b" not in at(1, 12, 1, 20)


@pytest.mark.parametrize("source", ["", "x\n", "\n\n\n"])
def test_a_file_that_changed_meanwhile_does_no_harm(source: str) -> None:
    write(source)
    assert "FG201" in rendered()
    Path("m.py").unlink()
    assert "FG201" in rendered()


def test_concise_is_one_line_a_finding() -> None:
    expected = "m.py:3:9: FG201 [certain] `x.item()` reads a tensor's value on the host\n"
    assert click.unstyle(concise.render(REPORT, notes=False)) == expected
    assert len(concise.render(REPORT, notes=True).splitlines()) == 2


def test_json_holds_everything_and_fits_its_schema() -> None:
    fix = Fix("use where", "safe", (Edit("m.py", (3, 8), (3, 16), "x"),))
    report = replace(REPORT, findings=(NOTE, replace(FINDING, fixes=(fix,))), remarks=("a remark",))
    document = json.loads(json_output.render(report))
    jsonschema.validate(document, json.loads(SCHEMA.read_text(encoding="utf-8")))
    assert document["schema"] == "fullgraph.check/1"
    assert document["entries"] == [{"path": "m.py", "qualname": "Net.forward", "how": "decorator"}]
    assert document["remarks"] == ["a remark"]
    note, finding = document["findings"]
    assert note["severity"] == "note"
    assert finding == {
        "code": "FG201",
        "rule": "tensor-item",
        "path": "m.py",
        "line": 3,
        "column": 8,
        "end_line": 3,
        "end_column": 16,
        "function": "Block.forward",
        "message": "`x.item()` reads a tensor's value on the host",
        "advice": "keep it a tensor",
        "effect": "graph-break",
        "severity": "warning",
        "cause": "fundamental",
        "confidence": "certain",
        "modes": {"default": "breaks", "fullgraph": "captured"},
        "when": {"training": True, "given": ["labels"], "dtype": "float16"},
        "gb": ["GB0124"],
        "root": "m.py:3",
        "via": ["Net.forward", "Block.forward"],
        "impact": {"loop": False, "where": None, "entries": 1, "callers": []},
        "fixes": [
            {
                "title": "use where",
                "safety": "safe",
                "edits": [{"path": "m.py", "start": [3, 8], "end": [3, 16], "text": "x"}],
            }
        ],
    }


def test_unset_conditions_are_null() -> None:
    document = json.loads(json_output.render(replace(REPORT, findings=(replace(FINDING, when=When(), cause=None),))))
    assert document["findings"][0]["when"] == {"training": None, "given": None, "dtype": None}
    assert document["findings"][0]["cause"] is None
