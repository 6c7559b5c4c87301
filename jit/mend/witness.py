"""In the child: keeps what a program does where it calls compiled functions, and holds it against another record."""

from __future__ import annotations

import contextlib
import hashlib
import inspect
import pickle
import random
import signal
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import FrameType
from typing import Any

import torch
from torch._dynamo import external_utils

from .. import vary
from ..capture.paths import Paths
from ..compiled_calls import Call, Interception, copied, intercepted
from ..events import Called, Event, Traced
from .composition import composed
from .difference import compared
from .others import others
from .snapshot import VARIABLE, Form, Named, Photographer, Snapshot
from .stage import staged
from .trial import GRADIENTS, OTHERS, Executed, Trial
from .watch import watching
from .work import Work, working

RECORDED = 200
"""Calls."""
LOOKED_INTO = 24
"""Calls after which the state of the whole program is kept; otherwise it is at the end only."""
DERIVED = 12
"""Calls of which gradients are computed."""
ENTRIES = 8
"""Functions that are called with other inputs after the program's end."""
FIRST_S, LATER_S = 5.0, 60.0
"""How long a call that nobody asked for may take, in the first run and in those held against it."""


@dataclass(frozen=True, slots=True)
class Seen:
    """A call of a compiled function, and what it left behind."""

    entry: str
    change: str
    """What the call had other than the first one, in words."""
    made_up: str
    """The label of a call that nobody had asked for."""
    arguments: Snapshot
    """As they came."""
    error: tuple[str, str] | None
    value: Snapshot
    after: Snapshot
    """The arguments, and what they hold, when it is done."""
    gradients: Snapshot
    state: Snapshot
    """Of the object called, and the variables of modules."""
    random: bytes
    """A digest of all random number generators' states."""


@dataclass
class Record:
    """All that is kept of a run."""

    calls: list[Seen] = field(default_factory=list)
    end: Snapshot = field(default_factory=dict)
    random: bytes = b""


@contextlib.contextmanager
def witnessed(
    trial: Trial | None, scratch: Path, paths: Paths, emit: Callable[[Event], None]
) -> Iterator[Callable[[Event], None]]:
    """Gives the function to hand events to; what differs is told when the context closes."""
    if trial is None:
        yield emit
        return
    witness = Witness(trial, paths, emit)
    with staged(dict(trial.contents), scratch):
        with witness.watching():
            yield witness.emit
            witness.end()
        witness.finish()


