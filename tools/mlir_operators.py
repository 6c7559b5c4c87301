"""Runs torch's own operator tests through the MLIR backend and writes what became of each to `opinfo.json`.

    python tools/mlir_operators.py check FOLDER [OPERATOR…]    # resumable; stop it whenever you like
    python tools/mlir_operators.py list FOLDER                 # the table, and the summary in docs/mlir.md

A case is an operator with one of five dtypes, fixed or symbolic sizes, and contiguous or transposed inputs. Its graph,
one call, enters the backend as Dynamo would hand it over, and runs twice: the first time, regions compare themselves.
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import random
import signal
import subprocess
import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from importlib.metadata import version
from itertools import product
from operator import attrgetter
from pathlib import Path
from typing import Any

import torch
from checkout import ROOT
from operator_samples import compare, positional, telling
from torch._dynamo.exc import TensorifyScalarRestartAnalysis
from torch._dynamo.source import ConstantSource
from torch._subclasses import FakeTensorMode
from torch.fx import Graph, GraphModule
from torch.fx.experimental.symbolic_shapes import ShapeEnv
from torch.testing._internal import common_methods_invocations
from torch.testing._internal.common_methods_invocations import op_db
from torch.testing._internal.opinfo.core import OpInfo

from fullgraph.jit.events import Left, Lowered, Stage
from fullgraph.jit.lower.support import Reason, is_view
from fullgraph.jit.mlir import Backend
from fullgraph.jit.object_cache import ObjectCache
from fullgraph.jit.worker import Limits, Worker

LISTED = ROOT / "tests/jit/lower/opinfo.json"
PAGE = ROOT / "docs/mlir.md"
CASE_S = 60
COMPILE_S = 20.0
DTYPES = (torch.float32, torch.float64, torch.bfloat16, torch.int64, torch.bool)
VARIANTS = tuple(product((False, True), (False, True)))
"""Symbolic sizes or not, and transposed inputs or not, in the order of the table's letters."""
UNCOMPARED = ("empty", "new_empty", "jiterator", "resize_")
"""Operators whose results nobody sets, that a CPU does not have, or that Dynamo puts into no graph."""
HEAD = (
    "What became of an operator's four cases of a dtype: fixed sizes with contiguous and with transposed inputs, "
    "symbolic sizes with contiguous and with transposed inputs. Written by `python tools/mlir_operators.py`."
)
MARKS = ("<!-- operators: written by tools/mlir_operators.py -->", "<!-- end of operators -->")
NO_COMPUTATION = {Reason.VIEW, Reason.SYMBOLIC_VIEW, Reason.COPY, Reason.UNINITIALISED}
UNTRACED = "AOTAutograd raised "
AT_HOME = {Reason.RANDOM, Reason.COMPLEX, Reason.KERNEL}
"""What stays in ATen on purpose; as the last, matrix products, convolutions and sorting."""
COLUMNS = ("native", "in part", "ATen", "kernel", "graph break", "view")


class Outcome(StrEnum):
    """The letters of the table."""

    NATIVE = "N"
    MIXED = "M"
    ATEN = "A"
    KERNEL = "K"
    VIEW = "V"
    BREAK = "B"
    NO_CASE = "-"
    OTHERWISE = "!"
    NOT_RUN = "."


MEANING = {
    Outcome.NATIVE: "native: all that computes runs as native code",
    Outcome.MIXED: "mixed: a part runs as native code, the rest in ATen",
    Outcome.ATEN: "aten: nothing runs as native code",
    Outcome.KERNEL: "kernel: as A, and on purpose: matrix products, convolutions, sorting, random and complex numbers",
    Outcome.VIEW: "view: views and copies of an input, so that there is nothing to compute",
    Outcome.BREAK: "graph break: sizes or control flow depend on values, so that there is no one graph to compile",
    Outcome.NO_CASE: "no such case: no sample, or the layout is the same",
    Outcome.OTHERWISE: "wrong, raised, fell back, crashed or hung, as said below",
    Outcome.NOT_RUN: "not run",
}


NOTHING = str.maketrans("", "", Outcome.NO_CASE + Outcome.NOT_RUN)


