"""Writes `rules/probes/torch.txt`: a call of every public torch function and tensor method that has no probe by hand.

The calls come from the samples of torch's own operator tests, re-spelt with a few makers of tensors; where there are
none, the first of some usual calls that runs. Needs a torch whose `torch.testing` can be imported.
"""

from __future__ import annotations

import inspect
import os
import re
import signal
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import reduce
from itertools import islice
from typing import Any

import torch
from torch.testing._internal.common_methods_invocations import op_db
from torch.testing._internal.opinfo.core import OpInfo, SampleInput

from fullgraph.jit.prove.probes import FOLDER, MAKERS, read

OUTPUT = FOLDER / "torch.txt"
NAMESPACES = ("torch", "torch.Tensor", "torch.nn.functional", "torch.linalg", "torch.fft", "torch.special")
SAMPLES = 12
TIME_LIMIT_S = 10

HEAD = """\
# Written by tools/torch_probes.py: calls of torch's functions and tensor methods, in the form of library.txt. A line
# that begins with `-` names what no call is known for.

: import torch
: def f32(*size): return torch.linspace(0.1, 0.9, torch.Size(size).numel()).reshape(size)
: def f64(*size): return f32(*size).double()
: def i64(*size): return (torch.arange(torch.Size(size).numel()) % 3).reshape(size)
: def b8(*size): return i64(*size) > 0
: def c64(*size): return torch.complex(f32(*size), f32(*size))
: def spd(size): return torch.eye(size) * 2 + 0.1
"""
DTYPES = {torch.float32: "f32", torch.float64: "f64", torch.int64: "i64", torch.bool: "b8", torch.complex64: "c64"}
USUAL = (
    *("", "f32(4)", "f32(3, 3)", "spd(3)", "i64(4)", "b8(4)", "c64(4)", "f32(2, 3, 4)", "f32(1, 2, 8, 8)", "4"),
    *("f32(4), f32(4)", "f32(3, 3), f32(3, 3)", "f32(3, 3), f32(3)", "f32(4), i64(4)", "i64(4), i64(4)"),
    *("b8(4), b8(4)", "i64(4), 1", "f32(4), 2", "f32(4), 2.0", "f32(3, 3), 0", "f32(3, 3), 0, 1", "f32(4), (2, 2)"),
    *("i64(4), f32(5, 3)", "[f32(3), f32(3)]", "[f32(3, 3), f32(3, 3)]", "(2, 3)", "2, 3", "'cpu'", "torch.float32"),
    *("f32(2, 3, 8), 2", "f32(1, 2, 8, 8), 2", "f32(1, 2, 8, 8, 8), 2", "f32(2, 3, 8), f32(3, 3, 2)"),
    *("f32(1, 2, 8, 8), f32(2, 2, 3, 3)", "f32(1, 2, 4, 4, 4), f32(2, 2, 2, 2, 2)", "f32(4, 4), f32(4, 4), f32(4, 4)"),
    *("f32(3, 3), 0, i64(3, 3), f32(3, 3)", "f32(3, 3), 0, i64(3), f32(3, 3)", "f32(4), b8(4), 0.5", "torch.sin"),
    *("f32(4, 3), i64(4)", "f32(4), f32(4), f32(4), f32(4)", "f32(2, 4), f32(4), f32(4)", "f32(4), torch.float32"),
    *("f32(4), 0.5, True", "f32(4), f32(4), 0.5", "f32(4), 0, 2", "f32(4), 'cpu'", "f32(3, 3), (0, 1)", "f32(4), ()"),
    *("1, f32(4)", "f32(1, 2, 3), (1, 1, 4, 4)", "f32(1, 12, 4), (4, 4), (2, 2)", "f32(1, 2, 8), 2, 2"),
    *("f32(1, 2, 8, 8), 2, 2", "f32(1, 2, 8, 8, 8), 2, 2", "f32(4, 3, 2), f32(3, 2, 5), f32(5)", "True", "'cpu', True"),
    *("f32(4, 3), f32(4, 3), i64(4)", "f32(2, 3), f32(2, 4), f32(5, 3, 4)", "f32(4), f32(4), True, True, 1e-8, 1"),
)


