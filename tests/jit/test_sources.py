"""What a finding of a frozen value says is read only once."""

from __future__ import annotations

import pytest

from fullgraph.jit.sources import Kind, Source, source_of
from fullgraph.lint.findings import Confidence, Effect, Finding, Severity, Span


def source(rule: str, expression: str) -> Source | None:
    """Of a finding at that expression, in a function that knows the string `half`."""
    code = f"def f(x):\n    'ä'; return g({expression}) == 'half'\n"
    column = code.splitlines()[1].index(expression)
    finding = Finding(
        code="FG501",
        rule=rule,
        span=Span("m.py", 2, column, 2, column + len(expression)),
        function="f",
        message="",
        advice="",
        effect=Effect.FROZEN_VALUE,
        severity=Severity.WARNING,
        cause=None,
        confidence=Confidence.CERTAIN,
        modes=(),
    )
    return source_of(finding, code)


@pytest.mark.parametrize("expression", ['os.getenv("A", "1")', 'environ.get("A")', '"A" in os.environ'])
def test_an_environment_variable_and_what_it_may_be_set_to(expression: str) -> None:
    found = source("environment-frozen", expression)
    assert found is not None
    assert (found.kind, found.name) == (Kind.ENVIRONMENT, "A")
    assert {"half", "1", "0"} <= set(found.values)


def test_the_state_of_the_process() -> None:
    assert source("process-state-frozen", "sys.getrecursionlimit()") == Source(Kind.STATE, "getrecursionlimit")
    assert source("process-state-frozen", 'find_spec("a")') == Source(Kind.STATE, "find_spec", argument="a")


def test_a_draw() -> None:
    found = source("private-random-frozen", "rng.random()")
    assert found is not None
    assert found.kind is Kind.DRAW


@pytest.mark.parametrize("expression", ["Registry.scale", "Registry.scale()"])
def test_any_other_rule_means_an_attribute(expression: str) -> None:
    assert source("patched-method", expression) == Source(Kind.ATTRIBUTE, "Registry.scale", "m.py")


@pytest.mark.parametrize(
    ("rule", "expression"),
    [("environment-frozen", "os.getenv(name)"), ("patched-method", "Rule().power"), ("patched-method", "a[0]")],
)
def test_what_is_not_known_is_not_guessed(rule: str, expression: str) -> None:
    assert source(rule, expression) is None


@pytest.mark.parametrize(
    ("rule", "found"),
    [
        ("patched-after-compile", Source(Kind.ATTRIBUTE, "Net.forward", "m.py", outside=True)),
        ("hook-after-compile", Source(Kind.HOOKS, "", outside=True)),
        ("class-registered-late", Source(Kind.CLASSES, "", outside=True)),
        ("guards-dropped", Source(Kind.GUARDS, "", outside=True)),
    ],
)
def test_what_the_program_changes_around_compiled_code(rule: str, found: Source) -> None:
    assert source(rule, "Net.forward") == found
