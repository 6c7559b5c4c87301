"""Emissions of all entries → findings: one for each source line and rule, at its surest and least conditional."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property

from msgspec import Struct
from msgspec.structs import replace

from fullgraph.rules.model import Rule

from . import ir
from .emission import Emission
from .findings import Cause, Confidence, Effect, Finding, Impact, Severity, Span, When
from .fixes import suggest
from .impact import Ways, steps
from .project import Project
from .source import display
from .summary import SyntaxProblem
from .symbols import Module
from .twins import Twins

SYNTAX = "FG901"


class _Place(Struct, frozen=True):
    """Where a finding is shown: its own line, or the call that leads out of the files that were asked about."""

    path: str
    function: str
    span: ir.Span


Key = tuple[str, str, int, int]
"""What makes two emissions the same finding: code, path, line, column."""


class Reporter:
    """Collects emissions; `given` are the absolute paths to report on, all first-party ones where `everywhere` is set,
    and those of installed libraries with `libraries`. `commented` are the files with suppression comments.
    """

    def __init__(
        self,
        project: Project,
        twins: Twins,
        given: set[str],
        rules: Mapping[str, Rule],
        everywhere: bool,
        libraries: bool,
        commented: frozenset[str],
    ) -> None:
        self._project = project
        self._rules = rules
        self._twins = twins
        self._libraries = libraries
        self._given = given
        self._everywhere = everywhere
        self._best: dict[Key, tuple[Emission, _Place]] = {}
        self._ways: defaultdict[Key, Ways] = defaultdict(Ways)
        self._commented = commented
        self._passed: set[tuple[str, str, ir.Span]] = set()

    def add(self, emissions: Iterable[Emission]) -> None:
        for emission in emissions:
            self._pass(emission)
            place = self._place(emission)
            if place is None:
                continue
            if not self._reports(emission.path) and not self._project.is_first_party(emission.path):
                emission = self._from_library(emission)
            key = (emission.hit.code, place.path, *place.span[:2])
            self._ways[key].add(emission)
            known = self._best.get(key)
            if known is None or self._preferred(emission, known[0]):
                self._best[key] = (emission, place)

    def findings(self) -> Iterator[tuple[Finding, Emission]]:
        """Each finding, with the emission that tells most of it; file by file, as trees are kept of few files."""
        for key, (emission, place) in sorted(self._best.items(), key=lambda item: item[1][1].path):
            yield self._finding(emission, place, self._ways[key].impact(emission, self._project)), emission

    def passed(self) -> Iterator[tuple[str, Span]]:
        """Code and place of all that was found in files with comments: where it lies, and at each call on the way to
        it, as it is reported there when other files are asked about.
        """
        for code, path, span in self._passed:
            yield code, self._span(path, span)

    def _pass(self, emission: Emission) -> None:
        if emission.path in self._commented:
            self._passed.add((emission.hit.code, emission.path, emission.hit.span))
        for site in emission.calls:
            if site.path in self._commented:
                self._passed.add((emission.hit.code, site.path, site.span))

    def with_fixes(self, finding: Finding, emission: Emission) -> Finding:
        """The finding with what its rule's fixes propose; only now is libcst needed."""
        names = self._rules[finding.code].fix if emission.hit.fixable else ()
        path, span = self._original(emission.path, emission.function, emission.hit.span)
        module = self._project.load(path) if names else None
        if module is None or module.cells:
            return finding
        settled, place = module.settled(), module.settle(span)
        return replace(finding, fixes=suggest(names, settled, place, display(path), self._capturing(emission)))

    def _capturing(self, emission: Emission) -> tuple[Module, str] | None:
        """The file of the entry, and how it is shown, where `fullgraph=True` captures all that is found under it."""
        path = _entry_file(emission)
        if self._rules[emission.hit.code].modes.fullgraph != "captured" or path in self._broken:
            return None
        module = self._project.load(path)
        return None if module is None or module.cells else (module.settled(), display(path))

    @cached_property
    def _broken(self) -> frozenset[str]:
        """Files of entries under which the graph breaks even with `fullgraph=True`, once all is collected."""
        breaks = (Effect.GRAPH_BREAK, Effect.SKIPPED_FRAME)
        return frozenset(
            _entry_file(emission)
            for emission, _ in self._best.values()
            if emission.effect in breaks
            and self._rules[emission.hit.code].modes.fullgraph != "captured"
            and _confidence(emission, self._rules[emission.hit.code]) is not Confidence.POSSIBLE
        )

    def _place(self, emission: Emission) -> _Place | None:
        if self._reports(emission.path):
            path, span = self._original(emission.path, emission.function, emission.hit.span)
            return _Place(path, emission.function, span)
        for site in emission.calls:
            if self._reports(site.path) and site.function != "<module>":
                path, span = self._original(site.path, site.function, site.span)
                return _Place(path, site.function, span)
        return None

    def _original(self, path: str, function: str, span: ir.Span) -> tuple[str, ir.Span]:
        """Where to mend it: in the generator, if the file is generated and that has the line and is reported on."""
        original = self._twins.original(path, function, span)
        return original if original is not None and self._reports(original[0]) else (path, span)

    def _reports(self, path: str) -> bool:
        if path in self._given:
            return True
        return self._everywhere if self._project.is_first_party(path) else self._libraries

    def _finding(self, emission: Emission, place: _Place, impact: Impact) -> Finding:
        rule = self._rules[emission.hit.code]
        root = self._span(emission.path, emission.hit.span)
        return Finding(
            code=rule.code,
            rule=rule.name,
            span=self._span(place.path, place.span),
            function=place.function,
            message=self._message(emission, rule, place),
            advice=rule.advice,
            effect=emission.effect,
            severity=_severity(emission, rule),
            cause=None if rule.cause is None else Cause(rule.cause),
            confidence=_confidence(emission, rule),
            modes=(("default", rule.modes.default), ("fullgraph", rule.modes.fullgraph)),
            when=emission.when,
            gb=_ids(emission, rule),
            root=root.start,
            via=tuple(function for _, function, _ in steps(emission)),
            impact=impact,
        )

    def _message(self, emission: Emission, rule: Rule, place: _Place) -> str:
        source = self._project.source(emission.path).source_of(emission.hit.span)
        text = (emission.hit.message or rule.message).replace("{source}", source)
        own = self._original(emission.path, emission.function, emission.hit.span)
        if (place.path, place.span) != own:
            text += f" (in {emission.function}, {self._span(emission.path, emission.hit.span).start})"
        return f"{text}; {emission.hit.note}" if emission.hit.note else text

    def _from_library(self, emission: Emission) -> Emission:
        """Libraries are full of branches that their users never take: what is not certain there is merely possible."""
        if _confidence(emission, self._rules[emission.hit.code]) is Confidence.CERTAIN:
            return emission
        return replace(emission, hit=replace(emission.hit, confidence=Confidence.POSSIBLE))

    def _preferred(self, new: Emission, old: Emission) -> bool:
        """Surest first, a warning before a note, the fewest conditions and calls; the rest makes it definite."""
        weight, known = self._weight(new), self._weight(old)
        if weight != known:
            return weight > known
        if len(new.calls) != len(old.calls):
            return len(new.calls) < len(old.calls)
        return new != old and repr(new) < repr(old)

    def _weight(self, emission: Emission) -> tuple[int, int, int]:
        rule, when = self._rules[emission.hit.code], emission.when
        conditions = len(when.given) + (when.training is not None) + (when.dtype is not None)
        return (_severity(emission, rule) is not Severity.NOTE, _confidence(emission, rule).rank, -conditions)

    def _span(self, path: str, where: ir.Span) -> Span:
        """The IR's span with columns in code points."""
        source = self._project.source(path)
        line, column, end_line, end_column = where
        first, last = source.code_column(line, column), source.code_column(end_line, end_column)
        cell, start = source.place(line)
        return Span(display(path), start, first, start + end_line - line, last, cell)


