"""Measure which symbols the installed torch captures: run every expression of `symbols.txt` under torch.compile.

Out: `rules/evidence/torch-<version>-py<version>.json`, one symbol a line: for each expression what happened in default
mode and with `fullgraph=True`: `captured`, the id of the graph break, or the name of the error.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import json
import linecache
import multiprocessing
import os
import platform
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

import torch

from fullgraph.jit.capture import Paths, observe
from fullgraph.jit.events import Break, Event

LIST = Path(__file__).with_name("symbols.txt")
EVIDENCE = Path(__file__).parent.parent / "rules" / "evidence"
TENSORS = dict.fromkeys(("x", "ints", "mask", "matrix", "sparse"), "torch.Tensor")
BUILTIN_NAMES = frozenset(dir(__import__("builtins")))
TIME_LIMIT = 60

Outcomes = dict[str, str | list[str]]
"""Expression → what happened, or a pair of default mode and `fullgraph=True` where they differ."""


@dataclass(frozen=True, slots=True)
class Probe:
    symbol: str
    code: str


@dataclass(frozen=True, slots=True)
class Sheet:
    """The parsed list: statements that run once, then the probes."""

    setup: str
    probes: tuple[Probe, ...]


def read(text: str) -> Sheet:
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    setup = [line[2:] for line in lines if line.startswith(": ")]
    declared = [match for line in setup if (match := re.match(r"(\w+) = .*#: (.+)$", line))]
    owners = TENSORS | {match[1]: match[2] for match in declared}
    return Sheet("\n".join(setup), tuple(parse(line, owners) for line in lines if not line.startswith(":")))


def parse(line: str, owners: dict[str, str]) -> Probe:
    symbol, arrow, code = line.partition(" => ")
    return Probe(qualified(symbol, owners), code) if arrow else Probe(qualified(called(line), owners), line)


def called(expression: str) -> str:
    """The dotted name that an expression calls, looking through `list(...)` and `next(...)` around another call."""
    node = ast.parse(expression, mode="eval").body
    while isinstance(node, ast.Subscript):
        node = node.value
    match node:
        case ast.Call(func=ast.Name(id="list" | "next"), args=[ast.Call(func=ast.Attribute() | ast.Name()) as inner]):
            return ast.unparse(inner.func)
        case ast.Call(func=ast.Call(func=function)) | ast.Call(func=function):
            return ast.unparse(function)
        case _:
            return ast.unparse(node)


def qualified(name: str, owners: dict[str, str]) -> str:
    first, _, rest = name.partition(".")
    if first in owners:
        return f"{owners[first]}.{rest or '__call__'}"
    return f"builtins.{name}" if first in BUILTIN_NAMES else name


def function(probe: Probe, namespace: dict[str, Any]) -> FunctionType:
    """The probe as a function in a file of its own."""
    try:
        ast.parse(probe.code, mode="eval")
        body = f"result = {probe.code}"
    except SyntaxError:
        body = probe.code
    source = f"def probe(x):\n    {body}\n    return x + 1\n"
    linecache.cache["<probe>"] = (len(source), None, source.splitlines(keepends=True), "<probe>")
    local: dict[str, Any] = {}
    exec(compile(source, "<probe>", "exec"), namespace, local)
    made: FunctionType = local["probe"]
    return made


def argument() -> torch.Tensor:
    return torch.tensor([1.0, 2.0, 3.0, 4.0])


def eager(target: FunctionType) -> str:
    """Empty when the probe makes sense without torch.compile."""
    try:
        target(argument())
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return ""


def compiled(target: FunctionType, *, fullgraph: bool) -> str:
    breaks: list[Break] = []

    def record(event: Event) -> None:
        if isinstance(event, Break):
            breaks.append(event)

    failed = ""
    with observe(record, Paths(Path("/"), (Path("/"),))):
        try:
            torch.compile(target, backend="eager", fullgraph=fullgraph)(argument())
        except Exception as error:
            failed = type(error).__name__
    return (breaks[0].gb or breaks[0].gb_type) if breaks else failed or "captured"


def isolated(task: Callable[[], str]) -> str:
    """The task's answer, given by a fork of this process: what a probe does to torch or the interpreter ends there."""
    receiver, sender = multiprocessing.Pipe(duplex=False)
    child = multiprocessing.get_context("fork").Process(target=answer, args=(task, sender))
    child.start()
    sender.close()
    try:
        return str(receiver.recv()) if receiver.poll(TIME_LIMIT) else "timeout"
    except EOFError:
        return "crash"
    finally:
        child.kill()
        child.join()


def answer(task: Callable[[], str], sender: Connection) -> None:
    with Path(os.devnull).open("w") as nowhere:
        os.dup2(nowhere.fileno(), sys.stdout.fileno())
        os.dup2(nowhere.fileno(), sys.stderr.fileno())
        sender.send(task())


def measure(sheet: Sheet, wanted: str) -> dict[str, Outcomes]:
    module = sys.modules["probe"] = ModuleType("probe")
    exec(sheet.setup, vars(module))
    warm_up()
    found: dict[str, Outcomes] = {}
    for probe in sheet.probes:
        if re.search(wanted, probe.symbol):
            target = function(probe, vars(module))
            if problem := isolated(lambda target=target: eager(target)):  # type: ignore[misc]
                print(f"left out: {probe.code}: {problem}", file=sys.stderr)
                continue
            default, whole = (
                isolated(lambda target=target, mode=mode: compiled(target, fullgraph=mode))  # type: ignore[misc]
                for mode in (False, True)
            )
            found.setdefault(probe.symbol, {})[probe.code] = default if default == whole else [default, whole]
    return found


def warm_up() -> None:
    """Load what the first compilation loads, so that the forks need not; threads would not survive a fork."""
    torch.set_num_threads(1)
    with contextlib.suppress(Exception):
        torch.compile(lambda x: print(end="") or x.sin(), backend="eager")(argument())
    torch._dynamo.reset()


def render(torch_version: str, python_version: str, symbols: dict[str, Outcomes]) -> str:
    head = f'{{"torch": {json.dumps(torch_version)},\n"python": {json.dumps(python_version)},\n"symbols": {{\n'
    return head + ",\n".join(f" {json.dumps(name)}: {json.dumps(found)}" for name, found in symbols.items()) + "\n}}\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("pattern", nargs="?", default="", help="measure again only the symbols that match")
    wanted = parser.parse_args().pattern
    versions = torch.__version__.split("+")[0], ".".join(platform.python_version_tuple()[:2])
    path = EVIDENCE / "torch-{}-py{}.json".format(*versions)
    known = json.loads(path.read_text(encoding="utf-8"))["symbols"] if wanted else {}
    kept = {symbol: found for symbol, found in known.items() if not re.search(wanted, symbol)}
    symbols = kept | measure(read(LIST.read_text(encoding="utf-8")), wanted)
    path.write_text(render(*versions, dict(sorted(symbols.items()))), encoding="utf-8")


if __name__ == "__main__":
    main()
