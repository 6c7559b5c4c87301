"""One file a fix: `fix` takes the slice of a finding's statement and gives the edits, or None where it does not apply.

Importing a module of this package imports libcst; `suggest` does so only for a rule that names a fix.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from importlib import import_module
from typing import TYPE_CHECKING

from ..findings import Fix
from ..ir import Span
from ..symbols import Module

if TYPE_CHECKING:
    from ..slice import Slice


def suggest(
    names: Iterable[str], module: Module, span: Span, path: str, capturing: tuple[Module, str] | None = None
) -> tuple[Fix, ...]:
    """What the fixes of these names propose for the statement at `span`; `path` is the file's name in the edits.
    `capturing` is the file that compiles, with its name, where `fullgraph=True` would capture what is found.
    """
    from ..slice import statement_at

    found = statement_at(module, span, capturing)
    proposed = [] if found is None else list(_proposed(names, found, path))
    helping = [fix for fix in proposed if fix.is_applicable]
    return tuple(helping or proposed)


def _proposed(names: Iterable[str], found: Slice, path: str) -> Iterator[Fix]:
    from libcst import CSTValidationError

    from ..slice import CommentLostError

    for name in names:
        try:
            fix: Fix | None = import_module(f".{name}", __package__).fix(found, path)
        except (CommentLostError, CSTValidationError):  # the latter of `if(a and b):`, where an `a` needs a space
            continue
        if fix is not None:
            yield fix
