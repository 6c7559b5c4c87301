"""What torch's functions, tensor methods and attributes return and take, from the table generated out of torch's own
stubs.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from fullgraph import rules

from .vocabulary import words

ALIASES = {
    "torch._dynamo.disable": "torch.compiler.disable",
    "torch._dynamo.allow_in_graph": "torch.compiler.allow_in_graph",
    "torch._dynamo.is_compiling": "torch.compiler.is_compiling",
    "torch._dynamo.external_utils.is_compiling": "torch.compiler.is_compiling",
    "torch._utils.is_compiling": "torch.compiler.is_compiling",
    "torch.compiler.is_dynamo_compiling": "torch.compiler.is_compiling",
    "torch._dynamo.nonstrict_trace": "torch.compiler.nonstrict_trace",
    "torch._dynamo.graph_break": "torch._dynamo.graph_break",
    "torch.nn.parameter.Parameter": "torch.nn.Parameter",
    "torch.nn.modules.Module": "torch.nn.Module",
    "torch.nn.modules.module.Module": "torch.nn.Module",
    "torch.nn.modules.container.ModuleList": "torch.nn.ModuleList",
    "torch.nn.parallel.distributed.DistributedDataParallel": "torch.nn.parallel.DistributedDataParallel",
    "torch._C._VariableFunctions": "torch",
    "torch._tensor.Tensor": "torch.Tensor",
    "torch._refs": "torch",
    "torch.functional": "torch",
}


@dataclass(frozen=True, slots=True)
class Arity:
    """What a call may pass, over all overloads; `most` is None where any number of positional arguments goes."""

    least: int
    most: int | None
    names: tuple[str, ...]
    keywords: frozenset[str] | None
    """All that may be passed by keyword; None where anything may."""


class TorchApi:
    """The table, expanded: qualified name → kind of result."""

    def __init__(self, table: dict[str, Any]) -> None:
        self._kinds: dict[str, str] = {}
        self.attributes: dict[str, str] = {}
        """Tensor attributes that are no methods → kind."""
        for namespace, kinds in table["kinds"].items():
            for kind, names in kinds.get("methods", kinds).items():
                self._kinds.update((f"{namespace}.{name}", kind) for name in names.split())
        for kind, names in table["kinds"]["torch.Tensor"]["attributes"].items():
            self.attributes.update((name, kind) for name in names.split())
        self._given: dict[str, dict[str, str]] = {
            name: dict(part.split("=") for part in text.split()) for name, text in table["given"].items()
        }
        self._draws = {f"{namespace}.{name}" for namespace, names in table["draws"].items() for name in names.split()}
        self._factories = {f"torch.{name}" for name in table["factories"].split()}
        self._modules: dict[str, str] = {
            f"torch.nn.{name}": kind for kind, names in table["modules"].items() for name in names.split()
        }
        self._dynamic = {name for _, names in table["tags"].items() for name in names.split()}
        self._arity: dict[str, Arity] = {}
        for namespace, rows in table["parameters"].items():
            for shape, names in rows.items():
                positional, _, others = shape.partition(" |")
                least, most, *parameters = positional.split()
                keywords = None if others.strip() == "*" else frozenset((*parameters, *others.split()))
                arity = Arity(int(least), None if most == "*" else int(most), tuple(parameters), keywords)
                self._arity.update((f"{namespace}.{name}", arity) for name in names.split())

    def knows(self, name: str) -> bool:
        return name in self._kinds or name in self._arity

    def kind(self, name: str) -> str | None:
        """`tensor`, `tensors`, `int`, … for a function or tensor method; None where the table does not know it."""
        return self._kinds.get(name)

    def kind_given(self, name: str, arguments: set[str]) -> str | None:
        """The kind of result when these arguments are passed: `x.max(dim=0)` gives a pair, `x.max()` a tensor."""
        for argument, kind in self._given.get(name, {}).items():
            if argument in arguments:
                return kind
        return self._kinds.get(name)

    def is_draw(self, name: str) -> bool:
        """Whether the result is drawn from a random generator."""
        return name in self._draws

    def is_factory(self, name: str) -> bool:
        return name in self._factories

    def module_kind(self, name: str) -> str:
        """What calling an instance of this `torch.nn` class returns."""
        return self._modules.get(name, "unknown")

    def is_module_class(self, name: str) -> bool:
        return name.startswith("torch.nn.") and name.rpartition(".")[2][:1].isupper() and name not in _NOT_MODULES

    def has_dynamic_shape(self, name: str) -> bool:
        return name in self._dynamic

    def arity(self, name: str) -> Arity | None:
        return self._arity.get(name)

    def is_tensor_only(self, method: str) -> bool:
        """Whether a method of this name on an unknown receiver speaks for a tensor."""
        return f"torch.Tensor.{method}" in self._kinds and method not in _COMMON_METHODS

    def canonical(self, name: str) -> str:
        """One name for what torch exports under several."""
        if not name.startswith("torch."):
            return name
        found = ALIASES.get(name)
        if found is not None:
            return found
        parent, _, last = name.rpartition(".")
        base = ALIASES.get(parent)
        return f"{base}.{last}" if base else name


_NOT_MODULES = {"torch.nn.Parameter", "torch.nn.Buffer", "torch.nn.UninitializedParameter"}
_COMMON_METHODS = {
    name for cls in (str, bytes, list, dict, set, tuple, int, float, complex) for name in dir(cls)
} | words(
    """
    apply backward cpu cuda data device double dtype eval filter float get_device half map_ name names new
    requires_grad_ select set_ share_memory_ size step storage to trace train type where
    """
)
"""Methods that modules, optimizers, strings, containers and data frames have too."""


@cache
def load() -> TorchApi:
    """The table shipped with the rules."""
    table = Path(rules.__file__).with_name("torch_api.json").read_text(encoding="utf-8")
    return TorchApi(json.loads(table))
