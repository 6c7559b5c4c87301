"""The rules' examples, compiled: a bad one does what its rule claims at the marked lines, a good one nothing.

All that are new or were edited since the evidence was written; of the others, which the evidence answers for, a sample.
"""

from __future__ import annotations

import functools
import importlib.metadata
import linecache
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

import pytest
from project_on_disk import ProjectOnDisk

from fullgraph.lint.apply import edited
from fullgraph.rules.measured import FOLDER, digest, read
from fullgraph.rules.model import Example, Rule
from fullgraph.rules.source import read_folder

pytestmark = [pytest.mark.torch, pytest.mark.filterwarnings("ignore")]

SAMPLE = 6
"""One in so many."""


def proven() -> set[str]:
    """The digests of the examples that were measured on the installed torch."""
    try:
        version = importlib.metadata.version("torch").partition("+")[0]
    except importlib.metadata.PackageNotFoundError:
        return set()
    paths = FOLDER.glob(f"torch-{version}-py{sys.version_info[0]}.{sys.version_info[1]}.yaml")
    return {key for path in paths for rule in read(path).rules.values() for key in (*rule.bad, *rule.good)}


PROVEN = proven()


def due(example: Example) -> bool:
    return digest(example) not in PROVEN or int(digest(example), 16) % SAMPLE == 0


RULES = [rule for rule in read_folder(Path(__file__).parents[2] / "rules") if not rule.code.startswith("FG9")]
BAD = [pytest.param(r, e, id=f"{r.code}-{i}") for r in RULES for i, e in enumerate(r.bad) if due(e)]
GOOD = [pytest.param(r, e, id=f"{r.code}-{i}") for r in RULES for i, e in enumerate(r.good) if due(e)]
MODED = [p for p in BAD if p.values[0].proof(p.values[1]) == "break"]  # type: ignore[union-attr,arg-type]


class Run:
    """An example that was run: what its `run` statements gave, what they raised, and what Dynamo did meanwhile."""

    def __init__(self) -> None:
        self.results: list[Any] = []
        self.error: Exception | None = None
        self.breaks: set[int] = set()
        self.recompiles: Counter[tuple[int, str]] = Counter()


