"""Tries the fixes of findings one by one, each on top of those accepted before: targets and their reports enter, and
reports with a row for each site leave, together with what the files are to hold.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from fullgraph.lint.apply import patch
from fullgraph.lint.findings import Effect, Fix
from fullgraph.lint.libraries import is_installed

from ..events import Observation, Status
from ..isolate import Pool
from ..kept import Kept
from ..merge import merged
from ..targets import Job, Object
from ..verify import TargetReport
from .attempt import Attempt, Measured
from .lab import Contents, Lab, Standard, Unfit, modes
from .moved import Moves
from .outside import Key, Outside
from .report import Figures, Mended, Outcome, Row
from .sites import Site, absolute, applied, shown, sites
from .verdict import Judge, Version, inputs, largest, of_eager

FAKE = "--fake computes nothing, so that no fix can be proven"
NO_FIX = "no fix is known for it"
NONE_FOR_THAT = "and no fix is known for that"
NEVER_RAN = "line {} never ran, so nothing is known of it"
PAIRS = 3
"""Second fixes that are tried along with one that uncovers another break."""
WRAPPER = re.compile(rb"\b(?:_orig_mod|OptimizedModule)\b")
BREAKING = frozenset({Effect.GRAPH_BREAK, Effect.SKIPPED_FRAME, Effect.USER_ERROR})
LATER = "the compiled program comes to a later break with it, which no fix removes, and so to no result"

Report = Callable[[Job, Observation, Contents], TargetReport]
"""What is found in changed files, and what a run of them says about it."""


@dataclass(frozen=True, slots=True)
class Mending:
    """What became of all targets."""

    reports: tuple[TargetReport, ...]
    changed: tuple[tuple[str, bytes, bytes], ...] = ()
    """Path as it is shown, contents before, contents with the accepted fixes."""


def mend(pool: Pool, jobs: Sequence[Job], reports: Sequence[TargetReport], kept: Kept, report: Report) -> Mending:
    """Fixes accepted for one target are in place when the next one is tried; one that spoils any target goes."""
    accepted: list[Accepted] = []
    searches = [Search(Lab(pool, job), job, seen, kept, report) for job, seen in zip(jobs, reports, strict=False)]
    for search in searches:
        search.run(accepted)
    while any(search.spoilt(accepted) for search in searches):
        pass
    original = {path: data for search in searches for path, data in search.original.items()}
    final = _contents(accepted)
    other = sorted(path for path in final if final[path] != original[path])
    changed = tuple((shown(path), original[path], final[path]) for path in other)
    return Mending(tuple(search.finished(changed) for search in searches), changed)


@dataclass(frozen=True, slots=True)
class Accepted:
    """A fix that holds, the rows that tell of it, and what files hold with it and all before it."""

    rows: list[Row]
    first: int
    """The row of the site it is for; those of others that are gone with it come next."""
    last: int
    contents: Mapping[str, bytes]

    def withdraw(self, reason: str) -> None:
        for number in range(self.first, self.last + 1):
            self.rows[number] = replace(self.rows[number], outcome=Outcome.REJECTED, reason=reason)


def _contents(accepted: Sequence[Accepted]) -> Mapping[str, bytes]:
    return accepted[-1].contents if accepted else {}


class Search:
    """For the fixes of one target."""

    def __init__(self, lab: Lab, job: Job, seen: TargetReport, kept: Kept, report: Report) -> None:
        self._lab = lab
        self._job = job
        self._seen = seen
        self._kept = kept
        self._report = report
        self._rows: list[Row] = []
        self._unfixed: list[Row] = []
        """Of sites for which there was no fix; they come last."""
        self._tried: set[Key] = set()
        self._remark: str | None = None
        self._standards: tuple[Standard, ...] = ()
        self._first: tuple[Observation, ...] = ()
        self._proven: Contents = {}
        """Contents that were held against the unchanged ones, and hold."""
        self.original: dict[str, bytes] = {}

    def run(self, accepted: list[Accepted]) -> None:
        """Add what holds to `accepted`, or find out why nothing can be told."""
        self._know(self._seen, {})
        if self._job.settings.fake:
            self._remark = FAKE
        elif self._seen.observation.status not in (Status.OK, Status.FAILED):
            self._remark = f"no fix is tried: {self._seen.observation.status.value}"
        elif accepted or any(map(self._may_mend, sites(self._seen, self.original))):
            try:
                self._search(accepted)
                return
            except Unfit as unfit:
                self._remark = f"no fix can be proven: {unfit}"
        figures = Version(self.original, (self._seen.observation,), self._kept).figures
        self._rows = [
            _row(site, site.line, figures, self._remark or NO_FIX) for site in sites(self._seen, self.original)
        ]

    def _may_mend(self, site: Site) -> bool:
        """Whether there is anything to try; what compiles an object is no line of the program's."""
        in_parts = site.effect in BREAKING and not isinstance(self._job.target.program, Object)
        return bool(site.fixes) or in_parts

    def spoilt(self, accepted: list[Accepted]) -> bool:
        """All together once more: whether something did not hold, so that the last fix had to go."""
        contents = self._with(accepted)
        if not self._standards or contents in (self.original, self._proven):
            return False
        found = self._measured(None, Version(self.original, self._first, self._kept), contents)
        if found.reason is None and not found.later:
            self._proven = contents
            return False
        accepted.pop().withdraw(found.reason or LATER)
        return True

    def finished(self, changed: Sequence[tuple[str, bytes, bytes]]) -> TargetReport:
        """The report with its rows."""
        named = [item.training for item in self._standards if item.training is not None]
        diff = "".join(row for item in changed if absolute(item[0]) in self.original for row in patch(*item))
        names = tuple("training" if training else "evaluation" for training in named)
        return replace(self._seen, mended=Mended(tuple(self._rows), names, self._remark, diff))

    def _know(self, report: TargetReport, contents: Contents) -> None:
        """Keep what the files hold that were run, or that fixes of `contents` change: it is what every run is shown."""
        seen = report.observation
        known = (*(item.path for item in seen.traced), *(item.path for item in seen.compositions))
        edited = (edit.path for site in sites(report, contents) for fix in site.fixes for edit in fix.edits)
        own = {str(self._job.target.path), *map(absolute, (*known, *edited))}
        for path in sorted(own - self.original.keys()):
            if Path(path).is_file():
                self.original[path] = Path(path).read_bytes()

    def _with(self, accepted: Sequence[Accepted]) -> Contents:
        return {path: _contents(accepted).get(path, data) for path, data in self.original.items()}

    def _search(self, accepted: list[Accepted]) -> None:
        training = modes(self._job, self._seen.observation)
        standards = [self._lab.standard(self.original, mode) for mode in training]
        self._first = tuple(self._lab.compiled(self.original, standard) for standard in standards)
        self._standards = tuple(map(self._lab.adapted, standards, self._first))
        version = Version(self.original, self._first, self._kept)
        while (contents := self._with(accepted)) != self.original:
            found = self._measured(None, version, contents)
            if found.reason is None:
                version = found.version
                break
            accepted.pop().withdraw(f"{self._job.target.text}: {found.reason}")
        while site := self._next(version):
            version = self._try(site, version, accepted)
        outside = Outside(
            lambda before, contents: self._measured(None, before, contents), self._is_new, self._sees_wrappers()
        )
        while attempt := next(outside.attempts(version), None):
            version = self._leave_out(attempt, version, accepted)
        mended = {(row.path, row.line, row.code) for row in self._rows if row.outcome is Outcome.VERIFIED}
        self._rows += [row for row in self._unfixed if (row.path, row.line, row.code) not in mended]

    def _next(self, version: Version) -> Site | None:
        """The first site that was not tried yet; those without a fix come last, since others may lead to one."""
        keyed = ((self._key(site, version), site) for site in self._sites(version))
        left = [item for item in keyed if item[0] not in self._tried]
        if not left:
            return None
        key, site = min(left, key=lambda item: not item[1].fixes)
        self._tried.add(key)
        return site

    def _sites(self, version: Version) -> list[Site]:
        """All that is to be mended; what is known of files grows with them."""
        if version.sites is None:
            seen = version.runs[0]
            for other in version.runs[1:]:
                seen = merged(seen, other, "run in training mode too, to try fixes")
            report = self._report(self._job, seen, version.contents)
            self._know(report, version.contents)
            version.contents = {**self.original, **version.contents}
            version.sites = list(sites(report, version.contents))
        return version.sites

    @staticmethod
    def _key(site: Site, version: Version) -> Key:
        return site.path, site.code, site.function, version.text(site.path, site.line)

    def _try(self, site: Site, before: Version, accepted: list[Accepted]) -> Version:
        """The version with the first of the site's fixes that holds; the one before if none does."""
        row = self._row(site, before)
        if not site.fixes:
            self._unfixed.append(row)
        for attempt in self._attempts(site, before):
            if attempt.found.reason is None:
                self._accept(site, before, attempt, accepted)
                return attempt.found.version
            self._rows.append(_tried(row, attempt))
        return before

    def _accept(self, site: Site, before: Version, attempt: Attempt, accepted: list[Accepted]) -> None:
        first, whole = len(self._rows), {**_contents(accepted), **attempt.contents}
        self._rows.append(_tried(self._row(site, before), attempt))
        self._rows += self._gone(site, before, attempt.found.version)
        accepted.append(Accepted(self._rows, first, len(self._rows) - 1, whole))
        if before.contents == self.original and not attempt.found.later:
            self._proven = attempt.contents

    def _attempts(self, site: Site, before: Version) -> Iterator[Attempt]:
        """Each fix of the site, then those that uncover a break together with a fix of that one."""
        uncovering = []
        for fix in site.fixes:
            contents = applied(fix, before.contents)
            found = self._unseen(fix, before) or self._measured(site, before, contents)
            seconds = tuple(self._seconds(found))
            if found.uncovered and not seconds:
                found = replace(found, reason=f"{found.reason}, {NONE_FOR_THAT}")
            uncovering.append(Attempt(fix.title, fix.safety, contents, found, seconds))
            yield uncovering[-1]
        for attempt in uncovering:
            yield from self._pairs(site, before, attempt)

    def _seconds(self, found: Measured) -> Iterator[tuple[Site, Fix]]:
        """Fixes of the break that these contents are refused for."""
        if found.uncovered is not None:
            place = found.version.place(found.uncovered.path, found.uncovered.line)
            for site in self._sites(found.version):
                if found.version.place(site.path, site.line) == place:
                    yield from ((site, fix) for fix in site.fixes)

    def _pairs(self, site: Site, before: Version, first: Attempt) -> Iterator[Attempt]:
        """The fix with those of the break that it uncovers, held against what was before both."""
        between = first.found.version
        for other, fix in first.seconds[:PAIRS]:
            contents = applied(fix, between.contents)
            found = self._unseen(fix, between) or self._measured(site, before, contents)
            title = f"{first.title} and, for line {self._line(other, between)}, {fix.title}"
            safety = "safe" if (first.safety, fix.safety) == ("safe", "safe") else "unsafe"
            yield Attempt(title, safety, contents, found)

    def _sees_wrappers(self) -> bool:
        """Whether a file that ran, not an installed one, names what is in a compiled module, or its class."""
        ran = {absolute(path) for standard in self._standards for path, _ in standard.executed}
        own = (Path(path) for path in ran | self.original.keys() if not is_installed(Path(path)))
        return any(WRAPPER.search(path.read_bytes()) for path in own if path.is_file())

    def _is_new(self, key: Key) -> bool:
        known = key in self._tried
        self._tried.add(key)
        return not known

    def _leave_out(self, attempt: Attempt, before: Version, accepted: list[Accepted]) -> Version:
        """The version with what the attempt makes of it, where a site is gone by that and most is compiled still."""
        after, reason = attempt.found.version, attempt.found.reason
        broken = [site for site in self._sites(before) if site.effect in BREAKING]
        gone = None if reason else next((site for site in broken if Judge(site, before, after).is_gone()), None)
        if gone is not None:
            self._accept(gone, before, attempt, accepted)
            return after
        if reason and broken:
            untried = [row for row in self._unfixed if row.outcome is Outcome.NO_FIX]
            self._unfixed = [_tried(row, attempt) if row in untried else row for row in self._unfixed]
            if not untried:
                self._rows.append(_tried(self._row(broken[0], before), attempt))
        return before

    def _row(self, site: Site, version: Version) -> Row:
        return _row(site, self._line(site, version), version.figures, NO_FIX)

    def _line(self, site: Site, version: Version) -> int:
        """In the unchanged file."""
        return Moves(self.original, version.contents).line(absolute(site.path), site.line) or site.line

    def _gone(self, mended: Site, before: Version, after: Version) -> list[Row]:
        """Rows of other sites that the fix of this one has removed, like the row that was written last."""
        there = {(site.path, site.code, before.text(site.path, site.line)): site for site in self._sites(before)}
        left = {(site.path, site.code, after.text(site.path, site.line)) for site in self._sites(after)}
        gone = (site for key, site in there.items() if key not in left and site is not mended)
        told = self._rows[-1]
        rows = (self._row(site, before) for site in gone if Judge(site, before, after).is_gone())
        title = f"{told.title}, as for line {told.line}"
        return [replace(told, path=row.path, line=row.line, code=row.code, title=title) for row in rows]

    def _unseen(self, fix: Fix, before: Version) -> Measured | None:
        """Whether the fix rewrites lines that no run came to: a way not taken, of which nothing is known."""
        ran = {place for standard in self._standards for place in standard.executed}
        broke = {(item.path, item.line) for run in before.runs for item in run.breaks}
        moves = Moves(self.original, before.contents)
        for edit in fix.edits:
            first, last = edit.start[0], edit.end[0] - (edit.end[1] == 0)
            for held in before.statements(edit.path, first, last) if ran and edit.start != edit.end else ():
                lines, path = range(held.line, held.end_line + 1), shown(absolute(edit.path))
                if any((path, line) in broke for line in lines):
                    continue  # compiled code came here, be it the only code that does
                own = {moves.line(absolute(edit.path), line) for line in lines} - {None}
                if own and not any((path, line) in ran for line in own):
                    return Measured(Version(before.contents, (), self._kept), NEVER_RAN.format(held.line))
        return None

    def _measured(self, site: Site | None, before: Version, contents: Contents) -> Measured:
        """Run with the contents, eagerly first; stop at the first reason to refuse them."""
        version = Version(contents, (), self._kept)
        for standard in self._standards:
            if reason := of_eager(standard, self._lab.eager(contents, standard)):
                return Measured(version, reason)
        later = False
        for standard, old in zip(self._standards, before.runs, strict=True):
            seen = self._lab.compiled(contents, standard)
            version = Version(contents, (*version.runs, seen), self._kept)
            verdict = Judge(site, before, version).of_compiled(standard, old, seen)
            if verdict.reason:
                return Measured(version, verdict.reason, uncovered=verdict.uncovered)
            later = later or verdict.later
        return Measured(version, Judge(site, before, version).of_site(), later)


def _row(site: Site, line: int, before: Figures, reason: str) -> Row:
    return Row(site.path, line, site.code, "", "", Outcome.NO_FIX, reason, before)


def _tried(row: Row, attempt: Attempt) -> Row:
    found = attempt.found
    difference, gradient = largest(found.version.runs)
    return replace(
        row,
        title=attempt.title,
        safety=attempt.safety,
        outcome=Outcome.REJECTED if found.reason else Outcome.VERIFIED,
        reason=found.reason or "",
        after=found.version.figures if found.version.runs else None,
        difference=difference,
        gradient_difference=gradient,
        inputs=inputs(found.version.runs),
    )
