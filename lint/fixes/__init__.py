"""One file a fix: `fix` takes the slice of a finding's statement and gives the edit, or None where it does not apply.

Importing a module of this package imports libcst; `suggest` does so only for a rule that names a fix.
"""

from __future__ import annotations

from importlib import import_module
from typing import cast

from ..findings import Fix
from ..ir import Span
from ..symbols import Module


def suggest(name: str, module: Module, span: Span, path: str) -> tuple[Fix, ...]:
    """What the fix called `name` proposes for the statement at `span`; `path` is the file's name in the edits."""
    from ..slice import statement_at

    found = statement_at(module, span)
    if found is None:
        return ()
    fix = cast("Fix | None", import_module(f".{name}", __package__).fix(found, path))
    return () if fix is None else (fix,)
