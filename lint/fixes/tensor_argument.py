"""Numbers that the visible calls of a compiled function vary → tensors, made where the calls write them.

Only of a parameter that the function reads in arithmetic with tensors alone, and where the file names the function
nowhere but in such calls and to compile it. Numbers written out get one dtype: that of a float if any is one.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..arithmetic import Scope, torch_name
from ..compile_site import is_compile
from ..findings import Edit, Fix
from ..joining import joins, reads_of
from ..slice import Slice, span_of, statement_at
from ..symbols import Module

Calls = list[ast.Call]


def fix(found: Slice, path: str) -> Fix | None:
    torch = torch_name(found.module, found.function)
    calls = [] if torch is None else calls_of(found)
    if torch is None or not calls:
        return None
    edits = tuple(
        edit
        for number, name in _parameters(found, calls, torch)
        for edit in _edits(found, calls, number, name, torch, path)
    )
    return Fix("pass it as a tensor", "unsafe", edits) if edits else None


def calls_of(found: Slice) -> Calls:
    """Every use of the function that the finding's statement calls: none if there are others than plain calls."""
    here = [node for node in ast.walk(found.module.syntax_tree) if _is_at(node, found)]
    names = [node.func.id for node in here if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)]
    if len(set(names)) != 1:
        return []
    nodes = list(ast.walk(found.module.syntax_tree))
    calls = [node for node in nodes if isinstance(node, ast.Call) and _name(node.func) == names[0]]
    uses = [node for node in nodes if _name(node) == names[0] and isinstance(node, ast.Name)]
    plain = all(not isinstance(arg, ast.Starred) for call in calls for arg in call.args)
    return calls if plain and len(uses) == len(calls) else []


def _is_at(node: ast.AST, found: Slice) -> bool:
    line, column, *_ = found.span
    return isinstance(node, ast.Call) and (node.lineno, node.col_offset) == (line, column)


def _name(node: ast.AST) -> str | None:
    return node.id if isinstance(node, ast.Name) else None


def _parameters(found: Slice, calls: Calls, torch: str) -> Iterator[tuple[int, str]]:
    """Number and name of those that may hold a tensor, of the compiled function that is called."""
    wanted = _name(calls[0].func)
    for node in found.module.syntax_tree.body:
        match node:
            case ast.FunctionDef(name=name, decorator_list=[decorator]) if name == wanted and _compiles(
                decorator, torch
            ):
                inside = statement_at(found.module, span_of(node.body[0]))
                function = None if inside is None else inside.function
                if inside is None or function is None:
                    return
                scope = Scope(inside, function)
                for number, argument in enumerate(node.args.args):
                    reads = reads_of(function, argument.arg)
                    if scope.times_bound(argument.arg) == 1 and joins(scope, function, reads):
                        yield number, argument.arg


def _compiles(decorator: ast.expr, torch: str) -> bool:
    return is_compile(decorator.func if isinstance(decorator, ast.Call) else decorator, torch)


def _edits(found: Slice, calls: Calls, number: int, name: str, torch: str, path: str) -> Iterator[Edit]:
    """One for each call; none unless all pass numbers there, and not one and the same."""
    given = [argument for call in calls for argument in _arguments(call, number, name)]
    values = [value for argument in given for value in _values(found.module, argument)]
    if (
        len(given) < len(calls)
        or not all(_values(found.module, argument) for argument in given)
        or len(set(values)) < 2
    ):
        return
    as_float = any(isinstance(value, float) for value in values)
    for argument in given:
        start = (argument.lineno, found.module.code_column(argument.lineno, argument.col_offset))
        yield Edit(path, start, found.module.end_of(argument), f"{torch}.tensor({_text(argument, as_float)})")


def _text(argument: ast.expr, as_float: bool) -> str:
    match argument:
        case ast.Name(id=name):
            return f"float({name})" if as_float else name
    return str(float(ast.literal_eval(argument)) if as_float else ast.literal_eval(argument))


def _arguments(call: ast.Call, number: int, name: str) -> Iterator[ast.expr]:
    """What the call passes for the parameter."""
    yield from call.args[number : number + 1]
    yield from (keyword.value for keyword in call.keywords if keyword.arg == name)


def _values(module: Module, argument: ast.expr) -> list[int | float]:
    """All numbers that it may be: one written out, or those that a loop gives the name; none if that is not all."""
    match argument:
        case ast.Name(id=name):
            nodes = list(ast.walk(module.syntax_tree))
            loops = [node for node in nodes if isinstance(node, ast.For) and _name(node.target) == name]
            bound = [node for node in nodes if _name(node) == name and not isinstance(node.ctx, ast.Load)]  # type: ignore[attr-defined]
            found = [_items(loop.iter) for loop in loops]
            return [value for values in found for value in values] if len(bound) == len(loops) and all(found) else []
    return _number(argument)


def _items(iterable: ast.expr) -> list[int | float]:
    match iterable:
        case ast.Tuple(elts=items) | ast.List(elts=items):
            found = [_number(item) for item in items]
            return [value for values in found for value in values] if all(found) else []
        case ast.Call(func=ast.Name(id="range")):
            return [0, 1]
    return []


def _number(node: ast.expr) -> list[int | float]:
    match node:
        case ast.Constant(value=bool() | int() | float() as value):
            return [value]
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as value)):
            return [-value]
    return []
