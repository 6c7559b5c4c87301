"""The text report: what is shown of a target, what of it is cut, and that lines and table count the same."""

from __future__ import annotations

from dataclasses import replace

import click
import pytest

from fullgraph.jit.emit_text import render
from fullgraph.jit.events import Break, BreakKind, Called, Mismatch, Observation, Recompile, Status
from fullgraph.jit.merge import merged
from fullgraph.jit.targets import FailOn
from fullgraph.jit.verify import Basis, Judged, TargetReport, exit_code
from fullgraph.lint.findings import Confidence, Effect, Finding, Severity, Span, Verdict


def finding(line: int, severity: Severity = Severity.WARNING) -> Finding:
    return Finding(
        code="FG201",
        rule="tensor-item",
        span=Span("m.py", line, 4, line, 9),
        function="f",
        message="`x.item()` reads a tensor's value",
        advice="keep it a tensor",
        effect=Effect.GRAPH_BREAK,
        severity=severity,
        cause=None,
        confidence=Confidence.CERTAIN,
        modes=(),
    )


BREAK = Break(
    1, BreakKind.GRAPH_BREAK, "m.py", 7, 4, 9, "f", "why", "GB0059", "print", "m.py:7", "GB0059", hints=("do not", "or")
)
CONFIRMED = Judged(finding(5), Verdict.CONFIRMED, "GB0124: graph break, 3 times", Basis(traced=True))
MISSED = Judged(finding(6), Verdict.NOT_REACHED, "not traced", Basis(traced=False))


def recompile(frame: str, guard: str, variation: str = "") -> Recompile:
    return Recompile(frame, "m.py", 3, "f", (f"{frame}: {guard} 2", f"{frame}: {guard}"), variation=variation)


def report(*judged: Judged, **seen: object) -> TargetReport:
    observation = replace(Observation("m.py", Status.OK, None), **seen)  # type: ignore[arg-type]
    return TargetReport(observation, judged, observation.breaks, ())


def lines(*reports: TargetReport, notes: bool = False, width: int | None = None) -> list[str]:
    return click.unstyle(render(reports, notes, width)).splitlines()


def test_what_is_true_comes_with_what_to_do() -> None:
    shown = lines(report(CONFIRMED, MISSED, breaks=(replace(BREAK, count=2),), remarks=("x: f32[2]",)))
    assert shown[:8] == [
        "m.py: 0 graphs, 0 operators",
        "  note         x: f32[2]",
        "  confirmed    m.py:5:5: FG201 (GB0124: graph break, 3 times) `x.item()` reads a tensor's value",
        "               = help: keep it a tensor",
        "  not reached  m.py:6:5: FG201 (not traced) `x.item()` reads a tensor's value",
        "  unpredicted  m.py:7:5: GB0059 print, 2 times",
        "               = help: do not",
        "",
    ]


def test_lines_are_cut_to_a_terminal_only() -> None:
    reports = report(replace(CONFIRMED, evidence="because " * 60))
    assert max(map(len, lines(reports))) > 400
    cut = lines(reports, width=60)
    assert max(map(len, cut[:-2])) == 60
    assert cut[1].endswith("…")


def test_many_lines_of_one_kind_are_cut_short_and_counted() -> None:
    shown = lines(report(*[MISSED] * 25))
    assert sum(line.startswith("  not reached") for line in shown) == 20
    assert "               and 5 more; --output-format json shows all" in shown


def test_what_a_failed_program_did_not_reach_is_one_line() -> None:
    output = ("Traceback", "one", "two", "three", "", "ValueError: no")
    shown = lines(
        report(CONFIRMED, MISSED, MISSED, status=Status.FAILED, detail="ValueError: no (m.py:3)", output=output)
    )
    assert shown[1:6] == [
        "  failed: ValueError: no (m.py:3)",
        "  | one",
        "  | two",
        "  | three",
        "  not reached  2 findings: the program did not come to its end",
    ]
    assert shown[6].startswith("  confirmed ")
    assert len([line for line in shown if "not reached  " in line]) == 2, "and the table"


