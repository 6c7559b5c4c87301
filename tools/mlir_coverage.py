"""Measures what MLIR computes as eager does and writes `jit/lower/support.json`, the table of what may go to it.

    python tools/mlir_coverage.py measure FOLDER [TEST…]      # resumable; stop it whenever you like
    python tools/mlir_coverage.py write FOLDER [OPERATOR…]    # the table, or what it says of these ATen operators

Then `tools/mlir_operators.py` shows what of torch's tests the table makes native.

The operators come from torch's own test samples, traced forward and backward, with fixed and with symbolic sizes. Each
call in a traced graph becomes a region of its own, compiled and compared on the sample's values and on awkward ones.
"""

from __future__ import annotations

import argparse
import json
import operator
import os
import signal
import subprocess
import sys
import warnings
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from importlib.metadata import version
from itertools import product
from pathlib import Path
from typing import Any

import torch
from checkout import ROOT
from functorch.compile import aot_function, make_boxed_func
from operator_samples import compare, is_tensor, positional, samples
from torch._ops import OpOverload
from torch.fx import Graph, GraphModule, Interpreter, Node
from torch.testing._internal.common_methods_invocations import op_db
from torch.testing._internal.opinfo.core import OpInfo, SampleInput
from torch.utils._pytree import tree_map

from fullgraph.jit.lower.decompositions import decompositions
from fullgraph.jit.lower.plan import plan
from fullgraph.jit.lower.signature import Failed
from fullgraph.jit.lower.support import SHORT, dtype_pattern, hindrance, is_dynamic, is_view
from fullgraph.jit.runtime import Kernel
from fullgraph.jit.worker import Limits, Worker

TABLE = ROOT / "jit/lower/support.json"
OPERATORS = ROOT / "tests/jit/lower/opinfo.json"
CASE_S = 60
COMPILE_S = 20.0
LIMIT = 8
"""Calls measured for an operator and dtype pattern."""
CASTS = (torch.int64, torch.bfloat16, torch.float64, torch.bool, torch.float16, torch.int32, torch.uint8)
"""Each call is measured with these dtypes in the place of the one traced as well."""
CAST_LIMIT = 2
TRACED = (torch.float32, torch.int64, torch.float64)
ELSEWHERE = ("linalg.", "fft.", "sparse.", "torch.ops.", "signal.", "jiterator", "special.bessel", "special.modified")
UNCOMPARED = ("empty", "new_empty", "jiterator")
"""Operators of which eager's results say nothing, because nobody sets them, or that a CPU does not have."""
FLOATS = (float("nan"), float("inf"), -float("inf"), -0.0, 0.0, 1.5, 2.5, -0.5, 1e-30, 80.0, -80.0)


class Everything(dict[str, frozenset[str]]):
    """The table that lets everything through, except what no measurement can show to be safe."""

    def get(self, _name: str, _default: object = None) -> Any:
        return self

    def __contains__(self, _pattern: object) -> bool:
        return True


