"""A value that leaves compiled code and can't be rebuilt outside: a generator, a match, an id, a profiler."""

from __future__ import annotations

from collections.abc import Iterator

from fullgraph.rules.model import Rule

from ..emission import Hit
from ..facts import Fact, Return, Store
from ..findings import Confidence
from ..interpret.frame import Frame
from ..values import IDENTITY, ExternalObject, Host, Mapping, ModuleRef, Sequence, Tuple_, Value, known
from ..vocabulary import HANDLE

FACTS = (Return, Store)

CLASSES = {
    HANDLE: "GB0092",
    "re.Pattern": "GB0092",
    "re.Match": "GB0092",
    "torch.profiler.profile": "GB0212",
    "torch.autograd.profiler.profile": "GB0212",
}


def check(fact: Fact, frame: Frame, rule: Rule) -> Iterator[Hit]:
    match fact:
        case Return(value=value):
            ids = sorted({gb for part in _parts(value) for gb in _ids_of(part)})
            if ids:
                yield Hit(rule.code, fact.span, Confidence.CERTAIN, gb=tuple(ids))
        case Store(value=ExternalObject(cls=cls), receiver=receiver) if cls == HANDLE:
            known_id = "GB0100" if isinstance(receiver, ModuleRef) else "GB0092"
            yield Hit(rule.code, fact.span, Confidence.CERTAIN, gb=(known_id,))


def _parts(value: Value) -> Iterator[Value]:
    value = known(value)
    yield value
    match value:
        case Tuple_(items=items):
            for item in items:
                yield from _parts(item)
        case Mapping(items=pairs):
            for _, item in pairs:
                yield from _parts(item)


def _ids_of(value: Value) -> tuple[str, ...]:
    match value:
        case Host(origin=origin) if origin == IDENTITY:
            return ("GB4501",)
        case Sequence(kind="generator"):
            return ("GB8335", "GB2533")  # a context manager made by a decorated generator is the second
        case ExternalObject(cls=cls) if cls in CLASSES:
            return (CLASSES[cls],)
    return ()
