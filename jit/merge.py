"""Makes one observation of several: of two runs of one target, the second in the other mode, or of many processes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import reduce

from .events import Break, Observation, Process, Share, Status


def merged(first: Observation, second: Observation, remark: str) -> Observation:
    """Breaks that both have are those of the first run. The worse status counts."""
    known = {item.site for item in first.breaks}
    new = tuple(item for item in second.breaks if item.site not in known)
    both = _joined(first, replace(second, breaks=new))
    worse = second if first.status is Status.OK else first
    return replace(
        both,
        status=worse.status,
        detail=worse.detail,
        output=worse.output,
        calls=(*first.calls, *second.calls),
        remarks=tuple(dict.fromkeys((*first.remarks, remark, *second.remarks))),
    )


def of_processes(target: str, seen: Sequence[tuple[Process, Observation]]) -> Observation:
    """What all processes of a program did, the breaks of one site counted together."""
    parts = [item for _, item in seen] or [Observation(target, Status.OK, None)]
    shares = tuple(
        Share(
            process,
            breaks=sum(item.count for item in part.breaks),
            recompiles=len(part.recompiles),
            graphs=sum(frame.graphs for frame in part.frames),
        )
        for process, part in seen
    )
    return replace(reduce(_joined, parts), shares=shares if len(shares) > 1 else ())


def _joined(first: Observation, second: Observation) -> Observation:
    """Frames, graphs and breaks of the second are numbered after those of the first."""
    numbers = (_number(item.frame) for item in first.traced)
    frames = 1 + max((int(number) for number in numbers if number.isdecimal()), default=-1)
    graphs = max((item.number for item in first.graphs), default=0)
    breaks = max((item.number for item in first.breaks), default=0)
    return replace(
        first,
        breaks=_counted((*first.breaks, *(replace(item, number=item.number + breaks) for item in second.breaks))),
        recompiles=(
            *first.recompiles,
            *(replace(item, frame=_after(item.frame, frames)) for item in second.recompiles),
        ),
        frames=(*first.frames, *(replace(item, id=_after(item.id, frames)) for item in second.frames)),
        graphs=(
            *first.graphs,
            *(replace(item, frame=_after(item.frame, frames), number=item.number + graphs) for item in second.graphs),
        ),
        failures=tuple(dict.fromkeys((*first.failures, *second.failures))),
        backend_errors=(
            *first.backend_errors,
            *(replace(item, frame=_after(item.frame, frames)) for item in second.backend_errors),
        ),
        traced=(*first.traced, *(replace(item, frame=_after(item.frame, frames)) for item in second.traced)),
        reused=first.reused | {_after(frame, frames) for frame in second.reused},
        varied=first.varied | {(_after(frame, frames), name) for frame, name in second.varied},
        lowered=(*first.lowered, *(replace(item, graph=item.graph + graphs) for item in second.lowered)),
        stages=(*first.stages, *(replace(item, graph=item.graph + graphs) for item in second.stages)),
        remarks=tuple(dict.fromkeys((*first.remarks, *second.remarks))),
    )


def _counted(breaks: Iterable[Break]) -> tuple[Break, ...]:
    """One break a site, which has as many as were met there."""
    sites: dict[object, Break] = {}
    for item in breaks:
        known = sites.get(item.site)
        sites[item.site] = replace(known, count=known.count + item.count) if known else item
    return tuple(sorted(sites.values(), key=lambda item: item.sort_key))


def _number(frame: str) -> str:
    return frame.partition("/")[0]


def _after(frame: str, first: int) -> str:
    """The id with its frame's number moved up; ids without a number stay as they are."""
    number, slash, rest = frame.partition("/")
    return f"{int(number) + first}{slash}{rest}" if number.isdecimal() else frame