class Witness:
    """Stands between the program and its compiled functions, and between events and their reader."""

    def __init__(self, trial: Trial, paths: Paths, emit: Callable[[Event], None]) -> None:
        self._trial = trial
        self._paths = paths
        self._emit = emit
        self._photographer = Photographer(paths.first_party)
        self._record = Record()
        self._reference: Record = pickle.loads(trial.against.read_bytes()) if trial.against else self._record
        self._owners: dict[str, Any] = {}
        self._places: dict[tuple[str, int], Any] = {}
        """File and line that compiled something, and whose method it is."""
        self._work, self._asked_for = Work(), 0
        self._entries: dict[str, tuple[Call, bool]] = {}
        """The first call of each, its tensors copied, and whether gradients were recorded."""
        self._interception = Interception(self._call, self._made)
        self._is_object = False
        self._change, self._made_up, self._gave_up = "", "", False
        self._tracing = False
        self._steps: list[float] = []
        self._lines: dict[str, set[int]] = {}

    def emit(self, event: Event) -> None:
        match event:
            case Called(variation=variation, change=change):
                self._is_object = True
                self._change, self._made_up = change, variation if variation in (OTHERS, GRADIENTS) else ""
            case Traced():
                self._tracing = True
        self._emit(event)

    @contextlib.contextmanager
    def watching(self) -> Iterator[None]:
        import torch._functorch.config as functorch
        import torch._inductor.config as inductor

        _seed()
        # Gradients are computed beside the program's own, and random numbers have to be those of eager code.
        changed = (functorch.patch(donated_buffer=False), inductor.patch(fallback_random=True))
        with contextlib.ExitStack() as stack:
            for context in changed:
                stack.enter_context(context)
            self._interception = stack.enter_context(intercepted(self._call, self._made))
            stack.enter_context(watching(self._trial.watched, self._watched))
            self._work = stack.enter_context(working())
            if self._trial.lines:
                stack.callback(sys.settrace, sys.gettrace())
                sys.settrace(self._trace)
            yield

    def _watched(self, made: Any) -> Any:
        """What was compiled as a whole: its calls go through ours still."""
        if not isinstance(made, torch.nn.Module):
            return self._interception.standing(made, made)
        made._compiled_call_impl = self._interception.standing(made._call_impl, made._call_impl)
        return made

    def _trace(self, frame: FrameType, kind: str, _: object) -> Callable[..., Any] | None:
        name = frame.f_code.co_filename
        if not self._paths.first_party(name):
            return None
        lines = self._lines.setdefault(self._paths.shown(name), set())

        def line(frame: FrameType, kind: str, _: object) -> Callable[..., Any]:
            lines.add(frame.f_lineno)
            return line

        return line(frame, kind, None)

    def _call(self, call: Call) -> Any:
        if call.owner is None:
            call = call._replace(entry=getattr(_written(call.function), "__qualname__", call.entry))
        if len(self._record.calls) >= RECORDED and not self._made_up:
            return self._made(call)
        owner = {call.entry: call.owner if call.owner is not None else call.function}
        self._owners |= owner
        self._places.setdefault(call.place, call.owner)
        if call.entry not in self._entries and len(self._entries) < ENTRIES:
            self._entries[call.entry] = copied(call), torch.is_grad_enabled()
        if self._made_up:
            _seed()  # whatever a call before it has drawn
        before = self._photographer.take(_arguments(call))
        memory = self._photographer.memory((*_arguments(call), *owner.items()))
        error, value = None, None
        self._tracing = False
        begun = time.perf_counter()
        try:
            with self._limited():
                value = self._made(call)
            return value
        except Exception as raised:
            error = (type(raised).__name__, str(raised))
            raise
        finally:
            if error is None and not self._tracing:
                self._steps.append(time.perf_counter() - begun)
            self._keep(call, before, error, value, memory)

    @contextlib.contextmanager
    def _limited(self) -> Iterator[None]:
        """Calls that nobody asked for may go on for ever: those that did in the first run are not made again."""
        if not self._made_up:
            yield
            return
        number, known = len(self._record.calls), self._reference.calls
        if self._gave_up or (number < len(known) and (known[number].error or ("",))[0] == TimeoutError.__name__):
            raise TimeoutError

        def stop(*_: object) -> None:
            self._gave_up = True
            raise TimeoutError

        before = signal.signal(signal.SIGALRM, stop)
        signal.setitimer(signal.ITIMER_REAL, FIRST_S if self._reference is self._record else LATER_S)
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)

    def _made(self, call: Call) -> Any:
        # Not by a stance of torch's, under which operators that take functions do otherwise than in eager code.
        return call.eagerly() if self._trial.eager else call()

    def _keep(
        self, call: Call, before: Snapshot, error: tuple[str, str] | None, value: Any, memory: dict[int, str]
    ) -> None:
        number = len(self._record.calls)
        returned = self._photographer.take([("the result", value)], memory)
        drawn = _random()
        derived = error is None and (self._made_up or number < DERIVED)
        self._record.calls.append(
            Seen(
                call.entry,
                self._change,
                self._made_up,
                before,
                error,
                returned,
                self._photographer.take(_arguments(call)),
                self._gradients(call, value) if derived else {},
                self._state() if self._made_up or number < LOOKED_INTO else {},
                drawn,
            )
        )

    def _state(self) -> Snapshot:
        return self._photographer.take((*self._owners.items(), *self._variables()))

    def _variables(self) -> Named:
        """Of all first-party modules, functions with what they have captured among them."""
        for name, module in sorted(sys.modules.items()):
            file = getattr(module, "__file__", None)
            if isinstance(file, str) and (name == "__main__" or self._paths.first_party(file)):
                yield from ((f"{name}{VARIABLE}{key}", item) for key, item in vars(module).items() if key[:2] != "__")

    def _gradients(self, call: Call, value: Any) -> Snapshot:
        """Of what is returned, in the direction of fixed numbers, for all that it may depend on: none is not zeros."""
        walk = self._photographer.walk
        ends = [item for _, item in walk([("", value)]) if isinstance(item, torch.Tensor) and item.grad_fn is not None]
        owner = () if call.owner is None else [(call.entry, call.owner)]
        sources = {
            name: item
            for name, item in walk((*_arguments(call), *owner))
            if isinstance(item, torch.Tensor) and item.requires_grad
        }
        if not (ends and sources):
            return {}
        state = _states()
        try:
            found = torch.autograd.grad(
                ends,
                list(sources.values()),
                [_direction(item) for item in ends],
                retain_graph=True,
                allow_unused=True,
            )
        except Exception as error:  # whatever the program's own functions raise there
            return self._photographer.take([("gradients", f"{type(error).__name__}: {error}")])
        finally:
            _restore(state)
        return self._photographer.take(
            (f"the gradient of {name}", Form("none") if item is None else item)
            for name, item in zip(sources, found, strict=True)
        )

    def end(self) -> None:
        """After the program: keep what it has left, then call each of its compiled functions with other inputs."""
        self._record.end, self._record.random = self._state(), _random()
        self._asked_for = self._work.elements
        if self._is_object or not self._trial.others:
            return  # it has been called so already
        for first, gradients in self._entries.values():
            self._gave_up = False
            for other in others(vary.Call(first.args, first.kwargs, None)):
                self._change, self._made_up = other.change, other.label
                call = first._replace(args=other.call.args, kwargs=other.call.kwargs)
                with torch.set_grad_enabled(gradients), contextlib.suppress(Exception):
                    self._interception.make(call)

    def finish(self) -> None:
        """Compare and tell."""
        if self._trial.record:
            self._trial.record.write_bytes(pickle.dumps(self._record))
        for path, lines in sorted(self._lines.items()):
            self._emit(Executed(path, tuple(sorted(lines))))
        for (file, line), owner in self._places.items():
            if isinstance(owner, torch.nn.Module) and self._paths.first_party(file) and not self._trial.eager:
                self._emit(composed(owner, self._paths.shown(file), line, self._paths.shown))
        step = min(self._steps, default=None)
        found = compared(self._record, self._reference, self._trial.eager, self._trial.unsteady, step)
        self._emit(replace(found, elements=self._asked_for))


