"""Watches Dynamo inside this process: while `observe` is open, every break, recompile, compiled frame and traced line
becomes an event.

The only module that knows Dynamo's insides. The public log is not used because the program may reconfigure it.
"""

from __future__ import annotations

import contextlib
import dis
import itertools
import linecache
import re
import sys
import sysconfig
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial, wraps
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, NamedTuple

import torch
from torch._dynamo import convert_frame, output_graph, symbolic_convert
from torch._dynamo import exc as dynamo
from torch._guards import CompileContext
from torch.fx._lazy_graph_module import _LazyGraphModule
from torch.utils._traceback import shorten_filename

from .events import GRAPH_NUMBER, Break, BreakKind, CallSite, Event, Failure, Frame, Graph, Recompile, Reuse, Traced
from .places import code_points, extents

RECOMPILE_LIMIT = "Dynamo recompile limit exceeded"
WHILE_HANDLING = "*** While handling this graph break, another graph break occurred: ***"
RESUME = re.compile(r"torch_dynamo_resume_in_(.+)_at_\d+$")
GUARD_CALL = re.compile(r"# (\S+\.py):(\d+) in (\w+)")
DYNAMO = str(Path(convert_frame.__file__).parent)
OURS = Path(__file__).parent
STDLIB = Path(sysconfig.get_path("stdlib"))


@dataclass(frozen=True)
class Paths:
    """Which files are the user's own, and how a file is shown."""

    working: Path
    roots: tuple[Path, ...]
    _known: dict[str, bool] = field(default_factory=dict)

    def first_party(self, filename: str) -> bool:
        if (known := self._known.get(filename)) is None:
            known = self._known[filename] = self._decide(Path(filename))
        return known

    def _decide(self, path: Path) -> bool:
        library = {"site-packages", "dist-packages"} & set(path.parts)
        under = any(path.is_relative_to(root) for root in self.roots)
        return under and not library and not path.is_relative_to(OURS) and not path.is_relative_to(STDLIB)

    def shown(self, filename: str) -> str:
        path = Path(filename)
        return path.relative_to(self.working).as_posix() if path.is_relative_to(self.working) else path.as_posix()


class Call(NamedTuple):
    """One level of a Python call stack; columns count UTF-8 bytes and may be unknown."""

    filename: str
    line: int
    function: str
    column: int | None
    end_column: int | None


