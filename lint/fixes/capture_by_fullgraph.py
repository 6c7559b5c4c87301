"""Values and sizes read from tensors → captured, by `fullgraph=True` where the file of the entry compiles.

Legal only where the entry's file compiles at one place, which says nothing of `fullgraph` yet, and where nothing is
known that would break the graph even so: with `fullgraph=True` that would be an error.
"""

from __future__ import annotations

from ..arithmetic import torch_name
from ..compile_site import compile_sites, with_argument
from ..findings import Fix
from ..slice import Slice


def fix(found: Slice, path: str) -> Fix | None:
    if found.capturing is None:
        return None
    module, shown = found.capturing
    torch = torch_name(module)
    sites = () if torch is None else compile_sites(module, torch)
    edit = with_argument(module, sites[0], shown, "fullgraph", "True") if len(sites) == 1 else None
    return None if edit is None else Fix("capture it with `fullgraph=True`", "unsafe", (edit,))