def _arguments(call: Call) -> Named:
    """By their names, wherever they have one."""
    given: dict[str, Any] = {str(number): value for number, value in enumerate(call.args, 1)} | call.kwargs
    with contextlib.suppress(TypeError, ValueError):
        signature = inspect.signature(getattr(call.owner, "forward", _written(call.function)))
        given = signature.bind(*call.args, **call.kwargs).arguments
    yield from ((f"argument {name}", value) for name, value in given.items())


def _written(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function inside all decorators: those that change Dynamo's settings name what they hold `func`."""
    held: Any = function
    while held is not None:
        function = held
        held = getattr(function, "__wrapped__", None)
        if held is None and getattr(function, "__module__", "") == external_utils.__name__:
            held = inspect.getclosurevars(function).nonlocals.get("func")
    return function


def _direction(tensor: torch.Tensor) -> torch.Tensor:
    """Another factor for each element, so that none can make up for another one."""
    factors = torch.linspace(0.5, 1.5, max(1, tensor.numel()), dtype=torch.float64, device="cpu")[: tensor.numel()]
    return factors.reshape(tensor.shape).to(tensor.device, tensor.dtype)


def _seed() -> None:
    torch.manual_seed(0)
    random.seed(0)
    if numpy := sys.modules.get("numpy"):
        numpy.random.seed(0)


def _states() -> tuple[Any, Any, Any]:
    numpy = sys.modules.get("numpy")
    return torch.get_rng_state(), random.getstate(), numpy and numpy.random.get_state()


def _restore(states: tuple[Any, Any, Any]) -> None:
    torch.set_rng_state(states[0])
    random.setstate(states[1])
    if states[2] is not None:
        sys.modules["numpy"].random.set_state(states[2])


def _random() -> bytes:
    torch_state, *others = _states()
    return hashlib.blake2b(bytes(torch_state.tolist()) + repr(others).encode(), digest_size=16).digest()
