"""Holds the linter to programs that the evidence has not seen: measured symbols behind aliases, in helpers, methods,
loops and containers, really compiled on each version of torch, against what `--target-torch` says of them.

    python tools/compositions.py VERSION=PYTHON... [--count N] [--seed N] [--show]
"""

from __future__ import annotations

import argparse
import ast
import random
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from fullgraph.jit.prove.pool import Pool
from fullgraph.jit.prove.probes import read
from fullgraph.jit.prove.tasks import Seen, Task
from fullgraph.lint.config import Config
from fullgraph.lint.engine import check
from fullgraph.lint.findings import Effect, Severity
from fullgraph.lint.request import CheckRequest
from fullgraph.rules import support
from fullgraph.rules.support import Support

KNOWN = (Support.BREAKS, Support.DEFAULT_BREAKS, Support.CAPTURED)
BREAKS = (Effect.GRAPH_BREAK, Effect.SKIPPED_FRAME)

# Each is the body of a module that defines `f(x)`; {imports}, {function}, {arguments} and {name} are filled in.
FORMS = {
    "plain": """
{imports}
@torch.compile
def f(x):
    value = {function}({arguments})
    return x + 1
""",
    "alias of a function": """
{imports}
function = {function}

@torch.compile
def f(x):
    value = function({arguments})
    return x + 1
""",
    "name imported": """
import torch
{from_import} as imported

@torch.compile
def f(x):
    value = imported({arguments})
    return x + 1
""",
    "helper": """
{imports}
def helper(x):
    return {function}({arguments})

@torch.compile
def f(x):
    value = helper(x)
    return x + 1
""",
    "helper of a helper": """
{imports}
def inner(x):
    return {function}({arguments})

def outer(x, times=1):
    return [inner(x) for _ in range(times)]

@torch.compile
def f(x):
    y = x * 2
    outer(y, times=2)
    return y + 1
""",
    "method": """
{imports}
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = 2

    def measure(self, x):
        return {function}({arguments})

    def forward(self, x):
        value = self.measure(x)
        return x * self.scale

f = torch.compile(Net())
""",
    "attribute": """
{imports}
class Net(torch.nn.Module):
    def __init__(self, function={function}):
        super().__init__()
        self.function = function

    def forward(self, x):
        value = self.function({arguments})
        return x + 1

f = torch.compile(Net())
""",
    "loop": """
{imports}
@torch.compile
def f(x):
    for _ in range(2):
        value = {function}({arguments})
        x = x + 1
    return x
""",
    "list": """
{imports}
FUNCTIONS = [torch.sin, {function}]

@torch.compile
def f(x):
    value = FUNCTIONS[1]({arguments})
    return x + 1
""",
    "dict": """
{imports}
@torch.compile
def f(x):
    table = {{"sine": torch.sin, "other": {function}}}
    value = table["other"]({arguments})
    return x + 1
""",
    "lambda": """
{imports}
@torch.compile
def f(x):
    later = lambda: {function}({arguments})
    later()
    return x + 1
""",
    "closure": """
{imports}
def make(function):
    @torch.compile
    def f(x):
        value = function({arguments})
        return x + 1

    return f

f = make({function})
""",
    "branch never taken": """
{imports}
DEBUG = False

@torch.compile
def f(x):
    if DEBUG:
        value = {function}({arguments})
    return x + 1
""",
    "outside": """
{imports}
@torch.compile
def g(x):
    return x + 1

def f(x):
    value = {function}({arguments})
    return g(x)
""",
}


@dataclass(frozen=True, slots=True)
class Composition:
    symbol: str
    form: str
    code: str

    @property
    def task(self) -> Task:
        return Task(self.code, ("f(torch.tensor([1.0, 2.0, 3.0, 4.0]))",))


