"""Rule files: what a good one gives, and that every mistake is named by file, line and key."""

from __future__ import annotations

import click
import pytest

from fullgraph.rules.catalogue import pack, unpack
from fullgraph.rules.model import Match
from fullgraph.rules.source import parse

RULE = """\
code: FG199
name: some-rule
effect: graph-break
message: "`{source}` breaks"
advice: do not
match:
  - call: [torch.foo, time.*]
    except: [time.monotonic]
    given: {1|repeats: tensor}
    absent: [output_size]
    arguments: 2
what: Finds foo. And bar.
why: It breaks.
use_instead: Use bar.
fix_safety: No automatic fix.
bad:
  - code: |
      foo()  # FG199
good:
  - code: bar()
"""


def mistakes(text: str) -> list[str]:
    with pytest.raises(click.UsageError) as raised:
        parse(text, "r.yaml")
    return raised.value.message.splitlines()


def test_a_good_file_becomes_a_rule_with_defaults() -> None:
    rule = parse(RULE, "r.yaml", expected_stem="FG199_some_rule")
    assert rule.match == (
        Match(
            call=("torch.foo", "time.*"),
            except_=("time.monotonic",),
            given=(("1|repeats", "tensor"),),
            absent=("output_size",),
            arguments=2,
        ),
    )
    assert (rule.severity, rule.confidence, rule.cause, rule.modes.fullgraph) == ("warning", "certain", None, "breaks")
    assert rule.summary == "Finds foo"
    assert rule.proof(rule.bad[0]) == "break"


def test_packing_loses_nothing() -> None:
    rule = parse(RULE, "r.yaml")
    assert unpack(pack([rule])) == {"FG199": rule}


def test_a_position_may_be_written_as_a_number() -> None:
    assert parse(RULE.replace("1|repeats", "1"), "r.yaml").match[0].given == (("1", "tensor"),)


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("advice: do not", "advise: do not", "r.yaml:5: advise: unknown key; the keys are code, name, effect"),
        ("advice: do not\n", "", "r.yaml:1: file: 'advice' is a required property"),
        ("advice: do not", "advice: ''", "r.yaml:5: advice: must not be empty"),
        ("advice: do not", "advice: 3", "r.yaml:5: advice: must be of type string, not 3"),
        ("advice: do not", "advice: a\nadvice: b", "r.yaml:6: advice: given twice"),
        ("arguments: 2", "arguments: two", "r.yaml:11: match.0.arguments: must be of type integer, not 'two'"),
        ("    absent:", "    absend:", "r.yaml:10: match.0.absend: unknown key"),
        ("repeats: tensor", "repeats: tenser", "r.yaml:9: match.0.given.1|repeats: 'tenser' is not one of"),
        ("graph-break", "explosion", "r.yaml:3: effect: 'explosion' is not one of"),
        ("time.*]", "ti me]", "r.yaml:7: match.0.call.1: 'ti me' does not match"),
        ("call: [torch.foo, time.*]", "arguments: 1", "r.yaml:11: match.0.arguments: given twice"),
        ("foo()  # FG199", "foo()", "r.yaml:17: bad.0.code: no line is marked with `# FG199`"),
        ("bar()", "'bar()  # FG199'", "r.yaml:20: good.0.code: a good example must not be marked"),
        ("message:", "message: [", "not valid YAML"),
    ],
)
def test_a_mistake_is_named_by_file_line_and_key(old: str, new: str, expected: str) -> None:
    assert old in RULE
    assert any(expected in mistake for mistake in mistakes(RULE.replace(old, new))), mistakes(RULE.replace(old, new))


def test_all_mistakes_are_reported_in_order_of_line() -> None:
    found = mistakes(RULE.replace("advice:", "advise:").replace("graph-break", "bang"))
    assert [line.split(":")[1] for line in found] == ["1", "3", "5"]


def test_the_file_is_named_after_code_and_name() -> None:
    with pytest.raises(click.UsageError, match=r"must be called FG199_some_rule\.yaml"):
        parse(RULE, "r.yaml", expected_stem="FG199_other")


def test_a_rule_must_be_triggered_by_something() -> None:
    text = "".join(
        line
        for line in RULE.splitlines(keepends=True)
        if not line.startswith(("match", "  - call", "    e", "    g", "    a"))
    )
    assert "needs `match`, `check` or both" in mistakes(text)[0]