def main() -> None:
    known = {probe.symbol for sheet in read([FOLDER / "library.txt"]) for probe in sheet.probes}
    torch.set_num_threads(1)  # threads do not survive a fork
    samples = by_name(op_db)
    namespace: dict[str, Any] = {}
    exec("\n".join(line[2:] for line in HEAD.splitlines() if line.startswith(": ")), namespace)
    lines, without = [], []
    for symbol in sorted(set(symbols()) - known):
        calls = (spelt(symbol, arguments) for arguments in (*sorted(samples.get(symbol, ()), key=oddness), *USUAL))
        found = first_that_runs([call for call in calls if call], namespace)
        if found:
            lines.append(f"{symbol} => {found}")
        else:
            without.append(f"- {symbol}")
    OUTPUT.write_text("\n".join([HEAD, *lines, "", *without, ""]), encoding="utf-8")
    print(f"{len(lines)} calls, {len(without)} names without one")


def symbols() -> Iterator[str]:
    for namespace in NAMESPACES:
        owner = reduce(getattr, namespace.split(".")[1:], torch)
        for name in dir(owner):
            value = getattr(owner, name, None)
            private = name.startswith("_") and not (owner is torch.Tensor and name.startswith("__"))
            if callable(value) and not private and not inspect.isclass(value) and not hasattr(object, name):
                yield f"{namespace}.{name}"


def by_name(infos: Iterable[OpInfo]) -> dict[str, set[str]]:
    """Symbol → arguments, as text, of the samples that can be spelt."""
    found: dict[str, set[str]] = defaultdict(set)
    for info in infos:
        texts = set(filter(None, map(arguments_of, samples_of(info))))
        for name in (info.name, *(alias.name for alias in info.aliases)):
            found[f"torch.{name}"] |= texts
            found[f"torch.Tensor.{name}"] |= texts
            found[f"torch.Tensor.{name}_"] |= texts
            found[f"torch.nn.functional.{name}"] |= texts
            found[f"torch.{name}_"] |= texts
    return found


def oddness(arguments: str) -> tuple[bool, int]:
    """Tensors without dimensions or elements are seldom what people compute with; of the others, the shortest call."""
    return bool(re.search(r"\w\(\)|\w\((\d+, )*0[,)]", arguments)), len(arguments)


def samples_of(info: OpInfo) -> list[SampleInput]:
    dtype = next((dtype for dtype in DTYPES if dtype in info.dtypes), None)
    try:
        return list(islice(info.sample_inputs("cpu", dtype), SAMPLES)) if dtype else []
    except Exception as error:  # samples that this build of torch cannot make
        print(f"{info.name}: {error}", file=sys.stderr)
        return []


def arguments_of(sample: SampleInput) -> str:
    """Empty if something in it cannot be spelt."""
    parts = [as_text(value) for value in (sample.input, *sample.args)]
    named = {name: as_text(value) for name, value in sample.kwargs.items()}
    if None in parts or None in named.values():
        return ""
    return ", ".join([*map(str, parts), *(f"{name}={text}" for name, text in named.items())])


def as_text(value: object) -> str | None:
    match value:
        case torch.Tensor(dtype=dtype, layout=torch.strided) if dtype in DTYPES:
            return f"{DTYPES[dtype]}({', '.join(map(str, value.shape))})"
        case bool() | int() | float() | str() | None:
            return repr(value)
        case torch.dtype() | torch.memory_format() | torch.layout():
            return str(value)
        case list() | tuple():
            items = [as_text(item) for item in value]
            if None in items:
                return None
            inner = ", ".join(map(str, items))
            return f"[{inner}]" if isinstance(value, list) else f"({inner}{',' * (len(items) == 1)})"
    return None


def spelt(symbol: str, arguments: str) -> str:
    """A call with these arguments; that of a method on the first of them, which has to be a tensor."""
    if not symbol.startswith("torch.Tensor."):
        return f"{symbol}({arguments})"
    maker, _, rest = arguments.partition(")")
    if maker.partition("(")[0] not in MAKERS:
        return ""
    return f"{maker}).{symbol.rpartition('.')[2]}({rest.removeprefix(', ')})"


def first_that_runs(calls: list[str], namespace: dict[str, Any]) -> str:
    """Tried in a fork, which some of them do not survive; what a call leaves behind is the next one's business."""
    receiving, sending = os.pipe()
    if (pid := os.fork()) == 0:
        silent = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(silent, stream)
        signal.alarm(TIME_LIMIT_S)
        for call in calls:
            try:
                if eval(call, namespace) is NotImplemented:
                    continue
            except Exception:
                continue
            os.write(sending, call.encode())
            break
        os._exit(0)
    os.close(sending)
    with os.fdopen(receiving, encoding="utf-8") as pipe:
        text = pipe.read()
    os.waitpid(pid, 0)
    return text


if __name__ == "__main__":
    main()