def compositions(count: int, seed: int) -> list[Composition]:
    """As many of symbols whose outcome differs between versions as of those that break, or are captured, everywhere."""
    chosen = random.Random(seed)
    versions = [support.load(torch) for torch in support.versions()]
    groups: dict[object, list[tuple[str, str]]] = {}
    for symbol, arguments in calls():
        letters = [version.symbol(symbol) for version in versions]
        if all(letter in KNOWN for letter in letters):
            captured = {letter is Support.CAPTURED for letter in letters}
            groups.setdefault(captured.pop() if len(captured) == 1 else "differs", []).append((symbol, arguments))
    found = []
    for number in range(count):
        group = chosen.choice(list(groups.values()))
        found.append(composed(*chosen.choice(group), list(FORMS)[number % len(FORMS)]))
    return found


def calls() -> Iterator[tuple[str, str]]:
    """Symbols that can be named by an import alone, with arguments that need none but `x` and torch."""
    for sheet in read():
        for probe in sheet.probes:
            match ast.parse(probe.text).body:
                case [ast.Expr(ast.Call(func=function) as call)] if ast.unparse(function) == probe.symbol.removeprefix(
                    "builtins."
                ):
                    names = {
                        node.id
                        for part in (*call.args, *call.keywords)
                        for node in ast.walk(part)
                        if isinstance(node, ast.Name)
                    }
                    if names <= {"x", "torch", "int", "float"} and not probe.arguments:
                        yield probe.symbol, ast.unparse(call).partition("(")[2].removesuffix(")")


def composed(symbol: str, arguments: str, form: str) -> Composition:
    module, _, name = symbol.rpartition(".")
    builtin = module == "builtins"
    imports = "import torch\n" if builtin or module.startswith("torch") else f"import {module}\nimport torch\n"
    code = FORMS[form].format(
        imports=imports,
        from_import=f"from {module} import {name}",
        function=name if builtin else symbol,
        arguments=arguments,
    )
    return Composition(symbol, form, code.lstrip())


def predicted(composition: Composition, torch: str, folder: Path) -> bool:
    """Whether the linter says that something breaks."""
    path = folder / "composition.py"
    path.write_text(composition.code + "\nimport torch\n" + composition.task.run[0] + "\n", encoding="utf-8")
    report = check(CheckRequest((path,), Config(folder), torch=torch, use_cache=False))
    return any(item.effect in BREAKS and item.severity is not Severity.NOTE for item in report.findings)


def broke(seen: Seen) -> bool | None:
    """None where the program does not run at all."""
    if seen.end or (seen.error and not seen.breaks):
        return None
    return bool(seen.breaks)


def disagreements(torch: str, python: Path, items: Sequence[Composition]) -> tuple[int, list[tuple[Composition, bool]]]:
    """How many were compared, and those where the linter is wrong, with what really happened."""
    compared, wrong = 0, []
    with Pool(python, 1) as pool, tempfile.TemporaryDirectory() as folder:
        for item in items:
            if (happened := broke(pool.ask(item.task))) is not None:
                compared += 1
                if predicted(item, torch, Path(folder)) != happened:
                    wrong.append((item, happened))
    return compared, wrong


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("versions", nargs="+", metavar="VERSION=PYTHON")
    parser.add_argument("--count", type=int, default=168)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--show", action="store_true", help="print the programs that the linter is wrong about")
    options = parser.parse_args()
    items = compositions(options.count, options.seed)
    cells = agreed = 0
    for text in options.versions:
        torch, _, python = text.partition("=")
        compared, wrong = disagreements(torch, Path(python), items)
        cells, agreed = cells + compared, agreed + compared - len(wrong)
        print(f"torch {torch}: {compared - len(wrong)} of {compared} programs as the linter says")
        for item, happened in wrong:
            print(
                f"  {item.symbol} ({item.form}): {'breaks, unforeseen' if happened else 'captured, foreseen as broken'}"
            )
            if options.show:
                print("    " + item.code.replace("\n", "\n    "))
    print(f"{agreed} of {cells} cells: {agreed / cells:.1%}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
