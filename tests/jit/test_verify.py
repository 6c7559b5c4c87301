"""Findings meet events: which verdict each gets, and what remains unpredicted."""

from __future__ import annotations

from dataclasses import replace

import pytest
from msgspec import structs

from fullgraph.jit.events import (
    Break,
    BreakKind,
    Called,
    CallSite,
    Failure,
    Frame,
    Observation,
    Recompile,
    Status,
    Traced,
)
from fullgraph.jit.places import all_extents
from fullgraph.jit.targets import FailOn
from fullgraph.jit.verify import Basis, Stale, TargetReport, exit_code, judge, rules_for
from fullgraph.lint.findings import Confidence, Effect, Finding, Severity, Span, Verdict, When

SOURCE = """\
import torch

@torch.compile
def f(x):
    y = helper(x).item() + (
        x.sum().item()
    )
    if y > 0:
        return x
    for i in range(
        y
    ):
        x = x + i
    match y:
        case 1 if x.sum() > 0:
            x = x + 1
    return x
"""
FINDING = Finding(
    code="FG201",
    rule="tensor-item",
    span=Span("m.py", 5, 8, 5, 24),
    function="f",
    message="reads a value",
    advice="",
    effect=Effect.GRAPH_BREAK,
    severity=Severity.WARNING,
    cause=None,
    confidence=Confidence.CERTAIN,
    modes=(),
    gb=("GB0124",),
    root="m.py:5",
)
BREAK = Break(1, BreakKind.GRAPH_BREAK, "m.py", 5, 8, 24, "f", "", "GB0124", "Tensor.item", "m.py:5", "GB0124")
SEEN = Observation("m.py", Status.OK, None, traced=(Traced("0", "m.py", "f", all_extents(SOURCE)),))


def at(line: int, column: int = 0, end_column: int = 9, **changes: object) -> Finding:
    span = Span("m.py", line, column, line, end_column)
    return structs.replace(FINDING, span=span, root=f"m.py:{line}", **changes)  # type: ignore[arg-type]


def report(finding: Finding, **seen: object) -> TargetReport:
    return judge(replace(SEEN, **seen), [finding], lambda _: SOURCE)  # type: ignore[arg-type]


def verdict(finding: Finding, **seen: object) -> Verdict:
    return report(finding, **seen).judged[0].verdict


def test_a_break_at_the_place_confirms() -> None:
    seen = report(FINDING, breaks=(BREAK,))
    assert seen.judged[0].verdict is Verdict.CONFIRMED
    assert seen.judged[0].evidence == "GB0124: graph break"
    assert seen.unpredicted == ()


def test_a_break_where_the_call_itself_raises_is_nobodys_to_foresee() -> None:
    nobody = judge(replace(SEEN, breaks=(BREAK,), raised=CallSite("m.py", 6, "f")), [], lambda _: SOURCE)
    assert (nobody.observation.breaks, nobody.unpredicted) == ((BREAK,), ())
    assert nobody.observation.remarks == (
        "m.py:6 raises with these inputs, compiled or not: nobody had to foresee a break",
    )
    assert verdict(FINDING, breaks=(BREAK,), raised=CallSite("m.py", 5, "f")) is Verdict.CONFIRMED
    other = replace(BREAK, gb="GB0088", root_gb="GB0088")
    assert verdict(FINDING, breaks=(other,), raised=CallSite("m.py", 5, "f")) is Verdict.NOT_REACHED
    elsewhere = judge(replace(SEEN, breaks=(BREAK,), raised=CallSite("m.py", 8, "f")), [], lambda _: SOURCE)
    assert (elsewhere.observation.remarks, elsewhere.unpredicted) == ((), (BREAK,))


def test_a_verdict_names_what_it_rests_on() -> None:
    (judged,) = report(FINDING, breaks=(replace(BREAK, number=7),)).judged
    assert judged.basis == Basis(traced=True, breaks=(7,), frames=("0",))
    (judged,) = report(FINDING, traced=()).judged
    assert judged.basis == Basis(traced=False)


