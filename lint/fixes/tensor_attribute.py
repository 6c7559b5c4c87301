"""`module.scale = n` between calls → `module.scale = torch.tensor(n)`: a tensor's value is not guarded.

Only where the file reads the attribute nowhere but as `self.scale` in arithmetic with tensors.
"""

from __future__ import annotations

import ast

import libcst as cst
import libcst.matchers as m

from ..arithmetic import Scope, torch_name
from ..findings import Fix
from ..joining import joins
from ..search import findall
from ..slice import Slice, span_of, statement_at


def fix(found: Slice, path: str) -> Fix | None:
    torch = torch_name(found.module, found.function)
    match found.statement:
        case cst.Assign(
            targets=[cst.AssignTarget(target=cst.Attribute(attr=cst.Name(value=name)))],
            value=cst.Name() | cst.Integer() | cst.BinaryOperation() as value,
        ) if torch is not None and _all_join(found, name):
            tensor = cst.parse_expression(f"{torch}.tensor({found.code(value)})")
            return Fix("set it to a tensor", "unsafe", (found.replace(path, value, tensor),))
    return None


def _all_join(found: Slice, name: str) -> bool:
    statements = [node for node in ast.walk(found.module.syntax_tree) if isinstance(node, ast.stmt)]
    reads = [
        node for node in statements if not isinstance(node, (ast.FunctionDef, ast.ClassDef)) and _reads(node, name)
    ]
    return bool(reads) and all(_joins(found, node, name) for node in reads)


def _reads(node: ast.stmt, name: str) -> bool:
    """Whether a statement itself, not one inside it, reads the attribute."""
    parts = [child for child in ast.iter_child_nodes(node) if not isinstance(child, ast.stmt)]
    inner = [part for child in parts for part in ast.walk(child)]
    return any(
        isinstance(part, ast.Attribute) and part.attr == name and isinstance(part.ctx, ast.Load) for part in inner
    )


def _joins(found: Slice, node: ast.stmt, name: str) -> bool:
    there = statement_at(found.module, span_of(node))
    if there is None or there.function is None:
        return False
    uses = findall(there.statement, m.Attribute(attr=m.Name(name)))
    own = [use for use in uses if m.matches(use, m.Attribute(value=m.Name("self")))]
    expressions = [use for use in own if isinstance(use, cst.BaseExpression)]
    return len(own) == len(uses) and joins(Scope(there, there.function), there.function, expressions)
