"""The rules of a check: the built-in ones and the project's own, as far as they hold on the version of torch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache

from fullgraph import rules
from fullgraph.rules import support
from fullgraph.rules.model import Modes, Rule
from fullgraph.rules.support import Support, Version


@dataclass(frozen=True, slots=True)
class RuleSet:
    """`every` rule by its code, those among them that `hold`, and what is known of the version's symbols."""

    every: Mapping[str, Rule]
    hold: Mapping[str, Rule]
    version: Version


@cache
def ruleset(torch: str, own: tuple[Rule, ...] = ()) -> RuleSet:
    """By the evidence of a measured version of torch; own rules are taken at their word."""
    version = support.load(torch)
    builtin = {code: _on(rule, version) for code, rule in rules.load().items()}
    every = dict(sorted((builtin | {rule.code: rule for rule in own}).items()))
    hold = {code: rule for code, rule in every.items() if not _captured(rule, version)}
    return RuleSet(every, hold, version)


def _captured(rule: Rule, version: Version) -> bool:
    return version.rule(rule.code) is Support.CAPTURED


def _on(rule: Rule, version: Version) -> Rule:
    """The rule with its modes as they were measured; less sure where some of its examples did otherwise."""
    proven = version.rule(rule.code)
    match proven:
        case Support.BREAKS:
            return replace(rule, modes=Modes())
        case Support.DEFAULT_BREAKS:
            return replace(rule, modes=Modes(fullgraph="captured"))
        case Support.MIXED if rule.confidence == "certain":
            return replace(rule, confidence="likely")
    return rule
