"""An int attribute that a module counts with → a buffer that is updated in place: a tensor, whose value is not guarded.

Only where the class sets it once to a literal in `__init__`, after `super().__init__()`, changes it at one place, reads
it nowhere but in arithmetic with tensors, and the file has no other attribute of that name. It is not part of the state
dict, as before.
"""

from __future__ import annotations

import ast

import libcst as cst
import libcst.matchers as m

from ..arithmetic import Scope, torch_name
from ..blocks import around
from ..findings import Edit, Fix
from ..joining import joins
from ..search import findall
from ..slice import Slice, span_of, statement_at


def fix(found: Slice, path: str) -> Fix | None:
    torch, function, name = torch_name(found.module, found.function), found.function, _counter(found.statement)
    if torch is None or function is None or name is None:
        return None
    start = _start(found, name)
    update = _update(found, function, path, name)
    if start is None or update is None:
        return None
    value = start.statement.value  # type: ignore[union-attr]
    buffer = f'self.register_buffer("{name}", {torch}.tensor({start.code(value)}), persistent=False)'
    made = start.replace(path, start.statement, cst.Expr(cst.parse_expression(buffer)))
    return Fix("count in a buffer", "unsafe", (made, *update))


def _attribute(name: str) -> m.Attribute:
    return m.Attribute(value=m.Name("self"), attr=m.Name(name))


def _counter(statement: cst.CSTNode) -> str | None:
    match statement:
        case (
            cst.AugAssign(target=cst.Attribute(value=cst.Name("self"), attr=cst.Name(value=name)))
            | cst.Assign(
                targets=[cst.AssignTarget(target=cst.Attribute(value=cst.Name("self"), attr=cst.Name(value=name)))]
            )
        ):
            return name
    return None


def _update(found: Slice, function: cst.FunctionDef, path: str, name: str) -> tuple[Edit, ...] | None:
    """The change of the counter, made in place, where all reads of it may be of a tensor."""
    match found.statement:
        case cst.AugAssign(operator=cst.AddAssign() | cst.SubtractAssign(), value=cst.Integer()):
            edits: tuple[Edit, ...] = ()
        case cst.Assign(targets=[target], value=cst.BinaryOperation(left=left, right=cst.Integer() as right) as value):
            match value.operator:
                case cst.Add() if m.matches(left, _attribute(name)):
                    new: cst.BaseSmallStatement = cst.AugAssign(target.target, cst.AddAssign(), right)
                case cst.Modulo() if _only_reads(value, name):
                    copied = cst.Call(cst.Attribute(target.target, cst.Name("copy_")), [cst.Arg(value)])
                    new = cst.Expr(copied)
                case _:
                    return None
            edits = (found.replace(path, found.statement, new),)
        case _:
            return None
    reads = [node for node in findall(function, _attribute(name)) if found.statement not in around(function, node)]
    expressions = [node for node in reads if isinstance(node, cst.BaseExpression)]
    return edits if joins(Scope(found, function), function, expressions) else None


def _only_reads(value: cst.BinaryOperation, name: str) -> bool:
    """`(self.n + 1) % 4`: nothing but the counter and numbers."""
    inner = value.left
    match inner:
        case cst.BinaryOperation(left=left, operator=cst.Add() | cst.Subtract(), right=cst.Integer()):
            return m.matches(left, _attribute(name))
    return False


def _start(found: Slice, name: str) -> Slice | None:
    """The statement of `__init__` that sets the counter, where it is the only other one in the file that does."""
    owner = _owner(found)
    named = _attributes(found.module.syntax_tree, name)
    if owner is None or len(named) != len(_attributes(owner, name)):
        return None
    inits = [node for node in owner.body if isinstance(node, ast.FunctionDef) and node.name == "__init__"]
    methods = [node for node in owner.body if isinstance(node, ast.FunctionDef) and node.name != "__init__"]
    used_in = [method for method in methods if _attributes(method, name)]
    if len(inits) != 1 or len(used_in) != 1:
        return None
    ready = False
    for statement in inits[0].body:
        match statement:
            case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Call(func=ast.Name("super")), attr="__init__"))):
                ready = True
            case ast.Assign(
                targets=[ast.Attribute(value=ast.Name("self"), attr=attr)], value=ast.Constant(value=int() as start)
            ) if attr == name and ready and not isinstance(start, bool):
                return statement_at(found.module, span_of(statement))
    return None


def _attributes(tree: ast.AST, name: str) -> list[ast.AST]:
    return [node for node in ast.walk(tree) if isinstance(node, ast.Attribute) and node.attr == name]


def _owner(found: Slice) -> ast.ClassDef | None:
    line = found.span[0]
    classes = [node for node in found.module.syntax_tree.body if isinstance(node, ast.ClassDef)]
    return next((node for node in classes if node.lineno <= line <= (node.end_lineno or 0)), None)
