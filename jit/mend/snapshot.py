"""Values in brief, to be compared with those of another process: each tensor, number and text under a name."""

from __future__ import annotations

import contextlib
import ctypes
import hashlib
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from types import FunctionType, MethodType, ModuleType
from typing import Any

import torch
from torch.utils._python_dispatch import _disable_current_modes

SAMPLE = 1 << 20
"""Elements of a tensor that are kept beside its digest."""
SMALL_SAMPLE = 1 << 12
BUDGET = 256 << 20
"""Bytes of samples; those of later tensors are small."""
MOST_LEAVES = 20_000
DEPTH = 8
ITEMS = 1000
PLAIN = (bool, int, str, bytes, complex, type(None), torch.dtype, torch.device, torch.Size, range)
INTERNAL = frozenset(vars(torch.nn.Module())) | {
    *("_torchdynamo_orig_callable", "_forward_pre_hooks_with_kwargs", "_compiled_call_impl", "_is_torch_compile")
}
"""Attributes of every module: torch's own."""


@dataclass(frozen=True, slots=True)
class Leaf:
    """`form` is type and size of a tensor, or a value in words; `layout` its strides, `shared` whose memory it uses."""

    form: str
    layout: str = ""
    shared: str = ""
    digest: bytes = b""
    sample: torch.Tensor | None = None


class Form(str):
    """Says what something is that holds others."""


Snapshot = dict[str, Leaf]
VARIABLE = ": "
"""Stands in the names of variables between module and variable."""
Named = Iterator[tuple[str, Any]]