@pytest.fixture
def compiler(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """torch, with the eager backend as the default and its settings put back afterwards."""
    torch = pytest.importorskip("torch")
    torch._dynamo.reset()
    torch.manual_seed(0)
    torch.compiler.set_default_backend("eager")
    switches = torch._dynamo.config.save_config()
    yield torch
    torch._dynamo.config.load_config(switches)
    torch._dynamo.reset()
    torch.compiler.set_default_backend(None)
    torch.set_grad_enabled(True)


def run(example: Example, folder: Path) -> Run:
    """Execute an example in a module of its own under observation."""
    from fullgraph.jit.capture import Paths, observe
    from fullgraph.jit.events import Break, Event, Recompile

    seen = Run()
    path = folder / "example.py"
    path.write_text(example.code, encoding="utf-8")
    linecache.checkcache(str(path))

    def record(event: Event) -> None:
        match event:
            case Break(path="example.py", line=line):
                seen.breaks.add(line)
            case Recompile(path="example.py", line=line, function=function):
                seen.recompiles[line, function] += 1

    module = sys.modules["example"] = ModuleType("example")
    module.__file__ = str(path)
    try:
        with observe(record, Paths(folder, (folder,))):
            exec(compile(example.code, path, "exec"), vars(module))
            for statement in example.run:
                seen.results.append(evaluate(statement, vars(module)))
    except Exception as error:
        seen.error = error
    finally:
        del sys.modules["example"]
    return seen


def evaluate(statement: str, namespace: dict[str, Any]) -> Any:
    """A statement's value if it is an expression."""
    code: CodeType
    try:
        code = compile(statement, "<run>", "eval")
    except SyntaxError:
        code = compile(statement, "<run>", "exec")
    return eval(code, namespace)


def marked(example: Example, code: str) -> set[int]:
    lines = enumerate(example.code.splitlines(), 1)
    return {number for number, line in lines if re.search(rf"#.*\b{code}\b", line)}


def same(left: Any, right: Any) -> bool:
    import torch

    if isinstance(left, torch.Tensor) and isinstance(right, torch.Tensor):
        return left.shape == right.shape and bool(torch.equal(left, right))
    if isinstance(left, list | tuple) and isinstance(right, list | tuple):
        return len(left) == len(right) and all(map(same, left, right))
    return bool(left == right)


def eagerly(torch: Any, example: Example, folder: Path) -> Run:
    """The same example with torch.compile doing nothing."""
    torch._dynamo.reset()
    torch.manual_seed(0)
    with torch._dynamo.config.patch(disable=True):
        return run(example, folder)


@pytest.mark.parametrize(("rule", "example"), BAD)
def test_bad_example(rule: Rule, example: Example, compiler: Any, tmp_path: Path) -> None:
    seen = run(example, tmp_path)
    lines = marked(example, rule.code)
    proof = rule.proof(example)
    if proof != "raise":
        assert seen.error is None
    match proof:
        case "break":
            assert seen.breaks == lines
        case "recompile":
            assert seen.breaks == set()
            assert max(seen.recompiles.values(), default=0) >= 2
        case "frozen":
            assert seen.breaks == set()
            assert not same(seen.results, eagerly(compiler, example, tmp_path).results)
        case "raise":
            assert isinstance(seen.error, Exception)
            assert seen.breaks <= lines
        case "lint":
            assert lines


@pytest.mark.parametrize(("rule", "example"), MODED)
def test_mode_of_bad_example(
    rule: Rule, example: Example, compiler: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole: Callable[..., Any] = functools.partial(compiler.compile, fullgraph=True)
    monkeypatch.setattr(compiler, "compile", whole)
    seen = run(example, tmp_path)
    captured = not seen.breaks and seen.error is None
    assert captured == (rule.modes.fullgraph == "captured")


@pytest.mark.parametrize(("rule", "example"), GOOD)
def test_good_example(rule: Rule, example: Example, compiler: Any, tmp_path: Path) -> None:
    seen = run(example, tmp_path)
    assert seen.error is None
    assert seen.breaks == set()
    assert max(seen.recompiles.values(), default=0) <= 1
    if rule.effect == "frozen-value":
        assert same(seen.results, eagerly(compiler, example, tmp_path).results)


FIXABLE = [pytest.param(r, e, id=f"{r.code}-{i}") for r in RULES if r.fix for i, e in enumerate(r.bad)]


OTHER_DRAWS = "draw with torch"
"""The title of a fix that draws other numbers."""
TO_FILL_IN = "=..."
"""What a fix to be read leaves to its reader."""


def mended(rule: Rule, example: Example, folder: Path) -> list[tuple[str, bool]]:
    """The example with each of the fixes that its findings are offered, and whether it answers the same."""
    project = ProjectOnDisk(folder)
    project.write({"example.py": example.code})
    offered = [finding.fixes for finding in project.check().findings if finding.code == rule.code]
    whole = [[fix for fix in fixes if not any(TO_FILL_IN in edit.text for edit in fix.edits)] for fixes in offered]
    given = [fixes for fixes in whole if fixes]
    most = max(map(len, given), default=0)
    chosen = [[fixes[min(at, len(fixes) - 1)] for fixes in given] for at in range(most)]
    edits = [dict.fromkeys(edit for fix in fixes for edit in fix.edits) for fixes in chosen]
    codes = [edited(example.code.encode(), each).decode() for each in edits]
    return [(code, fixes[0].title != OTHER_DRAWS) for code, fixes in zip(codes, chosen, strict=True)]


@pytest.mark.parametrize(("rule", "example"), FIXABLE)
def test_a_fix_of_a_bad_example_compiles_whole_and_answers_the_same(
    rule: Rule, example: Example, compiler: Any, tmp_path: Path
) -> None:
    versions = mended(rule, example, tmp_path)
    plain = eagerly(compiler, example, tmp_path) if versions else None
    for code, equal in versions:
        compiler._dynamo.reset()
        compiler.manual_seed(0)
        seen = run(replace(example, code=code), tmp_path)
        assert plain is not None and (seen.error, plain.error) == (None, None), code
        assert not seen.breaks and max(seen.recompiles.values(), default=0) <= 1, code
        assert not equal or same(seen.results, plain.results), code
