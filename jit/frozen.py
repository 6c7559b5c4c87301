"""In the child: records the calls of compiled functions, and after the program's end changes the sources of frozen
values and calls once more. Each such call runs in a process of its own, forked from the program's.
"""

from __future__ import annotations

import abc
import contextlib
import ctypes
import importlib.machinery
import importlib.util
import inspect
import json
import os
import random
import select
import signal
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import asdict
from functools import partial, wraps
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import torch
import torch.distributed as dist
from torch.utils import _pytree as pytree
from torch.utils.hooks import RemovableHandle

from . import compiled_calls
from .compiled_calls import intercepted
from .digest import Digest, digest
from .events import Event, Probed, Result, Traced
from .sources import Kind, Source, Watch

RECORDED = 200
"""Calls."""
PATIENCE_S = 20.0
DRAWS = 3
OMP_PAUSE_HARD = 2
EAGER, COMPILED = "force_eager", "fail_on_recompile"
"""Torch's stances. In the second one an error, which names it, says that guards have failed."""
UNCHANGEABLE = (Kind.HOOKS, Kind.CLASSES, Kind.GUARDS)
"""Only the program itself knows how to change these."""
HOOKS = ("forward_pre_hook", "forward_hook", "full_backward_pre_hook", "full_backward_hook")
HOOKED = (
    *((torch.nn.Module, f"register_{name}") for name in HOOKS),
    *((torch.nn.modules.module, f"register_module_{name}") for name in HOOKS),
)
"""What registers hooks, of a module and of all."""
NOTHING = contextlib.nullcontext()
Change = Callable[[], object]


class Call(NamedTuple):
    """A call of a compiled function, to be repeated."""

    compiled: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]

    def __call__(self, times: int) -> Digest:
        return digest([self.compiled(*self.args, **self.kwargs) for _ in range(times)])


@contextlib.contextmanager
def watched(watch: Watch | None, emit: Callable[[Event], None]) -> Iterator[Callable[[Event], None]]:
    """Gives the function to hand events to; the probes come when the context closes."""
    if watch is None:
        yield emit
        return
    watcher = Watcher(watch, emit)
    with watcher.watching():
        yield watcher.emit
    if not watch.eager:
        watcher.probe()


class Watcher:
    """Stands between the program and its compiled functions, and between Dynamo's events and their reader."""

    def __init__(self, watch: Watch, emit: Callable[[Event], None]) -> None:
        self._watch = watch
        self._emit = emit
        self._recorded = 0
        self._traced: set[str] = set()
        self._last: dict[str, Call] = {}
        self._entries: dict[str, str] = {}
        """Which entry came to a frame."""
        self._hooks: list[None] = []
        """One for each run of a hook that is counted."""

    def emit(self, event: Event) -> None:
        if isinstance(event, Traced):
            self._traced.add(event.frame)
        self._emit(event)

    @contextlib.contextmanager
    def watching(self) -> Iterator[None]:
        stance = torch.compiler.set_stance(EAGER) if self._watch.eager else NOTHING
        with intercepted(self._watched), self._counting_hooks(), stance:
            yield

    def _watched(self, call: compiled_calls.Call) -> Any:
        if self._recorded == RECORDED:
            return call()
        self._recorded += 1
        return self._recording(call.entry, Call(call.compiled, call.args, call.kwargs))

    @contextlib.contextmanager
    def _counting_hooks(self) -> Iterator[None]:
        """Hooks that the program registers after its first call count how often they run, if it matters."""
        with contextlib.ExitStack() as stack:
            for owner, name in HOOKED if any(source.kind is Kind.HOOKS for source in self._watch.sources) else ():
                original = getattr(owner, name)
                stack.callback(setattr, owner, name, original)
                setattr(owner, name, self._registering(original))
            yield

    def _registering(self, original: Callable[..., Any]) -> Callable[..., Any]:
        signature = inspect.signature(original)

        @wraps(original)
        def register(*args: Any, **kwargs: Any) -> Any:
            bound = signature.bind(*args, **kwargs)
            if self._recorded:
                bound.arguments["hook"] = _counted(bound.arguments["hook"], self._hooks)
            return original(*bound.args, **bound.kwargs)

        return register

    def _recording(self, entry: str, call: Call) -> Any:
        arguments = digest((call.args, call.kwargs))
        args, kwargs = pytree.tree_map_only(torch.Tensor, _copy, (call.args, call.kwargs))
        self._last[entry] = Call(call.compiled, args, kwargs)
        states = tuple(_state(source) for source in self._watch.sources)
        self._traced.clear()
        value = call.compiled(*call.args, **call.kwargs)
        frames = tuple(sorted(self._traced))
        self._entries.update(dict.fromkeys(frames, entry))
        self._emit(Result(entry, arguments, digest(value), states, frames, len(self._hooks)))
        return value

    def probe(self) -> None:
        """After the program: change each source, for each entry that may have come to it."""
        for number, source in enumerate(self._watch.sources):
            if source.kind in UNCHANGEABLE:
                continue
            for entry, call in self._last.items():
                self._emit(Probed(number, entry, *_probed(source, call)))


