"""`torch.compile(f, backend="mlir")`: enters a graph of Dynamo's, leaves a callable whose regions run as native code.

Whatever goes wrong on the way leaves the region, or the graph, to eager with one line in the log `fullgraph.mlir`.
`FULLGRAPH_DUMP=folder` writes the IR after every stage; `options={"compare": False}` trusts native code unseen, and
`options={"max_autotune": True}` measures what is best for matrix products.
"""

from __future__ import annotations

import contextlib
import logging
import os
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cache
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from torch._dynamo.backends.common import aot_autograd
from torch._dynamo.exc import TensorifyScalarRestartAnalysis
from torch.fx import GraphModule
from torch.nn import Module
from torch.utils._python_dispatch import _get_current_dispatch_mode, _pop_mode_temporarily

from .assembly import disassembled
from .autotune import Tuner
from .compare import reproducers, write_reproducer
from .events import GRAPH_NUMBER, Left, Lowered, Phase, Stage
from .loader import LoadError
from .lower.signature import Artifact, Failed, Signature
from .object_cache import ObjectCache
from .region import NativeRegion
from .runtime import Kernel
from .worker import Worker, unavailable

if TYPE_CHECKING:
    from .lower.planned import Plan, Region

log = logging.getLogger("fullgraph.mlir")
Compiled: TypeAlias = Callable[..., Any]


@cache
def shared_worker() -> Worker:
    """The compiler of this process."""
    return Worker(cache=ObjectCache())


@cache
def shared_tuner() -> Tuner:
    return Tuner(shared_worker(), ObjectCache())


@dataclass(frozen=True, slots=True)
class Options:
    """Those of `torch.compile`."""

    compare: bool = True
    """Whether regions are compared with eager on their first inputs."""
    max_autotune: bool = False
    """Whether products become regions where that is faster."""


class Backend:
    """Compiles graphs. `report` learns what became of each, and of every stage of the IR if `stages` is set.

    A backend that `believes` does not compare regions of fixed sizes that agreed with eager in an earlier process.
    """

    def __init__(
        self,
        report: Callable[[Lowered | Stage], None] = lambda event: None,
        stages: bool = False,
        assembly: bool = False,
        dump: Path | None = None,
        worker: Worker | None = None,
        believes: bool = False,
        tuner: Tuner | None = None,
    ) -> None:
        self.__name__ = "mlir"  # by which Dynamo's messages call it
        self.report = report
        self.stages = stages or dump is not None
        self.assembly = assembly
        self.dump = dump
        self.worker = worker or shared_worker()
        self.believes = believes
        self.tuner = tuner or shared_tuner()
        self._numbers = count(1)

    def __call__(
        self,
        graph: GraphModule,
        example_inputs: Sequence[Any],
        *,
        options: Mapping[str, bool] | None = None,
        **others: object,
    ) -> Compiled:
        wanted = _options(options or {})
        number = graph.meta.get(GRAPH_NUMBER) or next(self._numbers)
        if (reason := unavailable()) is not None:
            log.warning("graph %d runs eagerly: %s", number, reason)
            return graph.forward
        from .lower.decompositions import decompositions

        self.worker.start()
        try:
            compiled: Compiled = aot_autograd(
                fw_compiler=self._compiler(number, Phase.FORWARD, wanted),
                bw_compiler=self._compiler(number, Phase.BACKWARD, wanted),
                inference_compiler=self._compiler(number, Phase.INFERENCE, wanted),
                decompositions=decompositions(),
            )(graph, example_inputs)
        except TensorifyScalarRestartAnalysis:  # no error: Dynamo traces again, with a number as a constant
            raise
        except Exception as error:
            lowering = Lowering(self, number, Phase.INFERENCE)
            lowering.give_up(graph, f"AOTAutograd raised {_line(error)}")
            lowering.report()
            return graph.forward
        return compiled

    def _compiler(self, number: int, phase: Phase, options: Options) -> Compiled:
        return lambda graph, inputs: Lowering(self, number, phase, options).compile(graph)


def _options(given: Mapping[str, bool]) -> Options:
    known = [field.name for field in fields(Options)]
    if unknown := sorted(given.keys() - set(known)):
        raise ValueError(f"the backend mlir has no option {unknown[0]!r}, only {' and '.join(map(repr, known))}")
    return Options(**given)