@dataclass
class Photographer:
    """Takes snapshots; `own` says whether a file is first-party, whose objects are looked into."""

    own: Callable[[str], bool]
    _spent: int = 0
    _owns: dict[str, bool] = field(default_factory=dict)

    def take(self, named: Iterable[tuple[str, Any]], memory: Mapping[int, str] | None = None) -> Snapshot:
        """`memory` names what lies at an address, to see what is shared with it; each tensor taken is added."""
        taken: Snapshot = {}
        known = None if memory is None else dict(memory)
        with torch.no_grad(), torch._C.DisableTorchFunction(), _disable_current_modes():
            for name, value in self.walk(named):
                taken[name] = self._leaf(value, known or {})
                if known is not None and isinstance(value, torch.Tensor) and (address := _address(value)):
                    known.setdefault(address, name)
                if len(taken) == MOST_LEAVES:
                    break
        return taken

    def memory(self, named: Iterable[tuple[str, Any]]) -> dict[int, str]:
        """Where the tensors lie, by address."""
        found: dict[int, str] = {}
        for name, value in self.walk(named):
            if isinstance(value, torch.Tensor) and (address := _address(value)):
                found.setdefault(address, name)
        return found

    def walk(self, named: Iterable[tuple[str, Any]]) -> Named:
        seen: dict[int, object] = {}
        for name, value in named:
            yield from self._walk(name, value, seen, DEPTH)

    def _walk(self, name: str, value: Any, seen: dict[int, object], depth: int) -> Named:
        if isinstance(value, (*PLAIN, float)):
            yield name, value
            return
        if isinstance(value, torch.Tensor):
            yield name, value
            if value.is_leaf and value.grad is not None:
                yield f"{name}.grad", value.grad
            return
        if isinstance(value, torch.nn.Module):
            # Names are as the user knows them, and may stand for the module itself: a compiled one is what it holds.
            value = getattr(value, "_orig_mod", value)
        if id(value) in seen or depth == 0:
            return
        seen[id(value)] = value  # kept, so that no other object gets its id
        for inner, item in self._inside(name, value):
            yield from self._walk(inner, item, seen, depth - 1)

    def _inside(self, name: str, value: Any) -> Named:
        match value:
            case torch.nn.Module():
                yield from _parts(name, value)
            case list() | tuple():
                yield name, Form(f"{type(value).__qualname__} of {len(value)}")
                yield from ((f"{name}[{at}]", item) for at, item in enumerate(value[:ITEMS]))
            case dict():
                keys = [key for key in value if isinstance(key, PLAIN)]
                yield name, Form(f"{type(value).__qualname__} of {len(value)}: {keys[:ITEMS]}")
                yield from ((f"{name}[{key!r}]", value[key]) for key in keys[:ITEMS])
            case set() | frozenset():
                yield name, Form(f"{type(value).__qualname__} of {len(value)}")
                known = sorted(repr(item) for item in value if isinstance(item, PLAIN))
                yield from ((f"{name} {item}", True) for item in known[:ITEMS])
            case bytearray():
                yield name, bytes(value)
            case torch.Generator():
                yield name, value.get_state()
            case FunctionType(__closure__=cells):
                yield from self._closure(name, value, cells or ())
            case MethodType():
                yield f"{name}.__self__", value.__self__
            case ModuleType():
                return
            case type():
                if self._is_own(value):
                    held = ((key, item) for key, item in vars(value).items() if key[:2] != "__")
                    yield from ((f"{name}.{key}", item) for key, item in held if not hasattr(item, "__get__"))
            case _:
                yield name, Form(f"a {type(value).__qualname__}")
                if self._is_own(type(value)):
                    yield from self._attributes(name, value)

    def _attributes(self, name: str, value: Any) -> Named:
        slots = (slot for cls in type(value).__mro__ for slot in getattr(cls, "__slots__", ()))
        for key in (*getattr(value, "__dict__", {}), *slots):
            with contextlib.suppress(AttributeError):
                yield f"{name}.{key}", object.__getattribute__(value, key)

    def _closure(self, name: str, function: FunctionType, cells: Iterable[Any]) -> Named:
        if self.own(function.__code__.co_filename):
            for key, cell in zip(function.__code__.co_freevars, cells, strict=False):
                with contextlib.suppress(ValueError):  # not bound yet
                    yield f"{name}.{key}", cell.cell_contents
            yield from ((f"{name}.{key}", item) for key, item in vars(function).items())

    def _is_own(self, cls: type) -> bool:
        if (known := self._owns.get(cls.__module__)) is None:
            file = getattr(sys.modules.get(cls.__module__), "__file__", None)
            known = self._owns[cls.__module__] = file is not None and self.own(file)
        return known or cls.__module__ == "__main__"

    def _leaf(self, value: Any, memory: Mapping[int, str]) -> Leaf:
        match value:
            case torch.Tensor():
                return self._tensor(value, memory)
            case Form():
                return Leaf(str(value))
            case float():
                number = torch.tensor([value], dtype=torch.float64)
                return Leaf("float", digest=_digest(_canonical(number)), sample=number)
        return Leaf(f"{type(value).__qualname__} {value!r}")

    def _tensor(self, value: torch.Tensor, memory: Mapping[int, str]) -> Leaf:
        kind = "" if type(value) in (torch.Tensor, torch.nn.Parameter) else f"{type(value).__qualname__} of "
        grad = ", with gradient" if value.requires_grad else ""
        form = f"{kind}{str(value.dtype).removeprefix('torch.')}{list(value.shape)}{grad}"
        if value.device.type != "cpu":
            form = f"{form} on {value.device}"
        shared = memory.get(_address(value), "")
        try:
            layout = str(value.stride()) if value.layout is torch.strided else str(value.layout)
            dense = value.detach() if value.layout is torch.strided else value.detach().to_dense()
            plain = dense.resolve_conj().resolve_neg().cpu().contiguous().as_subclass(torch.Tensor)
            whole = _canonical(torch.view_as_real(plain) if plain.is_complex() else plain)
            return Leaf(form, layout, shared, _digest(whole), self._sample(whole))
        except (RuntimeError, NotImplementedError):  # a tensor without numbers, or of a kind that cannot be read
            return Leaf(form, shared=shared)

    def _sample(self, whole: torch.Tensor) -> torch.Tensor | None:
        if not whole.is_floating_point():
            return None
        most = SAMPLE if self._spent < BUDGET else SMALL_SAMPLE
        flat = whole.reshape(-1)
        kept = flat[:: -(-max(1, len(flat)) // most)].clone()
        self._spent += kept.nbytes
        return kept


def _parts(name: str, module: torch.nn.Module) -> Named:
    yield f"{name}.training", module.training
    for kind in (module._parameters, module._buffers, module._modules):
        yield from ((f"{name}.{key}", item) for key, item in kind.items())
    yield from ((f"{name}.{key}", item) for key, item in vars(module).items() if key not in INTERNAL)


def _address(value: torch.Tensor) -> int:
    with contextlib.suppress(RuntimeError, NotImplementedError):
        return value.untyped_storage().data_ptr()
    return 0


def _canonical(value: torch.Tensor) -> torch.Tensor:
    """With one and the same NaN for all; zeros keep their sign."""
    if not value.is_floating_point():
        return value
    return torch.where(value.isnan(), torch.full((), torch.nan, dtype=value.dtype, device="cpu"), value)


def _digest(value: torch.Tensor) -> bytes:
    data = value.contiguous()
    held = ctypes.string_at(data.data_ptr(), data.nbytes) if data.nbytes else b""
    return hashlib.blake2b(held, digest_size=16).digest()
