"""Two versions of a program, called alike: what a caller could tell apart."""

from __future__ import annotations

import importlib.util
import random
import warnings
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from math import inf, nan
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import torch
from adversarial import Program
from torch import Tensor, nn

Seen: TypeAlias = dict[str, Any]

LANGUAGE = {"torch": torch, "t": torch.tensor, "g": lambda values: torch.tensor(values, requires_grad=True)}
LANGUAGE |= {"nan": nan, "inf": inf}
KINDS = {torch.float32: "f32", torch.float16: "f16", torch.int64: "i64", torch.int8: "i8", torch.bool: "bool"}


class Difference(NamedTuple):
    call: str
    what: str
    text: str

    @property
    def counts(self) -> bool:
        """Of compiled code; graphs say in their own way that an assertion does not hold."""
        return self.what not in {"printed", "warned", "random", "error"}

    def __str__(self) -> str:
        return f"{self.call}: {self.what}: {self.text}"


def differences(program: Program, before: Path, after: Path) -> list[str]:
    """One line for each thing by which a call can tell the two files apart, run eagerly."""
    return [str(item) for item in _differences(observed(program, before), observed(program, after))]


def differences_as_given(program: Program, before: Path, after: Path) -> list[str]:
    """The same for calls with tensors of the kinds that `verify` was given: of others it proves nothing.

    Compiled too, where compiling the unchanged program made no difference; a guarded `print` may be gone then.
    """
    eager = observed(program, before)
    found = _differences(eager, observed(program, after))
    own = {item.call for item in _differences(eager, observed(program, before, compiled_eagerly)) if item.counts}
    compiled = _differences(eager, observed(program, after, compiled_eagerly))
    found += [item for item in compiled if item.counts and item.call not in own]
    return [str(item) for item in found if _as_given(program, item.call)]


def _as_given(program: Program, call: str) -> bool:
    if program.inputs is None or call == "use":
        return True
    given = tensors(eval(f"[{call.partition(' ')[2]}]", dict(LANGUAGE)))
    return [(KINDS.get(tensor.dtype, ""), tensor.dim()) for tensor in given if tensor.is_contiguous()] == program.kinds


def compiled_eagerly(function: Callable[..., Any]) -> Callable[..., Any]:
    torch._dynamo.reset()
    return torch.compile(function, backend="eager")


def graphs_and_breaks(program: Program, path: Path) -> int:
    """How often Dynamo began a graph anew, for whatever reason."""
    torch._dynamo.utils.counters.clear()
    observed(program, path, compiled_eagerly)
    counters = torch._dynamo.utils.counters
    return sum(counters["graph_break"].values()) + counters["stats"]["unique_graphs"]


def observed(program: Program, path: Path, compile: Callable[[Any], Any] | None = None) -> dict[str, Seen]:
    """What each call shows, in training and in evaluation mode; each mode has a program of its own."""
    kept = dict(vars(random))
    try:
        return _observed(program, path, compile)
    finally:
        vars(random).update(kept)  # a program that puts its own there at import is not to be seen by the next one


def _observed(program: Program, path: Path, compile: Callable[[Any], Any] | None) -> dict[str, Seen]:
    shown: dict[str, Seen] = {}
    for training in (True, False) if program.target == "Net" else (True,):
        module = loaded(path)
        target = getattr(module, program.target)
        called = made = target().train(training) if program.target == "Net" else target
        if compile is not None:
            called = compile(made)
        for number, arguments in enumerate(program.calls):
            shown[f"{number}{'' if training else ',eval'} {arguments}"] = _call(called, made, arguments)
    if program.use and compile is None:
        scope: dict[str, Any] = dict(LANGUAGE)
        exec(program.use, scope)
        module = loaded(path)
        shown["use"] = _watched(lambda: seen(scope["use"](module)))
    return shown


def loaded(path: Path) -> ModuleType:
    _seed()
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _seed() -> None:
    random.seed(0)
    np.random.seed(0)
    torch.manual_seed(0)


