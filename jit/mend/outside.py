"""What is compiled, made smaller so that breaks that nothing removes stay outside of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from fullgraph.lint.findings import Fix

from .attempt import Attempt, Measured
from .lab import Contents
from .parts import TITLE, Place, broken_lines, in_parts, lines_of, recompiled_lines
from .report import Figures
from .sites import absolute, applied
from .trial import Composition
from .unforeseen import fix_above
from .verdict import Version

LEAST = 0.25
"""Of what graphs compute, the share that they still have to."""
DEEPEST = 4
"""How often a module is taken apart."""
Key = tuple[str, str, str, bytes]


@dataclass(frozen=True, slots=True)
class Outside:
    """`measure` runs the program with other contents, held against a version; `is_new` is true once for each key."""

    measure: Callable[[Version, Contents], Measured]
    is_new: Callable[[Key], bool]
    sees_wrappers: bool
    """The program looks into what `torch.compile` makes of a module, so that there has to be such a thing."""

    def attempts(self, version: Version) -> Iterator[Attempt]:
        if not self.sees_wrappers:
            yield from self._modules(version)
        if above := list(self._above(version)):
            yield min(above, key=_left)

    def _modules(self, version: Version) -> Iterator[Attempt]:
        """In parts: all at once, since a class may break wherever it is compiled; then each alone."""
        modules = {
            (item.path, item.line): item
            for run in version.runs
            for item in run.compositions
            if absolute(item.path) in version.contents
        }
        each = [(item,) for item in modules.values()]
        for chosen in (tuple(modules.values()), *(each if len(each) > 1 else ())):
            places = "".join(f"{item.path}:{item.line} " for item in chosen)
            texts = b"".join(version.text(item.path, item.line) for item in chosen)
            if chosen and self.is_new((places, "", "", texts)):
                yield from self._in_parts(chosen, version)

    def _above(self, version: Version) -> Iterator[Attempt]:
        """For each line of a compiled function that breaks, or calls what does: only those above it are compiled."""
        for place in (place for run in version.runs for broken in run.breaks for place in lines_of(broken)):
            key = (place.path, "", place.function, version.text(place.path, place.line))
            known = absolute(place.path) in version.contents and self.is_new(key)
            if known and (fix := fix_above(place.path, place.line, version.contents)):
                yield self._attempt(fix, version)

    def _attempt(self, fix: Fix, before: Version) -> Attempt:
        contents = applied(fix, before.contents)
        found = self.measure(before, contents)
        if found.reason is None and (reason := _little(before.figures, found.version.figures)):
            found = replace(found, reason=reason)
        return Attempt(fix.title, fix.safety, contents, found)

    def _in_parts(self, modules: Sequence[Composition], before: Version) -> Iterator[Attempt]:
        """Parts that break, or are compiled again, once they stand by themselves are taken apart in their turn."""
        broken, again, attempt = frozenset(broken_lines(before.runs)), frozenset[Place](), None
        for _ in range(DEEPEST):
            fixes = (in_parts(item, broken, again, before.contents[absolute(item.path)]) for item in modules)
            edits = tuple(edit for fix in fixes if fix is not None for edit in fix.edits)
            if not edits:
                break
            attempt = self._attempt(Fix(TITLE, "unsafe", edits), before)
            runs, known = attempt.found.version.runs, (broken, again)
            broken |= frozenset(broken_lines(runs))
            again |= recompiled_lines(runs) - recompiled_lines(before.runs)
            if attempt.found.reason is None or (broken, again) == known:
                break
        if attempt is not None:
            yield attempt


def _left(attempt: Attempt) -> tuple[bool, int, int]:
    """What is better comes first: what holds, then what leaves fewer breaks, then what leaves more in graphs."""
    figures = attempt.found.version.figures
    return attempt.found.reason is not None, figures.breaks, -figures.elements


def _little(before: Figures, after: Figures) -> str | None:
    """Whether so much runs in Python now that it is no way of compiling the program any more."""
    share = after.elements / before.elements if before.elements else 1.0
    return None if share >= LEAST else f"graphs compute only {share:.0%} of the elements that they did"
