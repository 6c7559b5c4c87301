"""Turns calls inside Dynamo into events."""

from __future__ import annotations

import contextlib
import inspect
import itertools
import linecache
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial, wraps
from types import CodeType, FrameType, FunctionType
from typing import Any

import torch
from torch._dynamo import convert_frame, output_graph, symbolic_convert
from torch._dynamo import exc as dynamo
from torch._guards import CompileContext, TracingContext
from torch._subclasses.fake_tensor import FakeTensor
from torch.fx._lazy_graph_module import _LazyGraphModule
from torch.fx.experimental.symbolic_shapes import ShapeEnv
from torch.utils._traceback import shorten_filename

from ..events import (
    GRAPH_NUMBER,
    BackendError,
    Break,
    BreakKind,
    CallSite,
    Event,
    Failure,
    Frame,
    Graph,
    Recompile,
    Reuse,
    Traced,
)
from ..places import extents
from .breaks import account, is_limit, is_soft, told
from .calls import DYNAMO, Call, calls_in, user_name
from .conversion import Conversion
from .guards import GuardReader, anonymous, expression, mismatch
from .paths import Paths
from .versions import Wrapper, break_wrappers, source_name


@contextlib.contextmanager
def observe(emit: Callable[[Event], None], paths: Paths) -> Iterator[None]:
    """Report what Dynamo does, as it does it, until the context closes."""
    with contextlib.ExitStack() as stack:
        for owner, name, wrap in Recorder(emit, paths).wrappers():
            original = getattr(owner, name)
            stack.callback(setattr, owner, name, original)
            setattr(owner, name, wrap(original))
        yield