@dataclass
class Conversion:
    """One attempt of Dynamo's to compile one frame."""

    code: CodeType
    caller: FrameType
    started: float = field(default_factory=time.perf_counter)
    frame: str = ""
    traced: dict[CodeType, set[dis.Positions]] = field(default_factory=dict)
    last: tuple[CodeType, dis.Positions] | None = None
    """The instruction traced last."""
    graphs: list[Graph] = field(default_factory=list)
    breaks: list[tuple[BaseException, Break]] = field(default_factory=list)
    recompile: Recompile | None = None

    def qualified(self, call: Call) -> Call:
        """The call with its function's qualified name, if this conversion traced the line."""
        for code, positions in self.traced.items():
            same = code.co_filename == call.filename and _user_name(code.co_name) == call.function
            if same and any(position.lineno == call.line for position in positions):
                return call._replace(function=_user_name(code.co_qualname))
        return call


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
    """Turns calls inside Dynamo into events."""

    def __init__(self, emit: Callable[[Event], None], paths: Paths) -> None:
        self._emit = emit
        self._paths = paths
        self._open: list[Conversion] = []
        self._breaks = 0
        self._graphs = itertools.count(1)
        self._users: dict[str, CodeType] = {}
        """The first of the user's functions that each frame traced."""
        self._files: dict[str, str] = {}
        """Files of traced functions, by the short names that guards give them."""
        self._gb_ids: dict[str, str] = dynamo._load_gb_type_to_gb_id_map()

    def wrappers(self) -> tuple[tuple[Any, str, Callable[[Any], Any]], ...]:
        """What to replace: owner, attribute, and the wrapper to put around the original."""
        translator = symbolic_convert.InstructionTranslatorBase
        return (
            (convert_frame.ConvertFrameAssert, "__call__", self._wrap_conversion),
            (convert_frame, "get_and_maybe_log_recompilation_reasons", self._wrap_recompilation),
            (translator, "step", self._wrap_step),
            (translator, "log_graph_break", self._wrap_break),
            (output_graph.OutputGraph, "call_user_compiler", self._wrap_backend),
        )

    def _wrap_conversion(self, original: Any) -> Any:
        recorder = self

        def convert(self: Any, frame: FrameType, *args: Any, skip: int = 0, **kwargs: Any) -> Any:
            conversion = Conversion(frame.f_code, sys._getframe())
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
                self._open[-1].recompile = self._recompile(frame.f_code, found)
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

    def _wrap_break(self, original: Any) -> Any:
        def log_graph_break(translator: Any, code_options: Any, reason: str, exc: Any) -> None:
            if not exc.logged and self._open:
                self._broken(self._open[-1], exc, BreakKind.GRAPH_BREAK)
            original(translator, code_options, reason, exc)

        return log_graph_break

    def _wrap_backend(self, original: Any) -> Any:
        def call_user_compiler(graph: Any, gm: torch.fx.GraphModule, example_inputs: Any) -> Any:
            started = time.perf_counter()
            number = gm.meta[GRAPH_NUMBER] = next(self._graphs)
            ops = sum(node.op.startswith("call_") for node in gm.graph.nodes)
            compiled = original(graph, gm, example_inputs)
            if self._open:
                seconds = round(time.perf_counter() - started, 4)
                self._open[-1].graphs.append(Graph(_compile_id(), ops, seconds, number))
            return self._watched(compiled, _compile_id().partition("/")[0])

        return call_user_compiler

    def _watched(self, compiled: Callable[..., Any], frame: str) -> Callable[..., Any]:
        """The compiled graph, which tells when it runs for the second time."""
        owner = getattr(compiled, "__self__", None)
        if isinstance(owner, _LazyGraphModule) and getattr(compiled, "__name__", "") == "_lazy_forward":
            # Its first call would go through the module's hooks; Dynamo takes it off too, where it recognises it.
            owner.real_recompile()
            compiled = owner.forward
        calls = itertools.count(1)

        @wraps(compiled)
        def run(*args: Any) -> Any:
            if next(calls) == 2:
                self._emit(Reuse(frame))
            return compiled(*args)

        return run

    def _enter(self, conversion: Conversion, code: CodeType) -> None:
        """Tracing comes to a function for the first time."""
        conversion.frame = _compile_id().partition("/")[0]
        conversion.traced[code] = set()
        if self._paths.first_party(code.co_filename):
            self._users.setdefault(conversion.frame, code)
            short: str = shorten_filename(code.co_filename)  # type: ignore[no-untyped-call]
            self._files[short] = code.co_filename

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
                function=_user_name(own.co_qualname),
                graphs=len(conversion.graphs),
                ops=sum(graph.ops for graph in conversion.graphs),
                compile_s=round(time.perf_counter() - conversion.started, 4),
                guards=tuple(guarded.guard_manager.code_parts),
            )
        )

    def _failed(self, conversion: Conversion, error: Exception, raises: bool) -> None:
        soft = isinstance(error, dynamo.Unsupported | dynamo.UserError)
        limit = isinstance(error, dynamo.FailOnRecompileLimitHit) or getattr(error, "gb_type", None) == RECOMPILE_LIMIT
        if limit and conversion.recompile:
            conversion.recompile = replace(conversion.recompile, limit_hit=True)
        elif soft and (conversion.traced or self._paths.first_party(conversion.code.co_filename)):
            # Refused before its first line, a library's function costs nothing: a break above it made it run eagerly.
            self._broken(conversion, error, BreakKind.GRAPH_BREAK if raises else BreakKind.SKIPPED_FRAME)
        if raises or not soft:
            site = self._first_party(self._calls(conversion, error))[-1]
            kind, reason = type(error).__name__, str(error).strip().partition("\n")[0]
            self._emit(Failure(kind, self._paths.shown(site.filename), site.line, site.function, reason))

    def _close(self, conversion: Conversion) -> None:
        for code, positions in conversion.traced.items():
            if self._paths.first_party(code.co_filename):
                path, name = self._paths.shown(code.co_filename), _user_name(code.co_qualname)
                places = extents(positions, partial(linecache.getline, code.co_filename))
                self._emit(Traced(conversion.frame, path, name, places))
        if conversion.recompile:
            self._emit(conversion.recompile)

    def _broken(self, conversion: Conversion, error: BaseException, kind: BreakKind) -> None:
        """Report a break, or say of one reported before that it cost the whole frame."""
        for known, item in conversion.breaks:
            if known is error:
                self._emit(replace(item, kind=kind))
                return
        self._breaks += 1
        item = self._break(conversion, error, kind)
        conversion.breaks.append((error, item))
        self._emit(item)

    def _break(self, conversion: Conversion, error: BaseException, kind: BreakKind) -> Break:
        calls = self._calls(conversion, error)
        users = self._first_party(calls)
        site, cause = users[-1], calls[-1]
        root_text, _, text = _message(error).rpartition(WHILE_HANDLING)
        gb_type = getattr(error, "gb_type", None) or type(error).__name__
        root_type = root_text.strip().partition("\n")[0] or gb_type
        column, end_column = _columns(site)
        return Break(
            number=self._breaks,
            kind=kind,
            path=self._paths.shown(site.filename),
            line=site.line,
            column=column,
            end_column=end_column,
            function=site.function,
            reason=_explanation(text, gb_type),
            gb=self._gb_ids.get(gb_type),
            gb_type=gb_type,
            root=f"{self._paths.shown(cause.filename)}:{cause.line}",
            root_gb=self._gb_ids.get(root_type),
            stack=tuple(CallSite(self._paths.shown(call.filename), call.line, call.function) for call in users[:-1]),
            hints=tuple(re.findall(r"^  Hint: (.+)$", text, re.MULTILINE)),
            in_library=site != cause,
        )

    def _recompile(self, code: CodeType, reasons: list[str]) -> Recompile:
        found = [call for reason in reasons for call in GUARD_CALL.findall(reason)]
        own = self._own(code, _compile_id())
        return Recompile(
            frame=_compile_id(),
            path=self._paths.shown(own.co_filename),
            line=own.co_firstlineno,
            function=_user_name(own.co_qualname),
            # What follows is the line that made the guard, and the user's stack at that line.
            failed_guards=tuple(re.split(r"\s+#|\s+\(HINT:|\n", reason.strip(), maxsplit=1)[0] for reason in reasons),
            guard_sites=tuple(
                CallSite(self._paths.shown(self._files[name]), int(line), _user_name(function))
                for name, line, function in dict.fromkeys(found)
                if name in self._files
            ),
        )

    def _own(self, code: CodeType, compile_id: str) -> CodeType:
        """The frame's code, or the user's function for which Dynamo's own wrapper around a module stands."""
        if not code.co_filename.startswith(DYNAMO):
            return code
        return self._users.get(compile_id.partition("/")[0], code)

    def _calls(self, conversion: Conversion, error: BaseException) -> list[Call]:
        """The whole call stack of an error, outermost first, ending where tracing was."""
        traced = [
            Call(entry.filename, entry.lineno or 0, _user_name(entry.name), entry.colno, entry.end_colno)
            for entry in getattr(error, "real_stack", None) or ()
        ]
        code, positions = conversion.last or (conversion.code, dis.Positions(conversion.code.co_firstlineno))
        start = Call(code.co_filename, positions.lineno or code.co_firstlineno, _user_name(code.co_name), None, None)
        inside = [conversion.qualified(call) for call in traced or [start]]
        resumed = RESUME.search(conversion.code.co_name) is not None
        return [*_calls_above(conversion.caller, resumed), *inside]

    def _first_party(self, calls: list[Call]) -> list[Call]:
        """The user's own calls; when there are none, the innermost one has to do."""
        return [call for call in calls if self._paths.first_party(call.filename)] or calls[-1:]


