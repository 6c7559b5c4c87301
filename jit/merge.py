"""Makes one observation of two runs of one target, the second in the other mode."""

from __future__ import annotations

from dataclasses import replace

from .events import Observation, Status


def merged(first: Observation, second: Observation, remark: str) -> Observation:
    """Frames, graphs and breaks of the second run are numbered after those of the first. The worse status counts."""
    numbers = (_number(item.frame) for item in first.traced)
    frames = 1 + max((int(number) for number in numbers if number.isdecimal()), default=-1)
    graphs = max((item.number for item in first.graphs), default=0)
    known = {item.site for item in first.breaks}
    breaks = max((item.number for item in first.breaks), default=0)
    new = (replace(item, number=item.number + breaks) for item in second.breaks if item.site not in known)
    worse = second if first.status is Status.OK else first
    return replace(
        first,
        status=worse.status,
        detail=worse.detail,
        output=worse.output,
        breaks=tuple(sorted((*first.breaks, *new), key=lambda item: item.sort_key)),
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
        lowered=(*first.lowered, *(replace(item, graph=item.graph + graphs) for item in second.lowered)),
        stages=(*first.stages, *(replace(item, graph=item.graph + graphs) for item in second.stages)),
        calls=(*first.calls, *second.calls),
        remarks=tuple(dict.fromkeys((*first.remarks, remark, *second.remarks))),
    )


def _number(frame: str) -> str:
    return frame.partition("/")[0]


def _after(frame: str, first: int) -> str:
    """The id with its frame's number moved up; ids without a number stay as they are."""
    number, slash, rest = frame.partition("/")
    return f"{int(number) + first}{slash}{rest}" if number.isdecimal() else frame
