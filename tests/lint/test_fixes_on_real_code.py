"""Every fix is offered wherever its pattern occurs in installed packages, whether or not anything is traced there.

`REAL_FILES` in the environment says in how many files; the sample is the same in each run.
"""

from __future__ import annotations

import ast
import io
import os
import random
import sysconfig
import tokenize
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from fullgraph.lint.apply import edited
from fullgraph.lint.findings import Edit
from fullgraph.lint.fixes import suggest
from fullgraph.lint.ir import Span
from fullgraph.lint.project import Project

FILES = int(os.environ.get("REAL_FILES", "24"))
MOST = 4
"""Places for each fix in a file, and passes over it."""
LARGEST = 200_000
"""Bytes of a file."""
WORDS = (b"isfinite", b"isinf", b"finfo", b"logger.w", b"assert ", b"layerdrop", b".item()", b"allclose(", b"getenv(")
LOGGERS = ("logger", "logging", "warnings")
BRANCHES = ("assert_in_graph", "select_by_tensor", "cond_branch", "drop_layer_by_mask")


def test_fixed_files_parse_and_keep_their_comments(tmp_path: Path) -> None:
    applied: Counter[str] = Counter()
    for file in _sample():
        copy = tmp_path / "copy.py"
        copy.write_bytes(file.read_bytes())
        for _ in range(MOST * 3):
            if not _mended(copy, applied):
                break
        else:
            raise AssertionError(f"{file}: never ends")
    assert len(applied) > 3, applied


def _sample() -> list[Path]:
    """Files with most kinds of things to fix, in an order drawn once."""
    packages = Path(sysconfig.get_path("purelib"))
    files = sorted([*packages.glob("transformers/models/*/modeling_*.py"), *packages.glob("torch/**/*.py")])
    small = [file for file in files if file.stat().st_size < LARGEST]
    drawn = random.Random(0).sample(small, len(small))
    return sorted(drawn, key=_kinds, reverse=True)[:FILES]


def _kinds(file: Path) -> int:
    text = file.read_bytes()
    return sum(word in text for word in WORDS)


def _mended(file: Path, applied: Counter[str]) -> bool:
    """Applies what is offered; whether there was anything."""
    before = file.read_bytes()
    edits = list(_edits(file, applied))
    after = edited(before, edits)
    ast.parse(after)
    assert _comments(after) == _comments(before), file
    touched = {line for edit in edits for line in range(edit.start[0], edit.end[0] + 1)}
    kept = iter(after.splitlines())
    assert all(row in kept for at, row in enumerate(before.splitlines(), 1) if at not in touched), file
    file.write_bytes(after)
    return bool(edits)


def _edits(file: Path, applied: Counter[str]) -> Iterator[Edit]:
    """Those of fixes that don't meet, in the order of the file."""
    module = Project(file.parent, None).load(str(file))
    if module is None:
        return
    found: list[tuple[tuple[Edit, ...], str]] = []
    offered: Counter[str] = Counter()
    for name, node in _places(ast.parse(file.read_bytes())):
        offered[name] += 1
        if offered[name] <= MOST:
            end = (node.end_lineno or node.lineno, node.end_col_offset or 0)
            span: Span = (node.lineno, node.col_offset, *end)
            found += [(fix.edits, name) for fix in suggest([name], module, span, str(file))]
    taken: list[Edit] = []
    for edits, name in found:
        if not any(edit.start <= other.end and other.start <= edit.end for edit in edits for other in taken):
            applied[name] += 1
            taken += edits
    yield from sorted(taken, key=lambda edit: edit.start)


def _places(tree: ast.Module) -> Iterator[tuple[str, ast.expr | ast.stmt]]:
    guarded = {id(inner) for node in ast.walk(tree) if isinstance(node, ast.If) for inner in node.body}
    for node in ast.walk(tree):
        match node:
            case ast.If(test=test) | ast.IfExp(test=test) if any(isinstance(part, ast.Call) for part in ast.walk(test)):
                yield from ((name, test) for name in BRANCHES)
            case ast.While(test=ast.Compare() as test):
                yield "while_loop", test
            case ast.Call(func=ast.Attribute(attr="item" | "tolist"), args=[]):
                yield "keep_tensor", node
                yield "unbind_list", node
            case ast.Call(func=ast.Attribute(value=ast.Subscript() as value, attr="sum" | "mean")):
                yield "weigh_by_mask", value
            case ast.Call(func=ast.Attribute(attr="deepcopy")):
                yield "clone_tensor", node
            case ast.Call(func=ast.Attribute(attr="allclose")):
                yield "isclose", node
            case ast.Call(func=ast.Attribute(attr="getenv" | "find_spec")):
                yield "hoist_read", node
            case ast.Call(func=ast.Attribute(value=ast.Name("time"))):
                yield "drop_unused_read", node
            case ast.Call(func=ast.Attribute(value=ast.Attribute(attr="random") | ast.Name("random"))):
                yield "torch_draw", node
                yield "uniform_draw", node
            case ast.Assert(test=test):
                yield "constant_message", test
                yield "keep_tensor", test
            case ast.AugAssign(target=ast.Attribute()):
                yield "counter_buffer", node
            case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id=name))) as call) if (
                name in LOGGERS and id(node) not in guarded
            ):
                yield "guard_is_compiling", call


def _comments(source: bytes) -> list[str]:
    tokens = tokenize.tokenize(io.BytesIO(source).readline)
    return [token.string for token in tokens if token.type == tokenize.COMMENT]