@dataclass(frozen=True, slots=True)
class Case:
    operator: str
    dtype: torch.dtype
    symbolic: bool
    transposed: bool

    def __str__(self) -> str:
        sizes = "symbolic" if self.symbolic else "fixed"
        return f"{self.operator} {str(self.dtype)[6:]} {sizes} {'transposed' if self.transposed else 'contiguous'}"


@dataclass(frozen=True, slots=True)
class Result:
    outcome: Outcome
    detail: str = ""
    """What is wrong, or what stays in ATen and why."""


NO_CASE = Result(Outcome.NO_CASE)
NO_RECORD = {"outcome": Outcome.NOT_RUN, "detail": ""}


@cache
def infos() -> dict[str, OpInfo]:
    return {info.formatted_name: info for info in op_db if not info.name.startswith(UNCOMPARED)}


def cases(dtypes: Sequence[torch.dtype] = DTYPES) -> Iterator[Case]:
    for dtype, variant, (name, info) in product(dtypes, VARIANTS, infos().items()):
        if dtype in info.supported_dtypes("cpu"):
            yield Case(name, dtype, *variant)


# --- One case.


def result(case: Case) -> Result:
    try:
        call, contiguous = _sample(case.operator, case.dtype)
        tensors = [_transposed(tensor) for tensor in contiguous] if case.transposed else contiguous
        if case.transposed and all(map(_alike, tensors, contiguous)):
            return NO_CASE
        wanted = _seeded(call, tensors)
    except Exception:  # the sample is none for this dtype, or eager does not take it in this layout
        return NO_CASE
    reports: dict[object, Lowered] = {}

    def report(event: Lowered | Stage) -> None:
        if isinstance(event, Lowered):
            reports[event.graph, event.phase] = event

    backend = Backend(report, worker=_worker())
    try:
        try:
            compiled = _handed_over(backend, call, tensors, case.symbolic)
        except TensorifyScalarRestartAnalysis:  # by which Dynamo is told to take a number for a constant
            compiled = _by_dynamo(backend, call, case.symbolic)
        breaks = [failure for failure in _failures(reports) if UNTRACED in failure]
        if breaks:  # where Dynamo breaks the graph as well
            compiled = _by_dynamo(backend, call, case.symbolic)
            reports.clear()
        for _ in range(2):
            if (difference := compare(_seeded(compiled, tensors), wanted)) is not None:
                return Result(Outcome.OTHERWISE, f"wrong: {difference}")
    except Exception as error:
        return Result(Outcome.OTHERWISE, f"raised {type(error).__name__}: {' '.join(str(error).split())[:150]}")
    if failures := [failure for failure in _failures(reports) if UNTRACED not in failure]:
        return Result(Outcome.OTHERWISE, f"fell back: {failures[0][:200]}")
    if breaks:
        return Result(Outcome.BREAK, breaks[0].partition(UNTRACED)[2][:150])
    return _seen(list(reports.values()))


@cache
def _worker() -> Worker:
    return Worker(Limits(COMPILE_S), ObjectCache())


def _failures(reports: Mapping[object, Lowered]) -> list[str]:
    return [failure for report in reports.values() for failure in report.failures]


def _seen(reports: Sequence[Lowered]) -> Result:
    left = [item for report in reports for item in report.left if _computes(item)]
    why = ", ".join(sorted({f"{item.operator}: {item.reason}" for item in left}))
    if any(report.mlir_ops for report in reports):
        return Result(Outcome.MIXED if left else Outcome.NATIVE, why)
    if not left:
        return Result(Outcome.VIEW)
    return Result(Outcome.KERNEL if all(item.reason in AT_HOME for item in left) else Outcome.ATEN, why)


def _computes(left: Left) -> bool:
    """Views and copies do not; what has an effect and no result is a check of another call's errors."""
    if left.reason in NO_COMPUTATION or left.operator in ("with_effects", "aten.clone.default"):
        return False
    return not (left.operator.startswith("aten.") and is_view(attrgetter(left.operator)(torch.ops)))