def test_the_rules_that_should_have_foreseen_a_break() -> None:
    assert "FG201" in rules_for(BREAK)
    assert "FG201" in rules_for(replace(BREAK, gb="GB7000"))
    assert rules_for(replace(BREAK, gb=None, root_gb=None)) == ()


@pytest.mark.parametrize(
    ("finding_line", "break_line"), [(5, 6), (6, 5), (10, 11), (11, 10), (14, 14), (15, 15), (3, 4), (4, 3)]
)
def test_lines_of_one_statement_or_header_are_one_place(finding_line: int, break_line: int) -> None:
    assert verdict(at(finding_line), breaks=(replace(BREAK, line=break_line),)) is Verdict.CONFIRMED


@pytest.mark.parametrize(("finding_line", "break_line"), [(8, 9), (10, 13), (14, 15), (15, 16), (4, 5), (9, 8)])
def test_a_header_does_not_include_its_body(finding_line: int, break_line: int) -> None:
    there = replace(BREAK, line=break_line, root=f"m.py:{break_line}")
    seen = report(at(finding_line), breaks=(there,))
    assert seen.judged[0].verdict is Verdict.REFUTED
    assert seen.unpredicted == (there,)


def test_the_cause_of_a_wrapping_break_confirms() -> None:
    wrapping = replace(BREAK, gb="GB7000", root_gb="GB0124", kind=BreakKind.SKIPPED_FRAME)
    assert verdict(FINDING, breaks=(wrapping,)) is Verdict.CONFIRMED


def test_a_break_inside_a_callee_confirms_what_names_it_as_the_root() -> None:
    inside = replace(BREAK, path="other.py", line=2, root="other.py:2")
    assert verdict(structs.replace(FINDING, root="other.py:2"), breaks=(inside,)) is Verdict.CONFIRMED
    assert verdict(FINDING, breaks=(inside,)) is Verdict.REFUTED


def test_another_break_in_the_same_statement_does_not_confirm() -> None:
    other = replace(BREAK, gb="GB0059", root_gb="GB0059", column=27, end_column=30)
    seen = report(FINDING, breaks=(other,))
    assert seen.judged[0].verdict is Verdict.REFUTED
    assert seen.judged[0].evidence == "broke for another reason, GB0059"
    assert seen.unpredicted == (other,)


def test_the_same_expression_breaking_under_another_id_confirms() -> None:
    assert verdict(FINDING, breaks=(replace(BREAK, gb="GB0059", root_gb="GB0059"),)) is Verdict.CONFIRMED


def test_a_second_break_of_a_confirmed_statement_is_not_news() -> None:
    second = replace(BREAK, number=2, gb="GB0142", column=40, end_column=50)
    assert report(FINDING, breaks=(BREAK, second)).unpredicted == ()


def test_a_compile_error_confirms() -> None:
    failure = Failure("TorchRuntimeError", "m.py", 6, "f", "sizes differ")
    assert verdict(structs.replace(FINDING, effect=Effect.USER_ERROR), failures=(failure,)) is Verdict.CONFIRMED


def test_an_expression_that_was_left_out_on_a_traced_line_was_not_reached() -> None:
    elsewhere = tuple(extent for extent in all_extents(SOURCE) if extent.line != 15 or extent.column < 15)
    finding = structs.replace(FINDING, span=Span("m.py", 15, 18, 15, 29), root="m.py:15")
    assert verdict(finding) is Verdict.REFUTED
    assert verdict(finding, traced=(Traced("0", "m.py", "f", elsewhere),)) is Verdict.NOT_REACHED


def test_what_compiles_to_nothing_of_its_own_counts_with_its_statement() -> None:
    assert verdict(structs.replace(FINDING, span=Span("m.py", 5, 4, 5, 5))) is Verdict.REFUTED


