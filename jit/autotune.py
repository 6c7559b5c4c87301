"""Chooses for each class of products, the first time it is met, between ATen's kernel and a region of its own.

A graph of one product and its epilogue goes in, whether it is to be a region comes out. Both ways are compiled as the
backend would, held against eager, and timed on random inputs; what was found is kept beside native code, so that other
processes do not measure again.
"""

from __future__ import annotations

import contextlib
import json
import logging
import statistics
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

import torch
from torch._dispatch.python import no_python_dispatcher
from torch.fx import GraphModule
from torch.nn import Module
from torch.utils._python_dispatch import _disable_current_modes

from .loader import LoadError
from .lower.signature import Failed, Signature, TensorSpec
from .object_cache import ObjectCache
from .region import NativeRegion
from .runtime import Kernel, contiguous
from .worker import Worker

if TYPE_CHECKING:
    from .lower.planned import Plan, Region

log = logging.getLogger("fullgraph.mlir")
Way: TypeAlias = Callable[[], object]

MARGIN = 1.05
"""By so much a region has to be faster than ATen."""
SECONDS = 0.2
"""For running both ways of one class."""


@dataclass(frozen=True, slots=True)
class Medians:
    """Seconds of one call."""

    aten: float
    mlir: float


Measure: TypeAlias = Callable[[Way, Way], Medians]
"""Times the way through ATen and the one through MLIR. A RuntimeError or MemoryError leaves the product to ATen."""


@dataclass(frozen=True, slots=True)
class Choice:
    """What was found out about a class, or why there is nothing to choose from."""

    aten: float | None = None
    mlir: float | None = None
    failure: str | None = None

    @property
    def is_mlir(self) -> bool:
        return self.aten is not None and self.mlir is not None and self.mlir * MARGIN <= self.aten

    def __str__(self) -> str:
        if self.aten is None or self.mlir is None:
            return f"ATen, because {self.failure}"
        return f"{'MLIR' if self.is_mlir else 'ATen'}; ATen {self.aten * 1e6:.1f} us, MLIR {self.mlir * 1e6:.1f} us"


def measured(aten: Way, mlir: Way) -> Medians:
    """Medians of calls in turn, so that both meet what else the machine does."""
    ways = (aten, mlir)
    for way in ways:
        way()
    spent: tuple[list[float], list[float]] = ([], [])
    end = time.perf_counter() + SECONDS
    while not spent[0] or time.perf_counter() < end:
        for way, times in zip(ways, spent, strict=True):
            started = time.perf_counter()
            way()
            times.append(time.perf_counter() - started)
    return Medians(*map(statistics.median, spent))


class Tuner:
    """Makes each choice once, for any thread, and keeps it in `cache`."""

    def __init__(self, worker: Worker, cache: ObjectCache, measure: Measure = measured) -> None:
        self._worker = worker
        self._cache = cache
        self._measure = measure
        self._lock = threading.Lock()
        self._choices: dict[tuple[str, Signature, int], Choice] = {}

    def choose(self, product: GraphModule, told: Callable[[str], None]) -> bool:
        """`told` gets a line about the class and both medians."""
        from .lower.importer import NotImported, RegionImporter
        from .lower.products import shape_class

        region = RegionImporter().enter(product)
        if isinstance(region, NotImported):
            return False
        threads = torch.get_num_threads()
        with self._lock:
            choice = self._choice(product, region, threads)
        line = f"{shape_class(product)}, {threads} thread{'s' * (threads > 1)}: {choice}"
        log.info("%s", line)
        told(line)
        return choice.is_mlir

    def _choice(self, product: GraphModule, region: Region, threads: int) -> Choice:
        key = (region.text, region.signature, threads)
        if (choice := self._choices.get(key)) is None:
            choice = _parsed(self._cache.timing(*key))
            if choice is None:
                choice = self._tried(product, region)
                if choice.failure is None:  # a failure may be one of the machine: the next process tries again
                    self._cache.keep_timing(*key, json.dumps(asdict(choice)))
            if choice.is_mlir and isinstance(answer := self._worker.compile(region.text, region.signature), Failed):
                choice = Choice(failure=answer.reason)  # another process saw it differ from eager
            self._choices[key] = choice
        return choice

    def _tried(self, product: GraphModule, region: Region) -> Choice:
        from .lower.plan import plan

        try:
            with _as_at_run_time():
                inputs = _inputs(region.signature)
                judge = Judge()
                aten, mlir = (
                    partial(self._native(plan(product, choose=choose), judge).forward, *inputs)
                    for choose in (None, lambda product: True)
                )
                for way in (aten, mlir):
                    way()
                if judge.failure is not None:
                    return Choice(failure=judge.failure)
                medians = self._measure(aten, mlir)
        except (ArithmeticError, LoadError, MemoryError, RuntimeError, ValueError) as error:
            return Choice(failure=f"{type(error).__name__}: {str(error).partition(chr(10))[0]}")
        return Choice(medians.aten, medians.mlir)

    def _native(self, planned: Plan, judge: Judge) -> Module:
        """The graph as it would run. Raises LoadError where a region has no native code."""
        for name, region in planned.regions.items():
            artifact = self._worker.compile(region.text, region.signature)
            if isinstance(artifact, Failed):
                raise LoadError(artifact.reason)
            eager = planned.graph.get_submodule(name)
            delattr(planned.graph, name)
            native = NativeRegion(Kernel(artifact, region.signature), region, eager.forward, judge)
            setattr(planned.graph, name, native)
        return planned.graph


@dataclass(slots=True)
class Judge:
    """Whether regions agree with eager on random inputs."""

    failure: str | None = None

    def agreed(self, error: float) -> None: ...

    def disagreed(self, reason: str, inputs: Sequence[Any], expected: Sequence[Any]) -> None:
        self.failure = reason

    def abandoned(self, reason: str) -> None:
        self.failure = reason


@contextlib.contextmanager
def _as_at_run_time() -> Iterator[None]:
    """While a graph is compiled calls go through more of torch's layers, which ATen's way would be charged for."""
    with no_python_dispatcher(), _disable_current_modes(), torch.no_grad(), torch._C._DisableAutocast():
        yield


def _inputs(signature: Signature) -> list[torch.Tensor]:
    """Random, without a number drawn from the program's generator."""
    generator = torch.Generator().manual_seed(0)
    return [_input(spec, generator) for spec in signature.inputs if isinstance(spec, TensorSpec)]


def _input(spec: TensorSpec, generator: torch.Generator) -> torch.Tensor:
    shape = [size or 0 for size in spec.shape]
    strides = spec.strides or contiguous(shape)
    reach = 1 + sum((size - 1) * stride for size, stride in zip(shape, strides, strict=True))
    numbers = torch.randn(reach, generator=generator, dtype=torch.float32, device="cpu")
    return numbers.as_strided(shape, strides)


def _parsed(kept: str | None) -> Choice | None:
    try:
        return None if kept is None else Choice(**json.loads(kept))
    except (TypeError, ValueError):  # of another form
        return None
