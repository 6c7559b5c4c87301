"""Runs a target's program in this process: a script or module as `__main__`, a pytest test, or compiled calls of an
object. What was made up on the way, and which call begins, become events.
"""

from __future__ import annotations

import contextlib
import inspect
import random
import runpy
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from functools import partial
from importlib.machinery import SourceFileLoader
from types import ModuleType
from typing import Any

import torch

from . import construct, infer, inputs
from .capture.breaks import told
from .events import Called, Event, Remark
from .mend.others import others
from .mend.stage import remember
from .numberless import Numberless
from .run_test import run_test
from .targets import Job, Module, Object, PytestTest, Script, Settings, TargetError, parse_target
from .vary import Call, variations

FAKE = (
    "traced with tensors that hold no numbers: graph breaks are real, but nothing was computed or compared, and where "
    "Python reads a number it gets 1"
)
Emit = Callable[[Event], None]


def run(job: Job, emit: Emit) -> None:
    """Return when the program has ended; whatever it raises passes through."""
    match job.target.program:
        case Script() as script:
            run_script(script)
        case Module(name=name, arguments=arguments):
            sys.argv[:] = [name, *arguments]
            sys.path.insert(0, "")
            runpy.run_module(name, run_name="__main__", alter_sys=True)
        case PytestTest() as test:
            run_test(test)
        case Object() as wanted:
            sys.argv[:] = [str(wanted.path)]
            with _surroundings(job.settings):
                Caller(wanted, job.settings, emit, trying=job.trial is not None and job.trial.others).run()
    for thread in threading.enumerate():
        if thread is not threading.current_thread() and not thread.daemon:
            thread.join()


def run_script(script: Script) -> None:
    loader = SourceFileLoader("__main__", str(script.path))
    source = loader.get_data(str(script.path))
    code = loader.source_to_code(source, str(script.path))
    remember(str(script.path), source)
    module = ModuleType("__main__")
    module.__dict__.update(__file__=str(script.path), __builtins__=__builtins__)
    sys.modules["__main__"] = module
    sys.argv[:] = [script.shown, *script.arguments]
    sys.path.insert(0, str(script.path.resolve().parent))
    exec(code, module.__dict__)


@contextlib.contextmanager
def _surroundings(settings: Settings) -> Iterator[None]:
    """What holds while an object is imported, made and called."""
    with contextlib.ExitStack() as stack:
        if settings.fake:
            stack.enter_context(Numberless())
        if settings.vary:
            # Every variation may cost a compilation that no program would ask for; the limit is not to count them.
            limit = torch._dynamo.config.recompile_limit + 10 * len(settings.vary)
            stack.enter_context(torch._dynamo.config.patch(recompile_limit=limit))
        yield


