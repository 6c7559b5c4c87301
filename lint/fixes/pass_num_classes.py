"""`one_hot(x)` → `one_hot(x, n)`, where the code shows a number of classes; else that it is wanted, only to be read.

It is shown by what the classes are chosen from (`logits.argmax(-1)`), by what the result is multiplied with, and by an
attribute that the class sets and calls so. Where the tensor has no element of the last class, or one beyond, the
result has another size than before, or there is an error.
"""

from __future__ import annotations

import ast

import libcst as cst
import libcst.matchers as m

from ..arithmetic import Scope
from ..blocks import around
from ..findings import Fix
from ..slice import Slice

NAMES = ("num_classes", "n_classes", "num_labels", "num_experts", "vocab_size")
"""What the number of classes is usually called, the most telling name first."""
LAST = m.Arg(value=m.UnaryOperation(m.Minus(), m.Integer("1")))
BEST = m.Call(func=m.Attribute(value=m.Name(), attr=m.Name("argmax")), args=[LAST])
CONVERTED = m.Name("float") | m.Name("double") | m.Name("half") | m.Name("to") | m.Name("type_as")
ELEMENTWISE = (cst.Add, cst.Subtract, cst.Multiply)


def fix(found: Slice, path: str) -> Fix | None:
    call, function = found.underlined, found.function
    match call:
        case cst.Call(
            func=cst.Attribute(attr=cst.Name("one_hot")) | cst.Name("one_hot"),
            args=[cst.Arg(value=classes, star="", keyword=None)],
        ) if function is not None:
            pass
        case _:
            return None
    assert isinstance(call, cst.Call)
    scope = Scope(found, function)
    number = _chosen_from(scope, classes) or _met(scope, function, call) or _named(found, scope)
    keyword = cst.ensure_type(cst.parse_expression(f"f(num_classes={number or '...'})"), cst.Call).args[0]
    plain = call.args[0].with_changes(comma=cst.MaybeSentinel.DEFAULT)
    edit = found.replace(path, call, call.with_changes(args=[plain, keyword]))
    return Fix("pass `num_classes`", "display" if number is None else "unsafe", (edit,))


def _chosen_from(scope: Scope, classes: cst.BaseExpression) -> str | None:
    """`logits.shape[-1]` where the classes are `logits.argmax(-1)`."""
    value = scope.value_of(classes.value) if isinstance(classes, cst.Name) else classes
    match value:
        case cst.Call(func=cst.Attribute(value=cst.Name(value=name))) if m.matches(value, BEST):
            return f"{name}.shape[-1]" if scope.times_bound(name) == 1 else None
    return None


def _met(scope: Scope, function: cst.FunctionDef, call: cst.Call) -> str | None:
    """The size of what the result is multiplied with, as it is or as another dtype."""
    part: cst.CSTNode = call
    for node in reversed(around(function, call)):
        match node:
            case cst.Attribute(attr=attr) if m.matches(attr, CONVERTED):
                pass
            case cst.Call(func=func) if func is part:
                pass
            case cst.BinaryOperation(left=left, operator=cst.MatrixMultiply(), right=right) if left is part:
                return _rows(scope, right)
            case cst.BinaryOperation(left=left, operator=operator, right=right) if isinstance(operator, ELEMENTWISE):
                other = right if left is part else left
                known = isinstance(other, cst.Name) and scope.is_tensor(other)
                return f"{other.value}.shape[-1]" if known and isinstance(other, cst.Name) else None
            case _:
                return None
        part = node
    return None


def _rows(scope: Scope, matrix: cst.BaseExpression) -> str | None:
    """How many rows it has: a tensor in a name, or the weights of an embedding."""
    match matrix:
        case cst.Name(value=name) if scope.is_tensor(matrix):
            return f"{name}.shape[0]"
        case cst.Attribute(
            value=cst.Attribute(value=cst.Name("self"), attr=cst.Name(value=name)), attr=cst.Name("weight")
        ):
            return f"self.{name}.weight.shape[0]"
    return None


def _named(found: Slice, scope: Scope) -> str | None:
    """An argument, or an attribute that the class sets, with such a name."""
    for name in NAMES:
        if scope.is_parameter(name):
            return name
    owner = next((node for node in found.module.syntax_tree.body if _holds(node, found)), None)
    assigned = {
        node.attr
        for node in ast.walk(owner or ast.Module([], []))
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)
    }
    return next((f"self.{name}" for name in NAMES if name in assigned), None)


def _holds(node: ast.stmt, found: Slice) -> bool:
    return isinstance(node, ast.ClassDef) and node.lineno <= found.span[0] <= (node.end_lineno or 0)