class Recorder:
    """Replaces what Dynamo calls at the moments that become events."""

    def __init__(self, emit: Callable[[Event], None], paths: Paths) -> None:
        self._emit = emit
        self._paths = paths
        self._open: list[Conversion] = []
        self._breaks = itertools.count(1)
        self._graphs = itertools.count(1)
        self._users: dict[str, CodeType] = {}
        """The first of the user's functions that each frame traced."""
        self._files: dict[str, str] = {}
        """Files of traced functions, by the short names that guards give them."""
        self._guards = GuardReader(paths, self._files)
        self._gb_ids: dict[str, str] = dynamo._load_gb_type_to_gb_id_map()

    def wrappers(self) -> tuple[Wrapper, ...]:
        return (
            (convert_frame.ConvertFrameAssert, "__call__", self._wrap_conversion),
            (convert_frame, "get_and_maybe_log_recompilation_reasons", self._wrap_recompilation),
            (symbolic_convert.InstructionTranslatorBase, "step", self._wrap_step),
            (output_graph.OutputGraph, "call_user_compiler", self._wrap_backend),
            (ShapeEnv, "create_symbol", self._wrap_symbol),
            (ShapeEnv, "_set_replacement", self._wrap_replacement),
            *break_wrappers(self._logged, self._skipped),
        )

    def _wrap_conversion(self, original: Any) -> Any:
        recorder = self

        def convert(self: Any, frame: FrameType, *args: Any, skip: int = 0, **kwargs: Any) -> Any:
            caller = sys._getframe()
            conversion = Conversion(frame.f_code, caller, training=_training(frame), wrapped=_wrapped(frame))
            recorder._open.append(conversion)
            try:
                result = original(self, frame, *args, skip=skip + 1, **kwargs)
            except Exception as error:
                recorder._failed(conversion, error, raises=self._one_graph or bool(self._box.error_on_graph_break))
                raise
            else:
                recorder._converted(conversion, result.guarded_code)
                return result
            finally:
                recorder._open.pop()
                recorder._close(conversion)

        # To find its caller, Dynamo walks up past the frames of this file: ours has to look like one of them.
        convert.__code__ = convert.__code__.replace(co_filename=convert_frame.__file__)
        return convert

    def _wrap_recompilation(self, original: Any) -> Any:
        def reasons(cache_entries: Any, frame: FrameType, *args: Any, **kwargs: Any) -> Any:
            found = original(cache_entries, frame, *args, **kwargs)
            if self._open:
                self._open[-1].recompile = self._recompile(frame, found)
            return found

        return reasons

    def _wrap_step(self, original: Any) -> Any:
        def step(translator: Any) -> bool:
            pointer = translator.instruction_pointer
            if self._open and pointer is not None and (positions := translator.instructions[pointer].positions):
                code, conversion = translator.f_code, self._open[-1]
                if code not in conversion.traced:
                    self._enter(conversion, code)
                conversion.traced[code].add(positions)
                conversion.last = (code, positions)
            going_on: bool = original(translator)
            return going_on

        return step

    def _wrap_backend(self, original: Any) -> Any:
        def call_user_compiler(graph: Any, gm: torch.fx.GraphModule, example_inputs: Any) -> Any:
            started = time.perf_counter()
            number = gm.meta[GRAPH_NUMBER] = next(self._graphs)
            ops = sum(node.op.startswith("call_") for node in gm.graph.nodes)
            sources = _symbolic_inputs(graph)
            compiled = original(graph, gm, example_inputs)
            if self._open:
                seconds = round(time.perf_counter() - started, 4)
                self._open[-1].graphs.append(Graph(_compile_id(), ops, seconds, number))
            return self._watched(compiled, _compile_id().partition("/")[0], sources)

        return call_user_compiler

    def _wrap_symbol(self, original: Any) -> Any:
        def create_symbol(environment: Any, val: Any, source: Any, *args: Any, **kwargs: Any) -> Any:
            made = original(environment, val, source, *args, **kwargs)
            if self._open:
                self._open[-1].shapes.created(environment, made, source_name(source), str(val))
            return made

        return create_symbol

    def _wrap_replacement(self, original: Any) -> Any:
        def set_replacement(environment: Any, symbol: Any, by: Any, msg: str) -> None:
            if self._open and by.is_number:  # a symbol may as well be replaced by another one
                inside = calls_in(TracingContext.extract_stack()) or self._open[-1].calls(LookupError())
                self._open[-1].shapes.replaced(environment, str(symbol), by, self._site(self._first_party(inside)[-1]))
            original(environment, symbol, by, msg)

        return set_replacement

    def _watched(self, compiled: Callable[..., Any], frame: str, symbolic: dict[int, str]) -> Callable[..., Any]:
        """The compiled graph, which tells when it runs for the second time, and with other numbers than at first."""
        owner = getattr(compiled, "__self__", None)
        if isinstance(owner, _LazyGraphModule) and getattr(compiled, "__name__", "") == "_lazy_forward":
            # Its first call would go through the module's hooks; Dynamo takes it off too, where it recognises it.
            owner.real_recompile()
            compiled = owner.forward
        calls = itertools.count(1)
        first: dict[int, Any] = {}

        @wraps(compiled)
        def run(*args: Any) -> Any:
            if (call := next(calls)) == 1:
                first.update({place: _number(args[place]) for place in symbolic})
            elif call == 2:
                self._emit(Reuse(frame))
            if varied := [place for place, value in first.items() if _number(args[place]) != value]:
                self._emit(Reuse(frame, tuple(symbolic[place] for place in varied)))
                for place in varied:
                    del first[place]
            return compiled(*args)

        return run

    def _enter(self, conversion: Conversion, code: CodeType) -> None:
        """Tracing comes to a function for the first time."""
        conversion.id = _compile_id()
        conversion.traced[code] = set()
        if self._paths.first_party(code.co_filename):
            self._users.setdefault(conversion.frame, code)
            short: str = shorten_filename(code.co_filename)  # type: ignore[no-untyped-call]
            self._files[short] = code.co_filename

    def _logged(self, error: BaseException) -> None:
        """Dynamo is about to log a break."""
        if self._open:
            self._broken(self._open[-1], error, BreakKind.GRAPH_BREAK)

    def _skipped(self) -> None:
        """The break logged last has cost the whole frame."""
        if self._open and (breaks := self._open[-1].breaks):
            self._broken(self._open[-1], breaks[-1][0], BreakKind.SKIPPED_FRAME)

    def _converted(self, conversion: Conversion, guarded: Any) -> None:
        if guarded is None:
            return
        for graph in conversion.graphs:
            self._emit(graph)
        own = self._own(conversion.code, str(guarded.compile_id))
        self._emit(
            Frame(
                id=str(guarded.compile_id),
                path=self._paths.shown(own.co_filename),
                line=own.co_firstlineno,
                function=user_name(own.co_qualname),
                graphs=len(conversion.graphs),
                ops=sum(graph.ops for graph in conversion.graphs),
                compile_s=round(time.perf_counter() - conversion.started, 4),
                guards=tuple(map(anonymous, guarded.guard_manager.code_parts)),
                guard_tree=self._guards.tree(guarded.guard_manager.root),
                symbols=conversion.shapes.symbols(),
                phases=conversion.clock.read(),
                stack=self._callers(conversion),
            )
        )

    def _failed(self, conversion: Conversion, error: Exception, raises: bool) -> None:
        if isinstance(error, dynamo.BackendCompilerFailed):
            inner = error.inner_exception
            self._emit(BackendError(conversion.id, error.backend_name, *_told(inner), self._place(conversion, error)))
            return
        if is_limit(error) and conversion.recompile:
            conversion.recompile = replace(conversion.recompile, limit_hit=True)
        elif is_soft(error) and (conversion.traced or self._paths.first_party(conversion.code.co_filename)):
            # Refused before its first line, a library's function costs nothing: a break above made it run eagerly.
            self._broken(conversion, error, BreakKind.GRAPH_BREAK if raises else BreakKind.SKIPPED_FRAME)
        if raises or not is_soft(error):
            kind, reason = _told(error)
            self._emit(Failure(kind, *self._place(conversion, error), reason))

    def _close(self, conversion: Conversion) -> None:
        # What a wrapper calls besides, before it comes to the function that it wraps, is not what was compiled.
        for code, positions in sorted(conversion.traced.items(), key=lambda item: item[0] not in conversion.wrapped):
            if self._paths.first_party(code.co_filename):
                path, name = self._paths.shown(code.co_filename), user_name(code.co_qualname)
                places = extents(positions, partial(linecache.getline, code.co_filename))
                self._emit(Traced(conversion.frame, path, name, places, conversion.training))
        if conversion.recompile:
            self._emit(conversion.recompile)

    def _broken(self, conversion: Conversion, error: BaseException, kind: BreakKind) -> None:
        """Report a break, or say of one reported before that it cost the whole frame."""
        for known, item in conversion.breaks:
            if known is error:
                self._emit(replace(item, kind=kind))
                return
        item = self._break(conversion, error, kind)
        conversion.breaks.append((error, item))
        self._emit(item)

    def _break(self, conversion: Conversion, error: BaseException, kind: BreakKind) -> Break:
        calls = conversion.calls(error)
        users = self._first_party(calls)
        site, cause, said = users[-1], calls[-1], account(error)
        column, end_column = site.columns
        return Break(
            number=next(self._breaks),
            kind=kind,
            path=self._paths.shown(site.filename),
            line=site.line,
            column=column,
            end_column=end_column,
            function=site.function,
            reason=said.reason,
            gb=self._gb_ids.get(said.gb_type),
            gb_type=said.gb_type,
            root=f"{self._paths.shown(cause.filename)}:{cause.line}",
            root_gb=self._gb_ids.get(said.root_type),
            stack=tuple(map(self._site, users[:-1])),
            hints=said.hints,
            in_library=site != cause,
        )

    def _recompile(self, frame: FrameType, reasons: list[str]) -> Recompile:
        own = self._own(frame.f_code, _compile_id())
        return Recompile(
            frame=_compile_id(),
            path=self._paths.shown(own.co_filename),
            line=own.co_firstlineno,
            function=user_name(own.co_qualname),
            failed_guards=tuple(map(expression, reasons)),
            guard_sites=self._guards.sites("\n".join(reasons)),
            mismatches=tuple(mismatch(reason, frame.f_locals) for reason in reasons),
            stack=self._callers(self._open[-1]),
        )

    def _callers(self, conversion: Conversion) -> tuple[CallSite, ...]:
        return tuple(self._site(call) for call in conversion.callers() if self._paths.first_party(call.filename))

    def _own(self, code: CodeType, compile_id: str) -> CodeType:
        """The frame's code, or the user's function for which Dynamo's own wrapper around a module stands."""
        if not code.co_filename.startswith(DYNAMO):
            return code
        return self._users.get(compile_id.partition("/")[0], code)

    def _place(self, conversion: Conversion, error: BaseException) -> CallSite:
        return self._site(self._first_party(conversion.calls(error))[-1])

    def _site(self, call: Call) -> CallSite:
        return CallSite(self._paths.shown(call.filename), call.line, call.function)

    def _first_party(self, calls: list[Call]) -> list[Call]:
        """The user's own calls; when there are none, the innermost one has to do."""
        return [call for call in calls if self._paths.first_party(call.filename)] or calls[-1:]