@cache
def _sample(operator: str, dtype: torch.dtype) -> tuple[Callable[..., list[torch.Tensor]], list[torch.Tensor]]:
    info = infos()[operator]
    random.seed(0)
    return positional(info, telling(info, dtype))


def _transposed(tensor: torch.Tensor) -> torch.Tensor:
    """The same values, with the last two dimensions swapped in memory."""
    return tensor.mT.contiguous().mT if tensor.ndim >= 2 else tensor


def _alike(tensor: torch.Tensor, other: torch.Tensor) -> bool:
    strides = zip(tensor.shape, tensor.stride(), other.stride(), strict=True)
    return all(size < 2 or own == theirs for size, own, theirs in strides)


# Some samples seed the generator within the call, which no graph can hold; here it is seeded around it.
common_methods_invocations.wrapper_set_seed = lambda call, *args, **kwargs: call(*args, **kwargs)


def _seeded(call: Callable[..., Any], tensors: Sequence[torch.Tensor]) -> Any:
    """On copies, because some operators write to what they are given."""
    torch.manual_seed(0)
    return call(*[torch.empty_strided(t.shape, t.stride(), dtype=t.dtype).copy_(t) for t in tensors])


def _by_dynamo(backend: Backend, call: Callable[..., Any], symbolic: bool) -> Callable[..., Any]:
    torch._dynamo.reset()
    return torch.compile(call, backend=backend, dynamic=symbolic)


def _handed_over(
    backend: Backend, call: Callable[..., Any], tensors: Sequence[torch.Tensor], symbolic: bool
) -> Callable[..., Any]:
    """The call as a graph that the backend is given: with its symbolic sizes, if any, before the tensors."""
    shapes = ShapeEnv(allow_scalar_outputs=False, allow_dynamic_output_shape_ops=False)
    mode = FakeTensorMode(shape_env=shapes, static_shapes=not symbolic)
    fakes = [mode.from_tensor(tensor, source=ConstantSource(f"t{i}")) for i, tensor in enumerate(tensors)]
    sizes = {
        size.node.expr: size
        for fake in fakes
        for size in (*fake.shape, *fake.stride())
        if isinstance(size, torch.SymInt) and size.node.expr.is_symbol
    }
    graph = Graph()
    for i, size in enumerate(sizes.values()):
        graph.placeholder(f"s{i}").meta["val"] = size
    inputs = []
    for i, fake in enumerate(fakes):
        inputs.append(graph.placeholder(f"t{i}"))
        inputs[-1].meta["val"] = fake
    graph.output(graph.call_function(call, tuple(inputs)))
    compiled = backend(GraphModule({}, graph), [*sizes.values(), *fakes])
    hints = [size.node.hint for size in sizes.values()]
    return lambda *values: compiled(*hints, *values)


# --- All of them.


def check_here(folder: Path, dtypes: Sequence[str], names: Sequence[str]) -> None:
    warnings.simplefilter("ignore")
    logging.getLogger("fullgraph.mlir").setLevel(logging.CRITICAL)
    torch.set_num_threads(1)
    done = {line["case"] for line in read_records(folder)}
    for case in cases([getattr(torch, dtype) for dtype in dtypes]):
        if str(case) in done or (names and case.operator not in names):
            continue
        append(folder, {"case": str(case), "outcome": Outcome.OTHERWISE, "detail": "crashed"})
        signal.alarm(CASE_S)
        started = time.monotonic()
        seen = result(case)
        signal.alarm(0)
        append(
            folder,
            {
                "case": str(case),
                "outcome": seen.outcome,
                "detail": seen.detail,
                "s": round(time.monotonic() - started, 2),
            },
        )


def check(folder: Path, dtypes: Sequence[str], names: Sequence[str]) -> None:
    """A crash or a hang ends the child that checks, and is what became of the case it was at."""
    folder.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, __file__, "--dtypes", ",".join(dtypes), "check-here", str(folder), *names]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "XDG_CACHE_HOME": str(folder.resolve() / "cache")}
    while (code := subprocess.run(command, env=environment, check=False).returncode) != 0:
        if code in (1, 2, 130, -signal.SIGINT, -signal.SIGTERM):
            sys.exit(code)
        if code == -signal.SIGALRM:
            last = read_records(folder)[-1]
            append(folder, {**last, "detail": "hung"})
        print(f"the child ended with {code}; going on", file=sys.stderr)


