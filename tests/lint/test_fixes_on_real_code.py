"""Every fix is offered wherever its pattern occurs in an installed package, whether or not anything is traced there."""

from __future__ import annotations

import ast
import importlib.util
import io
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

from fullgraph.lint.apply import edited
from fullgraph.lint.findings import Edit
from fullgraph.lint.fixes import suggest
from fullgraph.lint.ir import Span
from fullgraph.lint.project import Project

FILES = 8
WORDS = (b"isfinite", b"logger.warning")


def test_fixed_files_parse_and_keep_their_comments(tmp_path: Path) -> None:
    installed = importlib.util.find_spec("transformers")
    if installed is None or installed.origin is None:
        pytest.skip("transformers is not installed")
    candidates = sorted(Path(installed.origin).parent.glob("models/*/modeling_*.py"))
    files = [file for file in candidates if all(word in file.read_bytes() for word in WORDS)][:FILES]
    assert len(files) == FILES
    applied = {"select_by_tensor": 0, "guard_is_compiling": 0}
    for file in files:
        before = file.read_bytes()
        edits = list(_edits(file, applied))
        after = edited(before, edits)
        ast.parse(after)
        assert _comments(after) == _comments(before), file
        touched = {line for edit in edits for line in range(edit.start[0], edit.end[0] + 1)}
        rows, kept = after.splitlines(), iter(after.splitlines())
        assert all(row in kept for at, row in enumerate(before.splitlines(), 1) if at not in touched), file
        (tmp_path / "again.py").write_bytes(after)
        again = [edit for edit in _edits(tmp_path / "again.py", {}) if "is_compiling" not in edit.text]
        assert edited(after, again).splitlines() == rows, file
    assert all(applied.values()), applied


def _edits(file: Path, applied: dict[str, int]) -> Iterator[Edit]:
    """Those that don't meet, in the order of the file."""
    module = Project(file.parent, None).load(str(file))
    assert module is not None
    found: list[tuple[Edit, str]] = []
    for name, node in _places(ast.parse(file.read_bytes())):
        assert node.end_lineno is not None and node.end_col_offset is not None
        span: Span = (node.lineno, node.col_offset, node.end_lineno, node.end_col_offset)
        found += [(edit, name) for fix in suggest([name], module, span, str(file)) for edit in fix.edits]
    end = (0, 0)
    for edit, name in sorted(found, key=lambda pair: (pair[0].start, pair[0].end)):
        if edit.start > end:
            applied[name] = applied.get(name, 0) + 1
            end = edit.end
            yield edit


def _places(tree: ast.Module) -> Iterator[tuple[str, ast.expr]]:
    for node in ast.walk(tree):
        match node:
            case ast.If(test=test) | ast.IfExp(test=test) if (
                "isfinite" in (text := ast.unparse(test)) or "isinf" in text
            ):
                yield from (("select_by_tensor", part) for part in ast.walk(test) if isinstance(part, ast.Call))
            case ast.Call(func=ast.Attribute(attr="item"), args=[]):
                yield "keep_tensor", node
            case ast.Call(func=ast.Attribute(value=ast.Subscript() as value, attr="sum" | "mean")):
                yield "weigh_by_mask", value
            case ast.Call(func=ast.Attribute(attr="deepcopy")):
                yield "clone_tensor", node
            case ast.Assert(test=test):
                yield "constant_message", test
            case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name("logger"))) as call):
                yield "guard_is_compiling", call


def _comments(source: bytes) -> list[str]:
    tokens = tokenize.tokenize(io.BytesIO(source).readline)
    return [token.string for token in tokens if token.type == tokenize.COMMENT]