def _counted(hook: Callable[..., Any], runs: list[None]) -> Callable[..., Any]:
    @wraps(hook)
    def run(*args: Any, **kwargs: Any) -> Any:
        runs.append(None)
        return hook(*args, **kwargs)

    return run


def _copy(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.detach().clone().requires_grad_(tensor.requires_grad)


def _probed(source: Source, call: Call) -> tuple[bool | None, str]:
    """Whether the compiled function is stale; None if that cannot be told, and why."""
    if source.kind is Kind.DRAW:
        return _drawn(call)
    before, eager_before = _apart(call, COMPILED), _apart(call, EAGER)
    if not isinstance(before, Digest) or not isinstance(eager_before, Digest):
        return None, "calling once more after the program's end compiles again or fails"
    if not before.same(eager_before):
        return None, "compiled and eager differ without any change"
    for words, change in _changes(source):
        eager = _apart(call, EAGER, change=change)
        if not isinstance(eager, Digest) or eager.same(eager_before):
            continue
        match _apart(call, COMPILED, change=change):
            case Digest() as compiled if compiled.same(before):
                return True, f"{words}, the compiled function gives the old result"
            case Digest() as compiled if compiled.same(eager):
                return False, f"{words}, the compiled function follows"
            case str(error) if COMPILED in error:
                return False, f"{words}, it is compiled again"
    return None, f"no other value of {source.name} that was tried changes the result"


def _drawn(call: Call) -> tuple[bool | None, str]:
    """Calls that draw anew give results that differ."""
    compiled, eager = _apart(call, COMPILED, times=DRAWS), _apart(call, EAGER, times=DRAWS)
    if not isinstance(compiled, Digest) or not isinstance(eager, Digest) or _repeats(eager):
        return None, f"{DRAWS} calls show no draw"
    if _repeats(compiled):
        return True, f"{DRAWS} calls give one result, and others in eager"
    return False, "each call draws anew"


def _repeats(found: Digest) -> bool:
    """Whether all calls gave the same numbers."""
    numbers = found.numbers
    return numbers == numbers[: len(numbers) // DRAWS] * DRAWS


def _apart(call: Call, stance: str, times: int = 1, change: Change | None = None) -> Digest | str:
    """What the call gives in a fork of this process, or the text of its error, empty if it does not come to an end."""
    read_end, write_end = os.pipe()
    _end_idle_threads()
    child = os.fork()
    if child == 0:
        with contextlib.suppress(BaseException):
            os.write(write_end, json.dumps(_attempt(call, stance, times, change)).encode())
        os._exit(0)
    os.close(write_end)
    data = b""
    with contextlib.closing(os.fdopen(read_end, "rb")) as pipe:
        while select.select([pipe], [], [], PATIENCE_S)[0] and (part := os.read(pipe.fileno(), 1 << 16)):
            data += part
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    match json.loads(data or b'""'):
        case str(error):
            return error
        case fields:
            return Digest.restored(fields)


def _end_idle_threads() -> None:
    """OpenMP keeps its threads for the next loop, and a fork would wait for ever for those that it does not have."""
    pause = getattr(ctypes.CDLL(None), "omp_pause_resource_all", None)
    if pause is not None:
        pause(OMP_PAUSE_HARD)


def _attempt(call: Call, stance: str, times: int, change: Change | None) -> dict[str, Any] | str:
    """In the fork. The number of threads stays as it is, because compiled functions are guarded on it."""
    torch.manual_seed(0)
    random.seed(0)
    try:
        if change:
            change()
        with torch.compiler.set_stance(stance):
            return asdict(call(times))
    except Exception as error:
        return str(error)


def _state(source: Source) -> str:
    """What changes when the source does."""
    match source.kind:
        case Kind.ENVIRONMENT:
            return repr(os.environ.get(source.name))
        case Kind.STATE:
            with contextlib.suppress(Exception):
                return repr(ASKED[source.name](source.argument))
            return ""
        case Kind.DRAW:
            # No two draws are expected to be alike.
            return str(random.SystemRandom().random())
        case Kind.HOOKS:
            return str(RemovableHandle.next_id)
        case Kind.CLASSES:
            return str(abc.get_cache_token())
        case Kind.GUARDS:
            return ""
        case Kind.ATTRIBUTE:
            owner, name = _owner(source)
            value = inspect.getattr_static(owner, name, None)
            return repr(value) if isinstance(value, bool | int | float | str) else f"object {id(value)}"


ASKED: dict[str, Callable[[str], object]] = {
    "getrecursionlimit": lambda _: sys.getrecursionlimit(),
    "gettempdir": lambda _: tempfile.gettempdir(),
    "is_initialized": lambda _: dist.is_initialized(),
    "find_spec": lambda name: importlib.util.find_spec(name) is not None,
}


def _changes(source: Source) -> Iterator[tuple[str, Change]]:
    """Each in words, and what does it."""
    match source.kind:
        case Kind.ENVIRONMENT:
            for value in source.values:
                yield f"with {source.name} set to {value!r}", partial(os.environ.__setitem__, source.name, value)
            yield f"without {source.name}", partial(os.environ.pop, source.name, None)
        case Kind.STATE if source.name in CHANGED:
            words, change = CHANGED[source.name]
            yield words, partial(change, source.argument)
        case Kind.ATTRIBUTE:
            owner, name = _owner(source)
            for other in _others(inspect.getattr_static(owner, name, None)):
                yield f"with another {source.name}", partial(setattr, owner, name, other)


def _initialise(_: str) -> None:
    store = dist.HashStore()  # type: ignore[attr-defined]
    dist.init_process_group("gloo", store=store, rank=0, world_size=1)


def _provide(name: str) -> None:
    module = sys.modules[name] = ModuleType(name)
    module.__spec__ = importlib.machinery.ModuleSpec(name, None)


CHANGED: dict[str, tuple[str, Callable[[str], object]]] = {
    "getrecursionlimit": ("with another limit", lambda _: sys.setrecursionlimit(sys.getrecursionlimit() + 1000)),
    "gettempdir": ("with another folder", lambda _: setattr(tempfile, "tempdir", os.sep)),
    "is_initialized": ("in a process group", _initialise),
    "find_spec": ("with the module there", _provide),
}


def _owner(source: Source) -> tuple[object, str]:
    """What holds the attribute, and its name there."""
    path = Path(source.path).absolute()
    modules = (module for module in list(sys.modules.values()) if getattr(module, "__file__", None))
    owner: object = next((module for module in modules if Path(module.__file__ or "").absolute() == path), None)
    *owners, name = source.name.split(".")
    for step in owners:
        owner = inspect.getattr_static(owner, step, None)
    if not isinstance(owner, ModuleType) and name not in getattr(owner, "__dict__", {}):
        classes = (*(owner.__mro__ if isinstance(owner, type) else ()), *type(owner).__mro__)
        owner = next((cls for cls in classes if name in vars(cls)), owner)
    return owner, name


def _others(value: object) -> Iterator[object]:
    """Values that are unlike it, of its own kind."""
    match value:
        case bool():
            yield not value
        case int() | float():
            yield value + 1
        case str():
            yield f"{value}_"
        case classmethod() | staticmethod():
            yield type(value)(_other_result(value.__func__))
        case _ if callable(value):
            yield _other_result(value)


def _other_result(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function put in the place of one, as a patch does: its numbers are greater by one."""

    def replacement(*args: Any, **kwargs: Any) -> Any:
        result = function(*args, **kwargs)
        return pytree.tree_map_only((torch.Tensor, int, float), lambda value: value + 1, result)

    return replacement
