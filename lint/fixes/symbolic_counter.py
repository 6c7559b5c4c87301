"""An int attribute that a module counts with → symbolic while its method is traced, by a decorator that says so.

Ints of modules are guarded by value unless `allow_unspec_int_on_nn_module` is set; the decorator sets it for this
method alone. Eagerly the method does what it did. Not for a method whose decorators already change Dynamo's settings.
"""

from __future__ import annotations

import libcst as cst
import libcst.matchers as m

from ..arithmetic import torch_name
from ..findings import Fix
from ..search import findall
from ..slice import Slice

PATCHED = m.Name("patch_dynamo_config") | m.Attribute(attr=m.Name("patch_dynamo_config"))


def fix(found: Slice, path: str) -> Fix | None:
    torch, function = torch_name(found.module, found.function), found.function
    if torch is None or function is None or findall(function, PATCHED):
        return None
    first = function.params.params[:1]
    if not first or first[0].name.value != "self":
        return None  # a function inside a method
    call = f"{torch}._dynamo.patch_dynamo_config(allow_unspec_int_on_nn_module=True)"
    decorated = function.with_changes(decorators=[*function.decorators, cst.Decorator(cst.parse_expression(call))])
    return Fix("trace the counter as a symbolic int", "unsafe", (found.replace(path, function, decorated),))
