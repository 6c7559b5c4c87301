"""The probe lists in `rules/probes/`: text becomes a prelude and probes, each a symbol and code that uses it."""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from fullgraph import rules

FOLDER = Path(rules.__file__).with_name("probes")
TENSORS = dict.fromkeys(("x", "ints", "mask", "matrix", "sparse"), "torch.Tensor")
MAKERS = frozenset({"f32", "f64", "i64", "b8", "c64", "spd"})
"""Calls of these in a probe are made outside the compiled function, and what they return passed in."""
BUILTINS = frozenset(dir(builtins))


@dataclass(frozen=True, slots=True)
class Probe:
    symbol: str
    text: str
    """As the list has it."""
    body: str
    """The statements to compile; an expression's value is called `result`."""
    arguments: tuple[str, ...] = ()

    @property
    def is_expression(self) -> bool:
        return self.body.startswith("result = ")


@dataclass(frozen=True, slots=True)
class Sheet:
    """A list: statements that run once, the probes, and symbols that no probe is known for."""

    prelude: str
    probes: tuple[Probe, ...]
    unprobed: tuple[str, ...] = ()


def read(paths: Iterable[Path] | None = None) -> tuple[Sheet, ...]:
    files = sorted(FOLDER.glob("*.txt")) if paths is None else paths
    return tuple(parse(path.read_text(encoding="utf-8")) for path in files)


def parse(text: str) -> Sheet:
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    prelude = [line[2:] for line in lines if line.startswith(": ")]
    declared = [match for line in prelude if (match := re.match(r"(\w+) = .*#: (.+)$", line))]
    owners = TENSORS | {match[1]: match[2] for match in declared}
    return Sheet(
        "\n".join(prelude),
        tuple(_probe(line, owners) for line in lines if line[0] not in ":-"),
        tuple(line[2:] for line in lines if line.startswith("- ")),
    )


def _probe(line: str, owners: dict[str, str]) -> Probe:
    symbol, arrow, text = line.partition(" => ")
    if not arrow:
        symbol, text = _called(line), line
    tree = ast.parse(text)
    match tree.body:
        case [ast.Expr(value=value)]:
            tree.body = [ast.Assign([ast.Name("result", ast.Store())], value)]
    inputs = _Inputs()
    body = ast.unparse(ast.fix_missing_locations(inputs.visit(tree)))
    return Probe(_qualified(symbol, owners), text, body, tuple(inputs.made))


class _Inputs(ast.NodeTransformer):
    """Replaces calls of makers by the names of parameters."""

    def __init__(self) -> None:
        self.made: list[str] = []

    def visit_Call(self, node: ast.Call) -> ast.AST:
        match node.func:
            case ast.Name(id=name) if name in MAKERS:
                self.made.append(ast.unparse(node))
                return ast.Name(f"a{len(self.made) - 1}", ast.Load())
        return self.generic_visit(node)


def _called(expression: str) -> str:
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


def _qualified(name: str, owners: dict[str, str]) -> str:
    first, _, rest = name.partition(".")
    if first in owners:
        return f"{owners[first]}.{rest or '__call__'}"
    return f"builtins.{name}" if first in BUILTINS else name