def mlir(graph: GraphModule, example_inputs: Sequence[Any], **settings: Any) -> Compiled:
    """The backend as torch finds it by its name."""
    return _default()(graph, example_inputs, **settings)


@cache
def _default() -> Backend:
    folder = os.environ.get("FULLGRAPH_DUMP")
    return Backend(dump=Path(folder) if folder else None, believes=True)


class Lowering:
    """One functional graph on its way to native code, and what is known of it while it runs."""

    def __init__(self, backend: Backend, number: int, phase: Phase, options: Options | None = None) -> None:
        self._options = options or Options()
        self._backend = backend
        self._number = number
        self._phase = phase
        self._lock = threading.Lock()
        self._native: dict[str, tuple[str, ...]] = {}
        """The operators of each region that has native code."""
        self._left: Counter[tuple[str, str]] = Counter()
        self._failures: list[str] = []
        self._compile_s = 0.0
        self._max_abs_error: float | None = None
        self._stages = count()
        # Of regions that are alike, as those of a model's layers, one stands for all.
        self._load = cache(_loaded)
        self._has_agreed = cache(backend.worker.has_agreed)

    def compile(self, graph: GraphModule) -> Compiled:
        started = time.perf_counter()
        lowered = self._lowered(graph)
        self._compile_s = time.perf_counter() - started
        self.report()
        if lowered is not graph:  # that one AOTAutograd still reads
            _forget_what_was_traced(lowered)
        return _boxed(lowered)

    def give_up(self, graph: GraphModule, reason: str) -> None:
        """Leave the whole graph to eager."""
        calls = (node.target for node in graph.graph.nodes if node.op.startswith("call_"))
        self._leave("all of it", [str(getattr(target, "__name__", target)) for target in calls], reason)

    def _lowered(self, graph: GraphModule) -> Module:
        self._stage(None, "aten", graph)
        try:
            planned = self._planned(graph)
        except Exception as error:
            self.give_up(graph, f"it cannot be split into regions: {_line(error)}")
            return graph
        self._left.update({(item.operator, item.reason): item.count for item in planned.left})
        for name, region in planned.regions.items():
            match self._kernel(name, region):
                case Failed(reason):
                    self._leave(name, region.ops, reason)
                case kernel:
                    self._native[name] = region.ops
                    eager = planned.graph.get_submodule(name)
                    delattr(planned.graph, name)
                    _forget_what_was_traced(eager)
                    judge = Verdicts(self, name, region)
                    compared = self._options.compare and not self._is_believed(region)
                    native = NativeRegion(kernel, region, eager.forward, judge, compared)
                    setattr(planned.graph, name, native)
        return planned.graph

    def _planned(self, graph: GraphModule) -> Plan:
        """As another process kept it, but where stages are shown, or a choice is made that holds for a time."""
        from .lower import kept_plan

        cache = self._backend.worker.cache
        if cache is None or self._backend.stages or self._options.max_autotune:
            return self._newly_planned(graph)
        if (identity := kept_plan.identity(graph)) is not None and (kept := cache.plan(identity)) is not None:
            return kept_plan.read(kept, graph)
        planned = self._newly_planned(graph)
        if identity is not None:
            cache.keep_plan(identity, kept_plan.written(planned))
        return planned

    def _newly_planned(self, graph: GraphModule) -> Plan:
        from .lower.plan import plan

        choices: dict[str, None] = {}

        def choose(product: GraphModule) -> bool:
            return self._backend.tuner.choose(product, lambda line: choices.update({line: None}))

        planned = plan(graph, choose=choose if self._options.max_autotune else None)
        if choices:
            self._stage(None, "choices", "\n".join(f"# {line}" for line in choices))
        self._stage(None, "partition", planned.graph)
        return planned

    def _is_believed(self, region: Region) -> bool:
        return self._backend.believes and self._has_agreed(region.text, region.signature)

    def _kernel(self, name: str, region: Region) -> Kernel | Failed:
        artifact = self._backend.worker.compile(region.text, region.signature, self._backend.stages)
        if isinstance(artifact, Failed):
            return artifact
        for stage, text in artifact.stages:
            self._stage(name, stage, text)
        if self._backend.assembly:
            self._stage(name, "assembly", disassembled(artifact.code))
        return self._load(artifact, region.signature)

    def agreed(self, region: Region, error: float) -> None:
        if region.signature.is_static:
            self._backend.worker.approve(region.text, region.signature)
        with self._lock:
            if self._max_abs_error is not None and error <= self._max_abs_error:
                return
            self._max_abs_error = error
        self.report()

    def disagreed(self, name: str, region: Region, reason: str, inputs: Sequence[Any], expected: Sequence[Any]) -> None:
        """Give a region up for good, and leave what reproduces the difference."""
        if not self._withdrawn(name):
            return
        place = None
        with contextlib.suppress(Exception):  # a full disk, values that cannot be pickled: the program goes on
            place = write_reproducer(
                reproducers(self._backend.dump), region.text, region.signature, region.precisions, inputs, expected
            )
        told = f"{reason}; see {place}" if place else reason
        self._backend.worker.quarantine(region.text, region.signature, told)
        self._leave(name, region.ops, told)
        self.report()

    def abandoned(self, name: str, region: Region, reason: str) -> None:
        """Give a region up in this graph."""
        if self._withdrawn(name):
            self._leave(name, region.ops, reason)
            self.report()

    def _withdrawn(self, name: str) -> bool:
        """False where another thread has done so."""
        with self._lock:
            return self._native.pop(name, None) is not None

    def _leave(self, name: str, operators: Sequence[str], reason: str) -> None:
        log.warning("graph %d (%s): %s runs eagerly: %s", self._number, self._phase.value, name, reason)
        with self._lock:
            self._failures.append(f"{name}: {reason}")
            self._left.update((operator, "failed") for operator in operators)

    def report(self) -> None:
        with self._lock:
            event = Lowered(
                graph=self._number,
                phase=self._phase,
                mlir_ops=sum(map(len, self._native.values())),
                left=tuple(Left(*key, number) for key, number in sorted(self._left.items())),
                compile_s=round(self._compile_s, 4),
                max_abs_error=self._max_abs_error,
                failures=tuple(self._failures),
            )
        self._backend.report(event)

    def _stage(self, region: str | None, name: str, content: Module | str) -> None:
        if not self._backend.stages:
            return
        text = content.print_readable(print_output=False) if isinstance(content, GraphModule) else str(content)
        self._backend.report(Stage(self._number, self._phase, region, name, text))
        if (folder := self._backend.dump) is not None:
            folder /= f"graph{self._number}-{self._phase.value}"
            file = f"{next(self._stages):03}-{region or 'graph'}-{name}.{'mlir' if region else 'py'}"
            with contextlib.suppress(OSError):  # a dump is not worth a failure
                folder.mkdir(parents=True, exist_ok=True)
                (folder / file).write_text(text)