def _calls_above(frame: FrameType | None, resumed: bool) -> list[Call]:
    """Running calls, outermost first, without Dynamo's own. A function and the resumptions that it calls, one inside
    the other, are one call of which the innermost counts; `resumed` says that the call below is a resumption.
    """
    calls: list[Call] = []
    while frame:
        code = frame.f_code
        if not code.co_filename.startswith(DYNAMO):
            if not resumed:
                _, _, column, end_column = list(code.co_positions())[frame.f_lasti // 2]
                calls.append(Call(code.co_filename, frame.f_lineno, _user_name(code.co_qualname), column, end_column))
            resumed = RESUME.search(code.co_name) is not None
        frame = frame.f_back
    return calls[::-1]


def _user_name(name: str) -> str:
    return RESUME.sub(r"\1", name)


def _compile_id() -> str:
    return str(CompileContext.current_compile_id())


def _message(error: BaseException) -> str:
    return str(getattr(error, "msg", error))


def _explanation(text: str, gb_type: str) -> str:
    found = re.search(r"^  Explanation: (.+)$", text, re.MULTILINE)
    return found[1] if found else text.strip().partition("\n")[0] or gb_type


def _columns(call: Call) -> tuple[int, int] | tuple[None, None]:
    """Start and end in code points; the end is the line's if the expression goes on after it."""
    if call.column is None or call.end_column is None:
        return None, None
    end = call.end_column if call.column < call.end_column else None
    text = linecache.getline(call.filename, call.line)
    return code_points(text, call.column), code_points(text, end)
