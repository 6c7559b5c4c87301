"""What the rules say of a line: a `Hit`, and the `Emission` that adds where and under which conditions it holds."""

from __future__ import annotations

from msgspec import Struct

from .findings import Confidence, Effect, When
from .ir import Span


class Site(Struct, frozen=True):
    """A call on the way from the entry to a line."""

    path: str
    """Absolute."""
    function: str
    span: Span


class Hit(Struct, frozen=True):
    """A rule's answer to a fact."""

    code: str
    span: Span
    confidence: Confidence
    message: str = ""
    """What to say instead of the rule's own message."""
    gb: tuple[str, ...] | None = None
    note: str = ""
    """Why this is only a note, empty where it is not."""
    wrapped_by: str = ""
    """The id of the break that Dynamo reports around this one, in a loop or an unknown context."""
    fixable: bool = True
    """The rule's fix, if it has one, may apply here."""


class Emission(Struct, frozen=True):
    """A hit, with where and under which conditions it holds; `calls` leads back to the entry, innermost call first."""

    hit: Hit
    effect: Effect
    path: str
    """Absolute."""
    function: str
    when: When
    demanded: bool
    """The code itself asks for `fullgraph=True`."""
    calls: tuple[Site, ...] = ()
    repeated: bool = False
    """Stands, or is called, in a loop."""
    doubtful: bool = False
    """Stands, or is called, in a branch that an unknown Python value decides."""
    conditional: bool = False
    """Stands, or is called, in any branch that may not be taken."""