def _entry_file(emission: Emission) -> str:
    return emission.calls[-1].path if emission.calls else emission.path


def _confidence(emission: Emission, rule: Rule) -> Confidence:
    levels = [emission.hit.confidence, Confidence(rule.confidence)]
    if emission.when.dtype not in (None, "float32"):
        levels.append(Confidence.POSSIBLE)  # whether the program ever runs in that dtype is not in the code
    if emission.conditional:
        levels.append(Confidence.LIKELY)
    contradicts = emission.conditional and rule.effect == Effect.USER_ERROR.value  # perhaps the branch is never taken
    if emission.doubtful or contradicts:
        levels.append(Confidence(rule.in_branch or Confidence.LIKELY))
    return min(levels, key=lambda level: level.rank)


def _severity(emission: Emission, rule: Rule) -> Severity:
    if emission.hit.note or rule.severity == "note":
        return Severity.NOTE
    breaks = emission.effect in (Effect.GRAPH_BREAK, Effect.SKIPPED_FRAME)
    if emission.demanded and breaks and _confidence(emission, rule) is Confidence.CERTAIN:
        return Severity.ERROR
    return Severity(rule.severity)


def _ids(emission: Emission, rule: Rule) -> tuple[str, ...]:
    ids = rule.gb if emission.hit.gb is None else emission.hit.gb
    return (*ids, emission.hit.wrapped_by) if emission.hit.wrapped_by else tuple(ids)


def syntax_finding(path: str, problem: SyntaxProblem, rules: Mapping[str, Rule]) -> Finding:
    rule = rules[SYNTAX]
    span = Span(path, problem.line, problem.column, problem.line, problem.column + 1, problem.cell)
    return Finding(
        code=rule.code,
        rule=rule.name,
        span=span,
        function="<module>",
        message=problem.message,
        advice=problem.advice or rule.advice,
        effect=Effect(rule.effect),
        severity=Severity.WARNING,
        cause=Cause.USER_ERROR,
        confidence=Confidence.CERTAIN,
        modes=(),
        when=When(),
        root=span.start,
    )