def test_notes_are_counted_if_they_are_not_shown() -> None:
    note = Judged(finding(8, Severity.NOTE), Verdict.REFUTED, "traced without a break", Basis(traced=True))
    assert "  notes        1 finding of no consequence; --notes shows what they are" in lines(report(note, CONFIRMED))
    assert [line for line in lines(report(note), notes=True) if line.startswith("  refuted")]


def test_recompiles_add_up_to_the_number_in_the_table() -> None:
    recompiles = (
        recompile("0/1", "n == 1"),
        recompile("0/2", "n == 1"),
        recompile("1/1", "m == 1"),
        recompile("0/3", "x size mismatch. expected 2, actual 3", "batch"),
        recompile("0/4", "k == 2", "scalars: k"),
        recompile("0/5", "k == 2", "scalars: k"),
    )
    calls = (
        Called(1, "", ""),
        Called(2, "batch", "2 → 3"),
        Called(3, "batch", "2 → 4"),
        Called(4, "scalars: k", "2 → 3"),
        Called(5, "scalars: k", "2 → 4"),
        Called(6, "seq", "4 → 5", "RuntimeError: no"),
        Called(7, "strides", "other"),
    )
    shown = lines(report(recompiles=recompiles, calls=calls))
    assert shown[1:8] == [
        "  recompiled   m.py:3: f 2 times; failed guard: n == 1 2",
        "  recompiled   m.py:3: f 1 time; failed guard: m == 1 2",
        "  varied       batch: 2 → 3, 4: 2 calls, only 1 recompile of m.py:3: f; "
        "failed guard: x size mismatch. expected 2, actual 3",
        "  varied       scalars: k: 2 → 3, 4: 2 calls, 2 recompiles of m.py:3: f; failed guard: k == 2",
        "  varied       seq: 4 → 5: cannot be called so: RuntimeError: no",
        "  varied       strides: other: nothing was compiled again",
        "",
    ]
    assert shown[-1].split()[-1] == "6"


def test_a_guard_that_tells_no_value_is_shown_with_the_one_that_came() -> None:
    known = replace(recompile("0/1", "n == 1"), mismatches=(Mismatch("n == 1 2", "1", "2"), Mismatch("", None, None)))
    assert lines(report(recompiles=(known,)))[1].endswith("failed guard: n == 1 2, but it is 2")


@pytest.mark.parametrize(
    ("what", "codes"),
    [
        (FailOn.ANY, [0, 1, 1, 1]),
        (FailOn.CONFIRMED, [0, 1, 0, 0]),
        (FailOn.UNPREDICTED, [0, 0, 1, 0]),
        (FailOn.RECOMPILE, [0, 0, 0, 1]),
    ],
)
def test_what_makes_a_verification_fail(what: FailOn, codes: list[int]) -> None:
    again = replace(report(), recompiling=((recompile("0/1", "n == 1"),),))
    cases = (report(MISSED), report(CONFIRMED), report(breaks=(BREAK,)), again)
    assert [exit_code([case], what) for case in cases] == codes
    assert exit_code([report(status=Status.FAILED)], what) == 2


def test_two_runs_of_a_target_become_one() -> None:
    first = Observation("m.py", Status.OK, None, breaks=(BREAK,), remarks=("a",), reused=frozenset({"0"}))
    elsewhere = replace(BREAK, line=3)
    second = replace(first, status=Status.FAILED, detail="no", breaks=(elsewhere, BREAK), remarks=("a", "b"))
    both = merged(first, second, "twice")
    assert (both.status, both.detail, [item.line for item in both.breaks]) == (Status.FAILED, "no", [3, 7])
    assert both.remarks == ("a", "twice", "b")
    assert merged(second, first, "twice").detail == "no"