class Caller:
    """Compiles one object, unless the program has done so itself, and calls it."""

    def __init__(self, wanted: Object, settings: Settings, emit: Emit, trying: bool) -> None:
        self._wanted = wanted
        self._settings = settings
        self._emit = emit
        self._trying = trying
        self._calls = 0

    def run(self) -> None:
        if self._settings.fake:
            self._emit(Remark(FAKE))
        given = [inputs.parse(text) for text in self._settings.inputs]
        args, kwargs = self._given(given)
        function = self._found(args, kwargs)
        guessed = infer.arguments(function, args, kwargs, self._wanted.qualname)
        for remark in guessed.remarks:
            self._emit(Remark(remark))
        module = function if isinstance(function, torch.nn.Module) else getattr(function, "__self__", None)
        call = Call(guessed.args, guessed.kwargs, module if isinstance(module, torch.nn.Module) else None)
        self._check(function, call)
        self._call_all(_compiled(function), self._on_device(self._with_defaults(function, call)))

    def _given(self, given: list[inputs.Argument | inputs.Factory]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The arguments that the command line names."""
        args: list[Any] = []
        kwargs: dict[str, Any] = {}
        for item in given:
            match item:
                case inputs.Factory(reference):
                    made_args, made_kwargs = infer.spread(_factory(reference)())
                    args += made_args
                    kwargs |= made_kwargs
                case inputs.Argument(None, value):
                    args.append(inputs.build(value))
                case inputs.Argument(str(name), value):
                    kwargs[name] = inputs.build(value)
        return tuple(args), kwargs

    def _found(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """What to call: the object named, or what it makes if it is a function that returns modules.

        Random weights are the same in each run, since a branch may depend on them.
        """
        torch.manual_seed(0)
        random.seed(0)
        holder = (
            construct.load_module(self._wanted.module) if self._wanted.module else construct.load(self._wanted.path)
        )
        training = bool(self._settings.training)
        constructor = construct.Constructor(self._settings.init, training, lambda text: self._emit(Remark(text)))
        found = constructor.resolve(holder, self._wanted)
        if inspect.isfunction(found) and not infer.required(inspect.signature(found)):
            inputs_fit = _binds(found, args, kwargs)
            if construct.returns_module(found) or not inputs_fit:
                return constructor.made(found)
        return found

    def _check(self, function: Any, call: Call) -> None:
        if not _binds(target := _signed(function), call.args, call.kwargs):
            try:
                inspect.signature(target).bind(*call.args, **call.kwargs)
            except TypeError as error:
                raise TargetError(f"{self._wanted.qualname}: {error}; give each argument with --input") from None

    def _with_defaults(self, function: Any, call: Call) -> Call:
        """With the scalars that parameters default to, if scalars are to be varied."""
        if "scalars" not in self._settings.vary:
            return call
        signature = inspect.signature(_signed(function))
        bound = signature.bind(*call.args, **call.kwargs).arguments
        defaults = {
            item.name: item.default
            for item in signature.parameters.values()
            if item.name not in bound
            and item.kind is not item.POSITIONAL_ONLY
            and isinstance(item.default, bool | int | float | str)
        }
        return Call(call.args, {**call.kwargs, **defaults}, call.module)

    def _on_device(self, call: Call) -> Call:
        if self._settings.device is None:
            return call
        if self._settings.fake:
            return self._on_fake_device(call, self._settings.device)
        if self._settings.device == "cuda" and not torch.cuda.is_available():
            raise TargetError("--device cuda: torch finds no GPU here; --fake does without one")
        if call.module is not None:
            call.module.to(self._settings.device)
        return call.mapped(partial(_moved, device=self._settings.device, gradients=True))

    def _on_fake_device(self, call: Call, name: str) -> Call:
        # With its number, or torch would ask a driver which device is the current one.
        device = "cuda:0" if name == "cuda" else name
        gradients = name == "cpu" or torch.cuda.is_available()
        if not gradients:
            # What records them asks the driver for a stream, and not every build of torch survives that.
            self._emit(Remark("nothing requires gradients: without a GPU torch cannot record them for one"))
        if call.module is not None:
            _move_fake(call.module, partial(_moved, device=device, gradients=gradients))
        return call.mapped(partial(_moved, device=device, gradients=gradients))

    def _call_all(self, compiled: Any, base: Call) -> None:
        result = self._call(compiled, base, "", "")
        if isinstance(result, torch.nn.Module):
            name = self._wanted.qualname
            raise TargetError(f"{name}() returned a module: write {self._wanted.qualname}() to verify what it returns")
        if self._trying:
            self._try_all(compiled, base)
        if not self._settings.vary:
            return
        self._call(compiled, base, "", "the same again")
        for kind in self._settings.vary:
            changed = list(variations(kind, base))
            if not changed:
                self._emit(Remark(f"--vary {kind}: nothing in this call that it could change"))
            for variation in changed:
                with contextlib.suppress(Exception):  # told by the event
                    self._call(compiled, variation.call, variation.label, variation.change)

    def _try_all(self, compiled: Any, base: Call) -> None:
        """Call with other inputs than were asked for, so that a change of meaning shows."""
        self._call(compiled, base, "", "the same again")
        if any(isinstance(inputs.parse(text), inputs.Factory) for text in self._settings.inputs):
            return
        for other in others(base):
            with contextlib.suppress(Exception):  # told by the event
                self._call(compiled, other.call, other.label, other.change)

    def _call(self, compiled: Any, call: Call, variation: str, change: str) -> Any:
        self._calls += 1
        self._emit(Called(self._calls, variation, change))
        around: AbstractContextManager[Any] = call.around()
        try:
            with around:
                return compiled(*call.args, **call.kwargs)
        except Exception as error:
            said = f"{type(error).__name__}: {told(error)}".strip(": ")
            self._emit(Called(self._calls, variation, change, said))
            raise


def _moved(tensor: torch.Tensor, device: str, gradients: bool) -> torch.Tensor:
    return tensor.detach().to(device).requires_grad_(tensor.requires_grad and gradients)


def _move_fake(module: torch.nn.Module, move: Callable[[torch.Tensor], torch.Tensor]) -> None:
    """`module.to`, which cannot swap the contents of fake tensors."""
    moved: dict[int, Any] = {}
    for owner in module.modules():
        for name, parameter in owner.named_parameters(recurse=False, remove_duplicate=False):
            if id(parameter) not in moved:
                new = move(parameter)
                moved[id(parameter)] = torch.nn.Parameter(new, requires_grad=new.requires_grad)
            owner._parameters[name] = moved[id(parameter)]
        for name, buffer in owner.named_buffers(recurse=False, remove_duplicate=False):
            owner._buffers[name] = moved.setdefault(id(buffer), move(buffer))


def _compiled(function: Any) -> Any:
    known = hasattr(function, "_torchdynamo_orig_callable") or hasattr(function, "_orig_mod")
    return function if known else torch.compile(function)


def _signed(function: Any) -> Any:
    """Whose signature counts."""
    return function.forward if isinstance(function, torch.nn.Module) else function


def _binds(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    try:
        inspect.signature(function).bind(*args, **kwargs)
    except TypeError:
        return False
    return True


def _factory(reference: str) -> Callable[[], Any]:
    """The function behind `PATH::QUALNAME` or `package.module:name`."""
    program = parse_target(reference).program
    if not isinstance(program, Object):
        raise TargetError(f"--input {reference!r} does not name a function")
    holder = construct.load_module(program.module) if program.module else construct.load(program.path)
    for name in program.qualname.split("."):
        if not hasattr(holder, name):
            raise TargetError(f"--input {reference!r}: {construct.described(holder)} has no {name!r}")
        holder = getattr(holder, name)
    if not callable(holder):
        raise TargetError(f"--input {reference!r} is {construct.described(holder)}, not a function")
    made: Callable[[], Any] = holder
    return made