@dataclass(frozen=True, slots=True)
class Verdicts:
    """What is learned of one region, told to the lowering of its graph."""

    lowering: Lowering
    name: str
    region: Region

    def agreed(self, error: float) -> None:
        self.lowering.agreed(self.region, error)

    def disagreed(self, reason: str, inputs: Sequence[Any], expected: Sequence[Any]) -> None:
        self.lowering.disagreed(self.name, self.region, reason, inputs, expected)

    def abandoned(self, reason: str) -> None:
        self.lowering.abandoned(self.name, self.region, reason)


def _loaded(artifact: Artifact, signature: Signature) -> Kernel | Failed:
    try:
        return Kernel(artifact, signature)
    except LoadError as error:
        return Failed(str(error))


def _forget_what_was_traced(graph: Module) -> None:
    """Fake values and stacks of each node, for which nobody asks a graph that only runs."""
    for module in graph.modules():
        if isinstance(module, GraphModule):
            for node in module.graph.nodes:
                node.meta.clear()


def _boxed(graph: Module) -> Compiled:
    """The graph as AOTAutograd calls it: with all arguments in one list."""
    # Not at the top: versions of torch that this backend does not support have to be able to find it.
    from torch._functorch._aot_autograd.runtime_wrappers import _AnalyzeCustomOpInputOutputMode

    def run(arguments: list[Any]) -> Any:
        if isinstance(_get_current_dispatch_mode(), _AnalyzeCustomOpInputOutputMode):
            # Around the first call AOTAutograd watches custom operators, in a mode that refuses subclasses of tensors.
            with _pop_mode_temporarily():
                return graph.forward(*arguments)
        return graph.forward(*arguments)

    run._boxed_call = True  # type: ignore[attr-defined]
    return run


def _line(error: Exception) -> str:
    text = str(error).strip().partition("\n")[0]
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