class Measurement:
    """The calls of one traced graph, each measured as it is computed."""

    def __init__(self, folder: Path) -> None:
        self.worker = Worker(Limits(COMPILE_S, 4096))
        self.records = folder / "cases.jsonl"
        self.samples = folder / "samples.txt"
        self.done = set(self.samples.read_text().splitlines()) if self.samples.exists() else set()
        self.casts: tuple[torch.dtype, ...] = ()
        self.cast_already: set[tuple[str, torch.dtype]] = set()
        self.counts: Counter[str] = Counter()
        for line in read_records(self.records):
            self.counts[group(line)] += line["outcome"] != "begun"
            self.counts[line["case"]] += 1

    def sample(self, name: str, run: Callable[[], object]) -> None:
        if name in self.done:
            return
        with self.samples.open("a") as file:
            file.write(name + "\n")
        self.done.add(name)
        signal.alarm(CASE_S)
        try:
            run()
        except Exception as error:  # torch's own samples do not all trace
            print(name, type(error).__name__, str(error).partition("\n")[0][:100], file=sys.stderr)
        signal.alarm(0)

    def record(self, **line: object) -> None:
        append(self.records, line)

    def node(self, node: Node, arguments: list[Any]) -> None:
        self.call(node, arguments, LIMIT)
        what = f"{node.target} {describe(node)} {is_dynamic(node)}"
        traced = next((value.dtype for value in arguments if is_tensor(value) and value.dtype in TRACED), None)
        for dtype in self.casts:
            if traced is not None and (what, dtype) not in self.cast_already:
                self.cast_already.add((what, dtype))
                if (twin := cast(node, traced, dtype)) is not None:
                    self.call(twin, [cast_value(value, traced, dtype) for value in arguments], CAST_LIMIT)

    def call(self, node: Node, arguments: list[Any], limit: int) -> None:
        if isinstance(node.meta["val"], torch.SymInt) or hindrance(node, Everything()) is not None:
            return
        head = {"operator": str(node.target), "pattern": dtype_pattern(node), "dynamic": is_dynamic(node)}
        case = f"{node.target} {describe(node)}{' symbolic' if head['dynamic'] else ''}"
        if self.counts[case] or self.counts[group(head)] >= limit:
            return
        self.counts[case] += 1
        self.counts[group(head)] += 1
        self.record(**head, case=case, outcome="begun")
        signal.alarm(CASE_S)
        outcome, detail = self.measure(node, arguments)
        self.record(**head, case=case, outcome=outcome, detail=detail)

    def measure(self, node: Node, arguments: list[Any]) -> tuple[str, str]:
        split = plan(alone(node), Everything())
        if not split.regions:
            return "left", ", ".join(left.reason for left in split.left)
        ((name, region),) = split.regions.items()
        artifact = self.worker.compile(region.text, region.signature)
        if isinstance(artifact, Failed):
            return "failed", artifact.reason[:300]
        kernel, eager = Kernel(artifact, region.signature), split.graph.get_submodule(name)
        for kind, values in (("wrong", arguments), ("special", list(map(awkward, arguments)))):
            try:
                wanted = eager(*values)
            except Exception:
                continue
            if not kernel.accepts(values):
                return "refused", str(region.signature)
            got = kernel.call(values, region.output_shapes(values))
            if (difference := compare(got, wanted)) is not None:
                return kind, difference
        return "right", ""


def group(line: Mapping[str, Any]) -> str:
    return f"{line['operator']} {line['pattern']} {line['dynamic']}"


def append(path: Path, line: Mapping[str, object]) -> None:
    with path.open("a") as file:
        file.write(json.dumps(line) + "\n")


