"""`if t: raise E("text")` → in the graph `torch._assert_async(~t, "text")`; `torch._check_tensor_all` too.

Eagerly the error stays what it was, and the test is evaluated once, as before. Not where an exception may steer the
program: in a `try` or an unknown `with`, where the file catches this exception, or where it is none that is named
as an error.
"""

from __future__ import annotations

import ast
import builtins

import libcst as cst
import libcst.matchers as m

from ..arithmetic import Scope, has_comments, torch_name
from ..blocks import around, block_of, only
from ..findings import Fix
from ..slice import Slice
from ..symbols import Module
from ..truth import Truth
from .constant_message import constant, in_graph

TITLE = "check with `torch._assert_async`"
ERROR = m.MatchRegex(r"\w+Error")
TRACED = m.Call(func=m.Attribute(value=m.Name("torch")))
"""A context that does not catch anything."""


def fix(found: Slice, path: str) -> Fix | None:
    torch, function = torch_name(found.module, found.function), found.function
    match found.statement:
        case cst.Expr(
            value=cst.Call(func=cst.Attribute(attr=cst.Name("_check_tensor_all")), args=[cst.Arg(value=tensor)]) as call
        ) if torch is not None:
            whole = f"{torch}._assert_async({torch}.all({found.code(tensor)}))"
            return Fix(TITLE, "unsafe", (found.replace(path, call, cst.parse_expression(whole)),))
        case cst.If(orelse=None) as branch if torch is not None and function is not None and not has_comments(branch):
            error = only(branch.body)
            if not isinstance(error, cst.Raise) or _steers(found, branch, error):
                return None
            new = _checked(found, Truth(found, Scope(found, function)), torch, branch, error)
            if new is None or block_of(found.tree, branch) is None:
                return None
            return Fix(TITLE, "unsafe", (found.replace(path, branch, new),))
    return None


def _checked(found: Slice, truth: Truth, torch: str, branch: cst.If, error: cst.Raise) -> cst.BaseStatement | None:
    raised = _message(found, error)
    test: cst.BaseExpression = branch.test
    if raised is None:
        return None
    condition, before = truth.opposite(test), None
    if condition is None and isinstance(test, cst.BooleanOperation) and isinstance(test.operator, cst.And):
        condition, before = truth.opposite(test.right), test.left
    if condition is None:
        return None
    checks: cst.BaseStatement = cst.parse_statement(f"{torch}._assert_async({', '.join([condition, *raised])})")
    if before is not None:
        checks = cst.If(before, cst.IndentedBlock([checks]))
    return in_graph(torch, checks, branch.with_changes(leading_lines=[]), branch.leading_lines)


def _message(found: Slice, error: cst.Raise) -> tuple[str, ...] | None:
    """The text of the error, if it has one; None where it is more than a text."""
    match error.exc:
        case cst.Name(value=name) | cst.Attribute(attr=cst.Name(value=name)) if name.endswith("Error"):
            return ()
        case cst.Call(args=[]):
            return ()
        case cst.Call(args=[cst.Arg(value=text, star="", keyword=None)]):
            message = constant(found, text)
            return None if message is None else (found.code(message),)
    return None


def _steers(found: Slice, branch: cst.If, error: cst.Raise) -> bool:
    """Whether the exception may be caught on purpose."""
    name = m.Name(ERROR) | m.Attribute(attr=m.Name(ERROR))
    if not m.matches(error, m.Raise(exc=name | m.Call(func=name))):
        return True
    for node in around(found.tree, branch):
        match node:
            case cst.Try() | cst.TryStar():
                return True
            case cst.With(items=items) if not all(m.matches(item.item, TRACED) for item in items):
                return True
    match error.exc:
        case cst.Call(func=kind) | (cst.Name() | cst.Attribute() as kind):
            return _caught(found.module, found.code(kind).rpartition(".")[2])
    raise AssertionError(error)


def _caught(module: Module, error: str) -> bool:
    """Whether the file handles this error, or a kind of error that it is."""
    kind = getattr(builtins, error, None)
    kinds = {error, *(base.__name__ for base in getattr(kind, "__mro__", ()))} - {"Exception", "BaseException"}
    handlers = [node.type for node in ast.walk(module.syntax_tree) if isinstance(node, ast.ExceptHandler)]
    names = [node for handler in handlers if handler is not None for node in ast.walk(handler)]
    return any(
        (isinstance(node, ast.Name) and node.id in kinds) or (isinstance(node, ast.Attribute) and node.attr in kinds)
        for node in names
    )
