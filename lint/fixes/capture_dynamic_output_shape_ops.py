"""Dynamo may be told to capture sizes that depend on values: a switch for the whole program, only to be read."""

from __future__ import annotations

from ..findings import Fix
from ..slice import Slice
from ..switches import switched_on


def fix(found: Slice, path: str) -> Fix | None:
    return switched_on(found, path, "capture_dynamic_output_shape_ops")
