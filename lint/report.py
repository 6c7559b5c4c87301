"""Emissions of all entries → findings: one for each source line and rule, at its surest and least conditional."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from fullgraph import rules
from fullgraph.rules.model import Rule

from . import ir
from .findings import Cause, Confidence, Effect, Finding, Severity, Span, When
from .fixes import suggest
from .interpret.frame import Emission, Settings
from .project import Module
from .summary import SyntaxProblem

SYNTAX = "FG901"


def display(path: str) -> str:
    """Relative to the working directory, with `/`."""
    return Path(os.path.relpath(path)).as_posix()


Key = tuple[str, str, int, int]
"""What makes two emissions the same finding: code, path, line, column."""


class _Place(Struct, frozen=True):
    """Where a finding is shown: its own line, or the call that leads out of the files that were asked about."""

    module: Module
    function: str
    span: ir.Span


class Reporter:
    """Collects emissions; `given` are the absolute paths to report on, all of them where `everywhere` is set."""

    def __init__(self, given: set[str], everywhere: bool) -> None:
        self._given = given
        self._everywhere = everywhere
        self._best: dict[Key, tuple[Finding, Emission]] = {}

    def add(self, emissions: Iterable[Emission], settings: Settings) -> None:
        for emission in emissions:
            place = self._place(emission)
            if place is None:
                continue
            finding = _finding(emission, place, settings)
            known = self._best.get(_key(finding))
            if known is None or _weight(finding) > _weight(known[0]):
                self._best[_key(finding)] = (finding, emission)

    def findings(self) -> list[Finding]:
        return [finding for finding, _ in self._best.values()]

    def with_fixes(self, finding: Finding) -> Finding:
        """The finding with what its rule's fix proposes; only now is libcst needed."""
        fix = rules.load()[finding.code].fix
        if fix is None or _key(finding) not in self._best:
            return finding
        emission = self._best[_key(finding)][1]
        return replace(finding, fixes=suggest(fix, emission.module, emission.hit.span, display(emission.module.path)))

    def _place(self, emission: Emission) -> _Place | None:
        if self._everywhere or emission.module.path in self._given:
            return _Place(emission.module, emission.function, emission.hit.span)
        for site in emission.calls:
            if site.module.path in self._given and site.function != "<module>":
                return _Place(site.module, site.function, site.span)
        return None


def _key(finding: Finding) -> Key:
    return (finding.code, finding.span.path, finding.span.line, finding.span.column)


def _weight(finding: Finding) -> tuple[int, int, int]:
    """Surest first, then a warning before a note, then the fewest conditions."""
    conditions = len(finding.when.given) + (finding.when.training is not None) + (finding.when.dtype is not None)
    return (finding.severity is not Severity.NOTE, finding.confidence.rank, -conditions)


def _finding(emission: Emission, place: _Place, settings: Settings) -> Finding:
    rule = rules.load()[emission.hit.code]
    root = span(emission.module, emission.hit.span)
    shown = span(place.module, place.span)
    confidence = _confidence(emission, rule)
    return Finding(
        code=rule.code,
        rule=rule.name,
        span=shown,
        function=place.function,
        message=_message(emission, rule, place),
        advice=rule.advice,
        effect=emission.effect,
        severity=_severity(emission, rule, settings, confidence),
        cause=None if rule.cause is None else Cause(rule.cause),
        confidence=confidence,
        modes=(("default", rule.modes.default), ("fullgraph", rule.modes.fullgraph)),
        when=emission.when,
        gb=_ids(emission, rule),
        root=f"{root.path}:{root.line}",
        via=_via(emission),
    )


def _confidence(emission: Emission, rule: Rule) -> Confidence:
    levels = [emission.hit.confidence, Confidence(rule.confidence)]
    if emission.when.dtype not in (None, "float32"):
        levels.append(Confidence.POSSIBLE)  # whether the program ever runs in that dtype is not in the code
    if emission.conditional:
        levels.append(Confidence.LIKELY)
    if emission.doubtful:
        levels.append(Confidence(rule.in_branch or Confidence.LIKELY))
    return min(levels, key=lambda level: level.rank)


def _severity(emission: Emission, rule: Rule, settings: Settings, confidence: Confidence) -> Severity:
    if emission.hit.note or rule.severity == "note":
        return Severity.NOTE
    breaks = emission.effect in (Effect.GRAPH_BREAK, Effect.SKIPPED_FRAME)
    if confidence is Confidence.CERTAIN and settings.explicit_fullgraph and breaks:
        return Severity.ERROR
    return Severity(rule.severity)


def _message(emission: Emission, rule: Rule, place: _Place) -> str:
    source = emission.module.source_of(emission.hit.span)
    text = (emission.hit.message or rule.message).replace("{source}", source)
    if place.span != emission.hit.span or place.module is not emission.module:
        text += f" (in {emission.function}, {display(emission.module.path)}:{emission.hit.span[0]})"
    return f"{text}; {emission.hit.note}" if emission.hit.note else text


def _ids(emission: Emission, rule: Rule) -> tuple[str, ...]:
    ids = rule.gb if emission.hit.gb is None else emission.hit.gb
    return (*ids, emission.hit.wrapped_by) if emission.hit.wrapped_by else tuple(ids)


def _via(emission: Emission) -> tuple[str, ...]:
    callers = [site.function for site in reversed(emission.calls) if site.function != "<module>"]
    return (*callers, emission.function)


def span(module: Module, where: ir.Span) -> Span:
    """The IR's span with columns in code points."""
    line, column, end_line, end_column = where
    return Span(
        display(module.path), line, module.code_column(line, column), end_line, module.code_column(end_line, end_column)
    )


def syntax_finding(path: str, problem: SyntaxProblem) -> Finding:
    rule = rules.load()[SYNTAX]
    return Finding(
        code=rule.code,
        rule=rule.name,
        span=Span(path, problem.line, problem.column, problem.line, problem.column + 1),
        function="<module>",
        message=problem.message,
        advice=rule.advice,
        effect=Effect(rule.effect),
        severity=Severity.WARNING,
        cause=Cause.USER_ERROR,
        confidence=Confidence.CERTAIN,
        modes=(),
        when=When(),
        root=f"{path}:{problem.line}",
        via=("<module>",),
    )