def read_records(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def describe(node: Node) -> str:
    """What tells one call of an operator from another: ranks, dtypes and numbers, not every size."""

    def value(item: object) -> object:
        match item:
            case Node():
                fake = item.meta.get("val")
                if isinstance(fake, torch.Tensor):
                    broadcast = "".join("1" if type(size) is int and size == 1 else "n" for size in fake.shape)
                    return f"{str(fake.dtype)[6:]}[{broadcast}]{'' if fake.is_contiguous() else '!'}"
                return "s"
            case _:
                return str(item)

    return str(tree_map(value, (tuple(node.args), dict(node.kwargs)), is_leaf=lambda item: isinstance(item, Node)))


def alone(node: Node) -> GraphModule:
    """A graph with one call. A view gets copies around it, because it would not cross a region's border."""
    graph = Graph()
    inputs = {}
    for source in node.all_input_nodes:
        inputs[source] = graph.placeholder(source.name)
        inputs[source].meta["val"] = source.meta["val"]
    view = isinstance(node.target, OpOverload) and is_view(node.target)
    if view:
        inputs[node.all_input_nodes[0]] = copied(graph, inputs[node.all_input_nodes[0]])
    call = graph.node_copy(node, inputs.__getitem__)
    results: tuple[Node, ...] = (copied(graph, call) if view else call,)
    if not isinstance(node.meta["val"], torch.Tensor):
        results = ()
        for i, value in enumerate(node.meta["val"]):
            if isinstance(value, torch.Tensor):
                item = graph.call_function(operator.getitem, (call, i))
                item.meta["val"] = value
                results += (item,)
    graph.output(results)
    return GraphModule({}, graph)


def cast(node: Node, old: torch.dtype, new: torch.dtype) -> Node | None:
    """The call with another dtype, None where there is no such call."""
    if not isinstance(node.target, OpOverload) or old == new:
        return None
    graph = Graph()
    inputs = {source: graph.placeholder(source.name) for source in node.all_input_nodes}
    for source, twin in inputs.items():
        twin.meta["val"] = cast_value(source.meta["val"], old, new)
    call = graph.node_copy(node, inputs.__getitem__)
    call.kwargs = {name: new if value == old else value for name, value in call.kwargs.items()}
    fakes = [twin.meta["val"] for twin in inputs.values() if is_tensor(twin.meta["val"])]
    args, kwargs = tree_map(
        lambda item: item.meta["val"] if isinstance(item, Node) else item, (tuple(call.args), dict(call.kwargs))
    )
    try:
        with fakes[0].fake_mode:
            call.meta = {"val": node.target(*args, **kwargs)}
        dtype_pattern(call)
    except Exception:
        return None
    return call


def cast_value(value: Any, old: torch.dtype, new: torch.dtype) -> Any:
    if not isinstance(value, torch.Tensor) or value.dtype != old:
        return value
    value = value.detach()
    return value.to(new) if new.is_floating_point else (value * 3).abs().to(new)


def copied(graph: Graph, node: Node) -> Node:
    """By a choice between equals, because of copies alone no region is made."""
    value = node.meta["val"]
    yes = graph.call_function(torch.ops.aten.full.default, ([], True), {"dtype": torch.bool})
    copy = graph.call_function(torch.ops.aten.where.self, (yes, node, node))
    with value.fake_mode:
        yes.meta["val"] = torch.ops.aten.full.default([], True, dtype=torch.bool)
        copy.meta["val"] = torch.ops.aten.where.self(yes.meta["val"], value, value)
    return copy


def awkward(value: Any) -> Any:
    """The same tensor with the values at the edges of its dtype first."""
    if not isinstance(value, torch.Tensor) or not value.numel() or value.dtype == torch.bool or 0 in value.stride():
        return value
    if value.dtype.is_floating_point:
        edges = torch.tensor(FLOATS).to(value.dtype)
    else:
        info = torch.iinfo(value.dtype)
        edges = torch.tensor([info.min, info.max, 0, 1, info.max // 2], dtype=value.dtype)
    flat = value.detach().reshape(-1).clone()
    count = min(len(edges), len(flat) // 2 + 1)
    flat[:count] = edges[:count]
    return torch.empty_strided(value.shape, value.stride(), dtype=value.dtype).copy_(flat.reshape(value.shape))


class Watching(Interpreter):
    def __init__(self, graph: GraphModule, measurement: Measurement) -> None:
        super().__init__(graph)
        self.measurement = measurement

    def run_node(self, n: Node) -> Any:
        if n.op == "call_function":
            arguments = [self.env[source] for source in n.all_input_nodes]
            self.measurement.node(n, arguments)
        return super().run_node(n)


def trace(info: OpInfo, sample: SampleInput, dynamic: bool, measurement: Measurement) -> None:
    call, tensors = positional(info, sample)

    def compiler(graph: GraphModule, _inputs: Sequence[object]) -> Callable[..., object]:
        return make_boxed_func(Watching(graph, measurement).run)

    traced = aot_function(call, compiler, compiler, decompositions=decompositions(), dynamic=dynamic)
    results = traced(*tensors)
    differentiable = [result for result in results if result.requires_grad]
    if differentiable:
        torch.autograd.backward(differentiable, [torch.ones_like(result) for result in differentiable])


def measure_here(folder: Path, tests: Sequence[str]) -> None:
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    measurement = Measurement(folder)
    chosen = [info for info in op_db if not tests or info.formatted_name in tests]
    for measurement.casts in ((), CASTS):
        for info, dynamic in product(chosen, (False, True)):
            of = info.supported_dtypes("cpu")
            dtype = next((dtype for dtype in TRACED if dtype in of), None)
            if dtype is not None and not info.name.startswith(ELSEWHERE):
                run = partial(measure_samples, info, dtype, dynamic, measurement)
                measurement.sample(f"{info.formatted_name} {dynamic} {len(measurement.casts)}", run)


def measure_samples(info: OpInfo, dtype: torch.dtype, dynamic: bool, measurement: Measurement) -> None:
    for sample in samples(info, dtype, dynamic, gradient=not dynamic):
        signal.alarm(CASE_S)
        trace(info, sample, dynamic, measurement)


def measure(folder: Path, tests: Sequence[str]) -> None:
    """A crash ends the child that measured, and is written down as the outcome of what it had begun."""
    folder.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, __file__, "measure-here", str(folder), *tests]
    while (code := subprocess.run(command, env={**os.environ, "OMP_NUM_THREADS": "1"}, check=False).returncode) != 0:
        if code in (1, 2, 130, -signal.SIGINT):
            sys.exit(code)
        print(f"the child ended with {code}; going on", file=sys.stderr)


def table(records: Sequence[Mapping[str, Any]]) -> tuple[dict[str, str], dict[str, dict[str, list[str]]]]:
    """The patterns in which every call was right, and why the others are not there."""
    outcomes: dict[str, dict[str, dict[bool, dict[str, str]]]] = defaultdict(
        lambda: defaultdict(lambda: defaultdict(dict))
    )
    for record in records:  # the last word on a case counts; a crash left it begun
        outcomes[record["operator"]][record["pattern"]][record["dynamic"]][record["case"]] = record["outcome"]
    supported: dict[str, str] = {}
    excluded: dict[str, dict[str, list[str]]] = {}
    for name, patterns in sorted(outcomes.items()):
        good = []
        for pattern, by_size in sorted(patterns.items()):
            verdicts = {dynamic: verdict(by_size[dynamic].values()) for dynamic in (False, True)}
            if verdict(patterns[single_precision(pattern)][True].values()) == "not lowered":
                verdicts[True] = "not lowered"  # sizes are what failed, not this dtype
            if verdicts[False] == "right" or (verdicts[False] is None and verdicts[True] == "right"):
                good.append(pattern + ("*" if verdicts[True] == "right" else ""))
            for dynamic, word in verdicts.items():
                if word not in (None, "right"):
                    excluded.setdefault(name, {}).setdefault(str(word), []).append(pattern + "*" * dynamic)
        if good:
            supported[name] = " ".join(good)
    return supported, excluded


def single_precision(pattern: str) -> str:
    cast = {SHORT[dtype]: "f32" for dtype in CASTS}
    return ">".join(",".join(sorted({cast.get(name, name) for name in side.split(",")})) for side in pattern.split(">"))


def verdict(outcomes: Iterator[str] | Any) -> str | None:
    seen = set(outcomes)
    for bad, word in (("begun", "crashed"), ("wrong", "wrong"), ("special", "special values"), ("refused", "refused")):
        if bad in seen:
            return word
    if "failed" in seen:
        return "not lowered"
    return "right" if "right" in seen else None


def write(folder: Path, operators: Sequence[str]) -> None:
    records = read_records(folder / "cases.jsonl")
    supported, excluded = table([record for record in records if not operators or record["operator"] in operators])
    versions = {name: version(name) for name in ("torch", "torch-mlir")}
    left = {name: {word: " ".join(patterns) for word, patterns in words.items()} for name, words in excluded.items()}
    if operators:
        before = json.loads(TABLE.read_text(encoding="utf-8"))
        supported, left = (
            _replaced(before[key], new, operators) for key, new in (("operators", supported), ("excluded", left))
        )
    text = json.dumps({"versions": versions, "operators": supported, "excluded": left}, indent=1)
    TABLE.write_text(text + "\n", encoding="utf-8")
    print(f"{len(supported)} operators in the table, {len(excluded)} with exclusions")


def _replaced(before: Mapping[str, Any], new: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
    kept = {name: entry for name, entry in before.items() if name not in names}
    return dict(sorted({**kept, **new}.items()))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("step", choices=("measure", "measure-here", "write"))
    parser.add_argument("folder", type=Path)
    parser.add_argument("names", nargs="*")
    arguments = parser.parse_args()
    steps = {"measure": measure, "measure-here": measure_here, "write": write}
    steps[arguments.step](arguments.folder, arguments.names)


if __name__ == "__main__":
    main()