def _call(called: Callable[..., Any], owner: Any, source: str) -> Seen:
    arguments = eval(f"[{source}]", dict(LANGUAGE))
    module = owner if isinstance(owner, nn.Module) else None
    shown = _watched(lambda: _passed(called(*arguments), arguments))
    shown["arguments"] = seen(arguments)
    leaves = tensors([arguments, list(module.parameters()) if module else []])
    shown["gradients"] = [_gradient(tensor) for tensor in leaves]
    if module is not None:
        shown["attributes"] = _attributes(module)
        module.zero_grad()
    return shown


def _watched(action: Callable[[], Any]) -> Seen:
    shown: Seen = {}
    _seed()
    with warnings.catch_warnings(record=True) as warned, redirect_stdout(StringIO()) as out, redirect_stderr(out):
        warnings.simplefilter("always")
        try:
            shown["result"] = action()
        except Exception as error:
            shown["error"] = (type(error).__qualname__, str(error))
    shown["printed"] = out.getvalue()
    shown["warned"] = [str(one.message) for one in warned if one.category is UserWarning]
    shown["random"] = (torch.rand(1).item(), random.random(), np.random.rand())
    return shown


def _passed(result: Any, arguments: list[Any]) -> Any:
    """The result and its memory, and a backward pass through it."""
    given = tensors(arguments)
    owned = [[(one is tensor, _shared(one, tensor)) for tensor in given] for one in tensors(result)]
    shown = seen(result), owned
    ends = [one.double().sum() for one in tensors(result) if one.requires_grad and one.dtype.is_floating_point]
    if ends:
        sum(ends, torch.zeros((), dtype=torch.float64)).backward()
    return shown


def _shared(one: Tensor, other: Tensor) -> bool:
    return one.untyped_storage().data_ptr() == other.untyped_storage().data_ptr() and one.numel() > 0


def _attributes(module: nn.Module) -> dict[str, Any]:
    """Public ones, and the state: a number may be held by a buffer, `use` says what that does to callers."""
    held = {name: value for name, value in vars(module).items() if not name.startswith("_") and name != "training"}
    held |= dict(module.named_parameters()) | dict(module.named_buffers())
    return {"state": list(module.state_dict()), **{name: _number(held[name]) for name in sorted(held)}}


def _number(value: Any) -> Any:
    if isinstance(value, Tensor) and value.dim() == 0:
        return repr(value.item())
    return repr(value) if isinstance(value, int | float) else seen(value)


def _gradient(tensor: Tensor) -> Any:
    return None if not tensor.is_leaf or tensor.grad is None else seen(tensor.grad)


def tensors(value: Any) -> list[Tensor]:
    return list(_tensors(value))


def _tensors(value: Any) -> Iterator[Tensor]:
    match value:
        case Tensor():
            yield value
        case list() | tuple():
            for item in value:
                yield from _tensors(item)
        case dict():
            yield from _tensors(list(value.values()))


def seen(value: Any) -> Any:
    """Values of which equal ones can't be told apart, to the last bit but for the bits of NaN."""
    match value:
        case Tensor():
            return (type(value).__name__, value.dtype, tuple(value.shape), value.requires_grad, _bits(value))
        case list() | tuple():
            return (type(value).__name__, [seen(item) for item in value])
        case dict():
            return ("dict", [(seen(key), seen(item)) for key, item in value.items()])
        case int() | float() | str() | None:
            return (type(value).__name__, repr(value))
        case _:
            return type(value).__name__


def _bits(tensor: Tensor) -> tuple[Any, ...]:
    flat = tensor.detach().as_subclass(Tensor).reshape(-1)
    return tuple(repr(item) for item in flat.tolist())


def _differences(one: dict[str, Seen], other: dict[str, Seen]) -> list[Difference]:
    return [
        Difference(call, what, f"{shown.get(what)} → {other[call].get(what)}")
        for call, shown in one.items()
        if call in other
        for what in sorted(shown.keys() | other[call].keys())
        if shown.get(what) != other[call].get(what)
    ]
