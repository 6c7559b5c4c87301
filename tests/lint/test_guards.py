"""The model of Dynamo's cache: which of a row of calls compile again, and why."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from fullgraph.lint.guards import COMPILER, MODE, Called, Cause, Guard, Kind, Place, recompiles, telling

CALL, BRANCH, LOOP = (Place("m.py", "f", (line, 0, line, 1)) for line in (1, 2, 3))


def call(*guards: Guard, x: int | None = None, n: int | None = None, kind: str = "Tensor", mode: str = "") -> Called:
    numbers = (("0.size(0)", x), ("n", n))
    inputs = (("0", kind), (MODE, mode))
    known = tuple((name, value) for name, value in numbers if value is not None)
    return Called(CALL, CALL, CALL, CALL, guards, inputs, known)


def of_backend(name: str) -> Called:
    return replace(call(), inputs=((COMPILER, name),))


def branch(outcome: bool) -> Guard:
    return Guard(Kind.BRANCH, BRANCH, outcome)


def kinds(*calls: Called, dynamic: bool | None = None) -> list[Kind]:
    return [cause.kind for cause in recompiles(calls, dynamic)]


def test_a_size_becomes_symbolic_once_it_has_changed() -> None:
    calls = [call(x=size) for size in (4, 5, 6, 7)]
    assert kinds(*calls) == [Kind.SIZES]
    assert kinds(*calls, dynamic=True) == []
    assert kinds(*calls, dynamic=False) == [Kind.SIZES] * 3


def test_another_backend_compiles_again_and_one_seen_before_does_not() -> None:
    assert kinds(*map(of_backend, ("a", "b", "c", "a", "b"))) == [Kind.COMPILER, Kind.COMPILER]
    assert kinds(of_backend("a"), call(), of_backend("b")) == [Kind.COMPILER]  # of the second nothing is known


def test_after_a_reset_nothing_compiles_again() -> None:
    fresh = [replace(call(x=size), resets=number) for number, size in enumerate((4, 5, 6))]
    assert kinds(*fresh) == kinds(*fresh, dynamic=False) == []
    assert kinds(*fresh, replace(call(x=7), resets=2), replace(call(x=8), resets=2)) == [Kind.SIZES]


def test_sizes_of_one_stay_apart_and_numbers_do_not() -> None:
    assert kinds(*(call(x=size) for size in (4, 5, 1, 6))) == [Kind.SIZES, Kind.SIZES]
    assert kinds(*(call(n=number) for number in (4, 5, 1, 6))) == [Kind.SIZES]


def test_sizes_take_turns() -> None:
    assert kinds(call(x=2, n=2), call(x=3, n=2), call(x=4, n=3), call(x=5, n=4)) == [Kind.SIZES, Kind.SIZES]


def test_a_version_made_before_is_used_again() -> None:
    assert kinds(*(call(branch(flag)) for flag in (True, False, True, False))) == [Kind.BRANCH]


def test_what_is_not_known_is_no_reason() -> None:
    assert kinds(call(branch(True), x=3), call(), call(x=3), call(branch(True))) == []


def test_the_guard_is_blamed_before_the_size_that_changed_with_it() -> None:
    calls = [call(Guard(Kind.RANGE, LOOP, size), x=size) for size in (2, 3, 4)]
    assert recompiles(calls, None) == [Cause(Kind.RANGE, LOOP)] * 2


def test_modules_of_other_parts_compile_again_and_each_of_them_once() -> None:
    heads = [call(Guard(Kind.MODULE, CALL, ("torch.nn.Linear", 8, classes))) for classes in (2, 5, 2, 9, 5)]
    assert kinds(*heads) == [Kind.MODULE, Kind.MODULE]


def test_gradient_mode_and_kind_of_argument() -> None:
    assert kinds(call(), call(mode="torch.no_grad"), call(kind="int")) == [Kind.MODE, Kind.INPUT]


def test_sizes_are_not_told_beside_a_guard_that_keeps_failing() -> None:
    guard, size = Cause(Kind.BRANCH, BRANCH), Cause(Kind.SIZES, CALL)
    assert telling([size, guard, guard]) == {guard: 2}
    assert telling([size, size]) == {size: 2}


CALLS = st.lists(
    st.builds(
        lambda flag, size, number: call(branch(flag), x=size, n=number),
        st.booleans(),
        st.integers(0, 5),
        st.integers(0, 5),
    ),
    max_size=12,
)


@given(CALLS, st.sampled_from([None, True, False]))
def test_calls_made_before_never_compile_again(calls: list[Called], dynamic: bool | None) -> None:
    once = recompiles(calls, dynamic)
    assert recompiles([*calls, *calls], dynamic) == once
    if dynamic is False:
        assert len(once) == max(len(set(calls)) - 1, 0)


@given(CALLS)
def test_symbolic_from_the_start_is_never_worse(calls: list[Called]) -> None:
    assert len(recompiles(calls, True)) <= len(recompiles(calls, False))
