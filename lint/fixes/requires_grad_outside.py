"""`x.requires_grad_()` on a parameter → at the one call that the file has, on the argument.

Only where the statement stands at the top of the function, before the parameter is bound anew, and the file names the
function nowhere else: who calls it from elsewhere has to say so as well.
"""

from __future__ import annotations

import ast

import libcst as cst

from ..arithmetic import Scope
from ..blocks import block_of
from ..findings import Edit, Fix
from ..slice import Slice
from ..symbols import Module


def fix(found: Slice, path: str) -> Fix | None:
    function, line = found.function, found.line
    match found.statement:
        case cst.Expr(
            value=cst.Call(func=cst.Attribute(value=cst.Name(value=name), attr=cst.Name("requires_grad_")), args=[])
        ) if function is not None and isinstance(line, cst.SimpleStatementLine) and len(line.body) == 1:
            block = block_of(found.tree, line)
            if block is not function.body or len(block.body) == 1 or Scope(found, function).times_bound(name) != 1:
                return None
            call = _only_call(found, function, name, path)
            left = block.with_changes(body=[other for other in block.body if other is not line])
            if call is None or cst.Module([]).code_for_node(line).count("#"):
                return None
            return Fix("ask for the gradient at the call", "unsafe", (found.replace(path, block, left), call))
    return None


def _only_call(found: Slice, function: cst.FunctionDef, name: str, path: str) -> Edit | None:
    """The edit of the argument in the one place that names the function, a call at the top level."""
    parameters = [parameter.name.value for parameter in function.params.params]
    tree = found.module.syntax_tree
    own = function.name.value
    named = [node for node in ast.walk(tree) if isinstance(node, ast.Name) and node.id == own]
    for statement in tree.body:
        match statement:
            case (
                ast.Expr(value=ast.Call(func=ast.Name() as callee, args=args))
                | ast.Assign(value=ast.Call(func=ast.Name() as callee, args=args))
            ) if named == [callee] and name in parameters:
                return _asked(found.module, args, parameters.index(name), path)
    return None


def _asked(module: Module, args: list[ast.expr], at: int, path: str) -> Edit | None:
    if at >= len(args) or any(isinstance(arg, ast.Starred) for arg in args):
        return None
    arg = args[at]
    if not isinstance(arg, (ast.Call, ast.Name)):
        return None
    place = module.end_of(arg)
    return Edit(path, place, place, ".requires_grad_()")