def test_a_traced_line_without_event_refutes_and_an_untraced_one_was_not_reached() -> None:
    assert verdict(FINDING) is Verdict.REFUTED
    assert verdict(FINDING, traced=()) is Verdict.NOT_REACHED


RECOMPILES = tuple(Recompile(f"0/{number}", "m.py", 3, "f", ("n == 1",)) for number in (1, 2))
RECOMPILING = structs.replace(FINDING, effect=Effect.RECOMPILE)


def test_repeated_recompiles_of_the_function_confirm() -> None:
    assert verdict(RECOMPILING, recompiles=RECOMPILES) is Verdict.CONFIRMED


def test_a_recompile_rests_on_the_frames_compiled_again() -> None:
    (judged,) = report(RECOMPILING, recompiles=RECOMPILES).judged
    assert judged.basis == Basis(traced=True, frames=("0/1", "0/2"))


def test_the_limit_confirms_at_once() -> None:
    assert verdict(RECOMPILING, recompiles=(replace(RECOMPILES[0], limit_hit=True),)) is Verdict.CONFIRMED


def test_guards_made_in_another_function_do_not_confirm() -> None:
    elsewhere = tuple(replace(item, guard_sites=(CallSite("m.py", 40, "g"),)) for item in RECOMPILES)
    own = tuple(replace(item, guard_sites=(CallSite("m.py", 8, "f"),)) for item in RECOMPILES)
    assert verdict(RECOMPILING, recompiles=elsewhere) is Verdict.NOT_REACHED
    assert verdict(RECOMPILING, recompiles=own) is Verdict.CONFIRMED


def test_a_recompile_is_refuted_only_by_a_call_that_needed_no_compilation() -> None:
    assert verdict(RECOMPILING, recompiles=RECOMPILES[:1]) is Verdict.NOT_REACHED
    assert verdict(RECOMPILING, recompiles=RECOMPILES[:1], reused=frozenset({"0"})) is Verdict.REFUTED
    assert verdict(RECOMPILING, reused=frozenset({"7"})) is Verdict.NOT_REACHED


def test_a_recompile_is_not_refuted_as_long_as_its_cause_did_not_vary() -> None:
    again = {"reused": frozenset({"0"})}
    (judged,) = report(RECOMPILING, **again).judged
    assert (judged.verdict, judged.evidence) == (Verdict.NOT_REACHED, "not seen to vary")
    assert verdict(RECOMPILING, **again, varied=frozenset({("0", "L['other']")})) is Verdict.NOT_REACHED
    (judged,) = report(RECOMPILING, **again, varied=frozenset({("0", "L['x'].size()[0]")})).judged
    assert (judged.verdict, judged.evidence) == (Verdict.REFUTED, "L['x'].size()[0] varied without compiling again")


def test_a_scalar_that_is_varied_and_not_guarded_refutes() -> None:
    again = {"reused": frozenset({"0"})}
    finding = structs.replace(RECOMPILING, span=Span("m.py", 5, 8, 5, 17))
    calls = (Called(1, "", ""), Called(2, "scalars: x", "1 → 2"))
    (judged,) = report(finding, **again, calls=calls).judged
    assert (judged.verdict, judged.evidence) == (Verdict.REFUTED, "x varied without compiling again")
    other = (Called(2, "scalars: y", "1 → 2"),)
    failed = (Called(2, "scalars: x", "1 → 2", "TypeError"),)
    compiled = (replace(RECOMPILES[0], frame="9/1", variation="scalars: x"),)
    assert verdict(finding, **again, calls=other) is Verdict.NOT_REACHED
    assert verdict(finding, **again, calls=failed) is Verdict.NOT_REACHED
    assert verdict(finding, **again, calls=calls, recompiles=compiled) is Verdict.NOT_REACHED


def test_what_is_said_to_happen_once_is_confirmed_by_one_recompile() -> None:
    note = structs.replace(RECOMPILING, severity=Severity.NOTE)
    (judged,) = report(note, recompiles=RECOMPILES[:1], reused=frozenset({"0"})).judged
    assert (judged.verdict, judged.evidence) == (Verdict.CONFIRMED, "compiled again 1 time; failed guard: n == 1")


