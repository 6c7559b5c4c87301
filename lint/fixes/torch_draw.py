"""A number that numpy draws and that only takes part in arithmetic with tensors → a draw of torch's, which is captured.

The numbers are others: torch's generator is seeded apart from numpy's.
"""

from __future__ import annotations

import libcst as cst
import libcst.matchers as m

from ..arithmetic import torch_name
from ..findings import Fix
from ..joining import value_joins
from ..slice import Slice

NUMPY = m.Attribute(value=m.Name("np") | m.Name("numpy"), attr=m.Name("random"))
DRAWS = {
    ("rand", 0): "{torch}.rand(())",
    ("random", 0): "{torch}.rand(())",
    ("random_sample", 0): "{torch}.rand(())",
    ("randn", 0): "{torch}.randn(())",
    ("uniform", 2): "{torch}.empty(()).uniform_({0}, {1})",
    ("normal", 2): "{torch}.empty(()).normal_({0}, {1})",
    ("randint", 2): "{torch}.randint({0}, {1}, ())",
}


def fix(found: Slice, path: str) -> Fix | None:
    call, torch = found.underlined, torch_name(found.module, found.function)
    match call:
        case cst.Call(func=cst.Attribute(value=module, attr=cst.Name(value=name)), args=args) if m.matches(
            module, NUMPY
        ):
            template = DRAWS.get((name, len(args)))
            plain = all(m.matches(arg, m.Arg(star="", keyword=None)) for arg in args)
            if template is None or not plain or torch is None:
                return None
            if not value_joins(found, call):
                return None
            drawn = template.format(*(found.code(arg.value) for arg in args), torch=torch)
            return Fix("draw with torch", "unsafe", (found.replace(path, call, cst.parse_expression(drawn)),))
    return None