def _symbolic_inputs(graph: Any) -> dict[int, str]:
    """The sources of the inputs that are sizes or numbers, by their positions."""
    return {
        position: source_name(argument.source)
        for position, argument in enumerate(graph.graphargs)
        if argument.pass_arg_as_tensor or isinstance(argument.example, torch.SymInt)
    }


def _number(argument: Any) -> Any:
    """A number that a graph is called with; None for an array, or where there are no numbers."""
    if not isinstance(argument, torch.Tensor):
        return argument
    # Floats are passed as tensors, and so are numpy's arrays.
    return None if isinstance(argument, FakeTensor) or argument.numel() != 1 else argument.item()


def _training(frame: FrameType) -> bool | None:
    modules = (value for value in frame.f_locals.values() if isinstance(value, torch.nn.Module))
    # A module whose constructor has not come to the base's knows nothing of itself yet.
    return next((vars(module).get("training") for module in modules), None)


def _wrapped(frame: FrameType) -> frozenset[CodeType]:
    """The functions that a wrapper's closure holds, without the wrappers of other decorators around them."""
    free = map(frame.f_locals.get, frame.f_code.co_freevars)
    made_for = (inspect.unwrap(value) for value in free if isinstance(value, FunctionType))
    return frozenset(function.__code__ for function in made_for if isinstance(function, FunctionType))


def _told(error: BaseException) -> tuple[str, str]:
    """The error's type and the first line of its text."""
    return type(error).__name__, told(error)


def _compile_id() -> str:
    return str(CompileContext.current_compile_id())