@pytest.mark.parametrize(
    ("rule", "guard", "expected"),
    [
        ("inputs-vary", "tensor 'x' dtype mismatch. expected Float, actual Int", Verdict.CONFIRMED),
        ("inputs-vary", "tensor 'x' size mismatch at index 0. expected 2, actual 3", Verdict.NOT_REACHED),
        ("sizes-take-turns", "tensor 'x' size mismatch at index 0. expected 2, actual 3", Verdict.CONFIRMED),
        ("sizes-take-turns", "GLOBAL_STATE changed: grad_mode", Verdict.NOT_REACHED),
    ],
)
def test_findings_about_calls_are_judged_by_the_guards_that_fail_below_them(
    rule: str, guard: str, expected: Verdict
) -> None:
    finding = structs.replace(at(1, 0, 12, effect=Effect.RECOMPILE), rule=rule)
    stack = (CallSite("m.py", 20, "<module>"),)
    frame = Frame("0/0", "m.py", 3, "f", graphs=1, ops=1, compile_s=0.1, stack=stack)
    recompiles = tuple(replace(item, failed_guards=(f"0/0: {guard}",), stack=stack) for item in RECOMPILES)
    body = tuple(extent for extent in all_extents(SOURCE) if extent.line > 4)
    seen = {"traced": (Traced("0", "m.py", "f", body),), "reused": frozenset({"0"})}
    assert verdict(finding, frames=(frame,), recompiles=recompiles, **seen) is expected
    inside = tuple(replace(item, stack=(CallSite("m.py", 9, "f"),)) for item in recompiles)
    elsewhere = (replace(frame, stack=(CallSite("m.py", 9, "f"),)),)
    assert verdict(finding, frames=elsewhere, recompiles=inside, **seen) is Verdict.NOT_REACHED


def test_a_break_of_the_other_mode_is_not_refuted() -> None:
    def ran(training: bool | None) -> Verdict:
        traced = tuple(replace(item, training=training) for item in SEEN.traced)
        return verdict(structs.replace(FINDING, when=When(training=True)), traced=traced)

    assert (ran(True), ran(False), ran(None)) == (Verdict.REFUTED, Verdict.NOT_REACHED, Verdict.NOT_REACHED)


def test_what_is_stale_counts_as_unpredicted() -> None:
    stale = replace(report(FINDING), stale=(Stale("f", "m.py", 3, 2),))
    assert [exit_code([stale], on) for on in (FailOn.UNPREDICTED, FailOn.ANY, FailOn.CONFIRMED)] == [1, 1, 0]


@pytest.mark.parametrize("effect", [Effect.FROZEN_VALUE, Effect.PLACEMENT])
def test_what_one_run_cannot_show_is_not_claimed(effect: Effect) -> None:
    assert verdict(structs.replace(FINDING, effect=effect), breaks=(BREAK,)) is Verdict.NOT_REACHED


def test_a_file_that_cannot_be_parsed_is_joined_by_line() -> None:
    seen = judge(replace(SEEN, breaks=(BREAK,)), [FINDING], lambda _: "def (")
    assert seen.judged[0].verdict is Verdict.CONFIRMED


def test_exit_codes() -> None:
    note = structs.replace(FINDING, severity=Severity.NOTE)
    assert exit_code([report(FINDING)]) == 0
    assert exit_code([report(FINDING, breaks=(BREAK,))]) == 1
    assert exit_code([report(note, breaks=(BREAK,))]) == 0
    assert exit_code([report(at(17), breaks=(BREAK,))]) == 1
    assert exit_code([report(at(17), recompiles=RECOMPILES)]) == 1
    assert exit_code([report(at(17), recompiles=RECOMPILES[:1])]) == 0
    assert exit_code([report(FINDING, breaks=(BREAK,)), report(FINDING, status=Status.TIMEOUT)]) == 2