def append(folder: Path, line: Mapping[str, object]) -> None:
    with (folder / "operators.jsonl").open("a") as file:
        file.write(json.dumps(line) + "\n")


def read_records(folder: Path) -> list[dict[str, Any]]:
    path = folder / "operators.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


# --- The table.


def table(folder: Path) -> dict[str, Any]:
    records = {line["case"]: line for line in read_records(folder)}
    letters: dict[str, dict[str, str]] = {}
    left: dict[str, str] = {}
    otherwise: dict[str, str] = {}
    for case in cases():
        seen = records.get(str(case), NO_RECORD)
        dtypes = letters.setdefault(case.operator, {})
        name = str(case.dtype)[6:]
        dtypes[name] = dtypes.get(name, "") + seen["outcome"]
        if seen["outcome"] == Outcome.OTHERWISE:
            otherwise[str(case)] = seen["detail"]
        elif case.dtype == torch.float32 and seen["detail"]:
            left.setdefault(case.operator, seen["detail"])
    return {
        "about": [HEAD, *(f"{outcome}  {meaning}" for outcome, meaning in MEANING.items())],
        "versions": {name: version(name) for name in ("torch", "torch-mlir")},
        "operators": letters,
        "left in float32": left,
        "otherwise": otherwise,
    }


def summary(operators: Mapping[str, Mapping[str, str]]) -> str:
    """Counts of the table for the page."""
    columns = ("dtype", "operators", "cases", *COLUMNS, "native, of all", "of all but kernels")
    rows = ["| " + " | ".join(columns) + " |", "| --- |" + " --- |" * (len(columns) - 1)]
    for dtype in (str(dtype)[6:] for dtype in DTYPES):
        listed = [dtypes[dtype].translate(NOTHING) for dtypes in operators.values() if dtype in dtypes]
        counts = Counter(letter for letters in listed for letter in letters)
        native, computing = counts["N"] + counts["M"], counts.total() - counts["V"] - counts["B"]
        shares = (f"{native / max(whole, 1):.1%}" for whole in (computing, computing - counts["K"]))
        cells = (dtype, sum(map(bool, listed)), counts.total(), *(counts[letter] for letter in "NMAKBV"), *shares)
        rows.append("| " + " | ".join(map(str, cells)) + " |")
    return "\n".join(rows)


def list_here(folder: Path) -> None:
    listed = table(folder)
    parts = ",\n".join(f" {json.dumps(name)}: {_lines(part)}" for name, part in listed.items())
    LISTED.write_text(f"{{\n{parts}\n}}\n", encoding="utf-8")
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(MARKS[0])
    after = rest.partition(MARKS[1])[2]
    text = summary(listed["operators"])
    PAGE.write_text(f"{before}{MARKS[0]}\n\n{text}\n\n{MARKS[1]}{after}", encoding="utf-8")
    print(text)


def _lines(part: list[str] | dict[str, Any]) -> str:
    """One line an item, so that a change of one is one line of a diff."""
    match part:
        case list():
            brackets, items = "[]", [json.dumps(item) for item in part]
        case _:
            brackets, items = "{}", [f"{json.dumps(name)}: {json.dumps(item)}" for name, item in part.items()]
    return brackets[0] + ",".join(f"\n  {item}" for item in items) + f"\n {brackets[1]}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("step", choices=("check", "check-here", "list"))
    parser.add_argument("folder", type=Path)
    parser.add_argument("operators", nargs="*")
    parser.add_argument("--dtypes", default=",".join(str(dtype)[6:] for dtype in DTYPES))
    arguments = parser.parse_args()
    match arguments.step:
        case "check":
            check(arguments.folder, arguments.dtypes.split(","), arguments.operators)
        case "check-here":
            check_here(arguments.folder, arguments.dtypes.split(","), arguments.operators)
        case "list":
            list_here(arguments.folder)


if __name__ == "__main__":
    main()
