"""Where fixes are tried on one file, made up or not: programs run and are compared as by `verify --fix`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from msgspec import structs

from fullgraph.cli.projects import build_request
from fullgraph.jit.events import Observation
from fullgraph.jit.isolate import Pool
from fullgraph.jit.kept import Kept
from fullgraph.jit.mend.lab import Contents
from fullgraph.jit.mend.report import Mended
from fullgraph.jit.mend.search import Mending, mend
from fullgraph.jit.session import roots, with_findings
from fullgraph.jit.targets import Job, Settings, parse_target
from fullgraph.jit.verify import TargetReport
from fullgraph.lint.findings import Edit, Fix


@dataclass(frozen=True)
class Bench:
    """One server for all of these programs."""

    pool: Pool
    folder: Path

    def tried(self, source: str, old: str, *new: str, target: str = "m.py::f", **settings: object) -> Mending:
        """With these fixes at every finding."""
        start = source.index(old)
        places = [(source[:at].count("\n") + 1, at - source.rfind("\n", 0, at) - 1) for at in (start, start + len(old))]
        made_up = tuple(Fix(text, "unsafe", (Edit("m.py", places[0], places[1], text),)) for text in new)
        return self.searched(source, target, made_up, **settings)

    def searched(self, source: str, target: str, fixes: tuple[Fix, ...] | None = None, **settings: object) -> Mending:
        """With these fixes at every finding of the unchanged program, or with those that the rules have."""
        file = self.folder / "m.py"
        file.write_text(source)
        request = build_request((self.folder,), None, use_cache=False)
        given = Settings(**{"backend": "eager", "timeout_s": 8.0} | settings)  # type: ignore[arg-type]
        job = Job(parse_target(target), given, roots(parse_target(target), request))
        kept = Kept.of([job.target])

        def report(job: Job, seen: Observation, contents: Contents) -> TargetReport:
            found = next(with_findings([job.target], [seen], request, kept.showing(contents)))
            if fixes is None:
                return found
            known = fixes if contents[str(file)] == source.encode() else ()
            judged = (replace(item, finding=structs.replace(item.finding, fixes=known)) for item in found.judged)
            return replace(found, judged=tuple(judged))

        (seen,) = self.pool.observe([job])
        return mend(self.pool, [job], [report(job, seen, {str(file): source.encode()})], kept, report)


@contextmanager
def bench_in(folder: Path) -> Iterator[Bench]:
    with pytest.MonkeyPatch.context() as patch, Pool(1) as pool:
        patch.chdir(folder)
        yield Bench(pool, folder)


def mended(mending: Mending) -> Mended:
    found = mending.reports[0].mended
    assert found is not None
    return found
