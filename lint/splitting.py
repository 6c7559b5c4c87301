"""A compiled function → some of its lines in a function of their own, to which the decorator moves: what fixes share
that leave the rest to Python.

Legal only for a function at the top level that `torch.compile` alone decorates, and where every local that the new
function needs has a value by then.
"""

from __future__ import annotations

import ast
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass, replace

import libcst as cst
import libcst.matchers as m

from .arithmetic import Scope, torch_name
from .blocks import lines_of, single
from .findings import Edit
from .joining import reads_of
from .search import findall, holds, names_in
from .slice import Slice
from .vocabulary import words
from .ways import fresh_name, names_of

OUTSIDE = words("backward grad item numpy scale state_dict step tolist unscale_ update zero_grad")
"""Methods of tensors, optimizers, schedules and gradient scalers that end a graph."""
INTROSPECTION = words("eval exec locals super vars")
UNMOVABLE = (
    *(m.FunctionDef(), m.ClassDef(), m.Lambda(), m.Global(), m.Nonlocal()),
    *(m.NamedExpr(), m.Yield(), m.Await(), m.Del()),
)
"""What sees the names of the function around, binds them unseen, or leaves it."""


@dataclass(frozen=True, slots=True)
class Part:
    """What is to be compiled: some lines of the function, and the value that the line after them begins with, if that
    is all they are for; else they leave `results`.
    """

    first: cst.BaseStatement
    """The first of the lines, or where there are none the line with the value."""
    lines: Sequence[cst.BaseStatement]
    start: int
    """How many statements come before."""
    value: cst.BaseExpression | None
    results: tuple[str, ...] = ()

    @property
    def nodes(self) -> list[cst.CSTNode]:
        return [*self.lines, *([] if self.value is None else [self.value])]


def is_movable(found: Slice) -> bool:
    """Whether the function is at the top level, is compiled by its one decorator, and shows its locals to nobody."""
    function, torch = found.function, torch_name(found.module, found.function)
    if function is None or torch is None or found.tree.body[0] is not function:
        return False
    compiles = m.Attribute(value=m.Name(torch), attr=m.Name("compile"))
    plain = m.FunctionDef(
        body=m.IndentedBlock(), decorators=[m.Decorator(compiles | m.Call(func=compiles))], asynchronous=None
    )
    if not m.matches(function, plain):
        return False
    shown = any(name.value in INTROSPECTION for name in names_in(function.body))
    return not shown and not any(findall(function.body, pattern) for pattern in UNMOVABLE)


def part_before(function: cst.FunctionDef, at: int, with_value: bool) -> Part | None:
    """The plain lines right before that one, and if wanted what it begins with; None where they call nothing."""
    lines = lines_of(function.body)
    start = at
    while start and _is_plain(lines[start - 1]):
        start -= 1
    before = sum(len(line.body) if isinstance(line, cst.SimpleStatementLine) else 1 for line in lines[:start])
    for value in dict.fromkeys((_value(lines[at]) if with_value else None, None)):
        part = Part(lines[start], lines[start:at], before, value)
        results = tuple(name for name in _written(part.lines) if _is_read_outside(function, part, name))
        if bool(results) is (value is None) and any(findall(node, m.Call()) for node in part.nodes):
            return replace(part, results=results)
    return None


def split(found: Slice, path: str, part: Part) -> tuple[Edit, ...] | None:
    """The part as a function of its own, which alone is compiled; None where a local may have no value yet."""
    function = cst.ensure_type(found.tree.body[0], cst.FunctionDef)
    needed = _needed(found, function, part)
    if needed is None:
        return None
    name = fresh_name(found, f"{function.name.value}_{part.results[0] if len(part.results) == 1 else 'forward'}")
    return tuple(_edits(found, path, part, _inner(part, name, needed), _call(name, needed)))


def method(names: Container[str]) -> m.Call:
    """The call of a method with one of these names."""
    return m.Call(func=m.Attribute(attr=m.Name(m.MatchIfTrue(names.__contains__))))


def _value(line: cst.BaseStatement) -> cst.BaseExpression | None:
    """What is differentiated, or returned, where it is computed there."""
    match single(line):
        case (
            cst.Expr(value=cst.Call(func=cst.Attribute(value=value, attr=cst.Name("backward"))))
            | cst.Return(value=cst.BaseExpression() as value)
        ) if not isinstance(value, cst.Name) and _is_computed(value):
            return value
    return None


def _is_plain(line: cst.BaseStatement) -> bool:
    """Whether it only binds names to what is computed, maybe in a context of torch's."""
    match line:
        case cst.With(items=items, body=body):
            traced = all(item.asname is None and _is_of_torch(item.item) for item in items)
            return traced and all(map(_is_plain, lines_of(body)))
    match single(line):
        case cst.Assign(targets=[cst.AssignTarget(target=target)], value=value):
            names = m.Name() | m.Tuple(elements=[m.ZeroOrMore(m.Element(m.Name()))])
            return m.matches(target, names) and _is_computed(value)
        case cst.AugAssign(target=cst.Name(), value=value) | cst.AnnAssign(target=cst.Name(), value=value) if value:
            return _is_computed(value)
    return False


def _is_of_torch(expression: cst.BaseExpression) -> bool:
    match expression:
        case cst.Call(func=inner) | cst.Attribute(value=inner):
            return _is_of_torch(inner)
    return m.matches(expression, m.Name("torch"))


def _is_computed(value: cst.BaseExpression) -> bool:
    return not findall(value, method(OUTSIDE))


def _steps(lines: Sequence[cst.BaseStatement]) -> Iterator[tuple[list[cst.BaseExpression], list[str]]]:
    """What plain lines read and which names they then bind, one by one."""
    for line in lines:
        match line:
            case cst.With(items=items, body=body):
                yield [item.item for item in items], []
                yield from _steps(lines_of(body))
        match single(line):
            case cst.Assign(targets=[cst.AssignTarget(target=target)], value=value):
                yield [value], [name.value for name in names_in(target)]
            case cst.AugAssign(target=cst.Name(value=name) as target, value=value):
                yield [target, value], [name]
            case cst.AnnAssign(target=cst.Name(value=name), value=cst.BaseExpression() as value):
                yield [value], [name]


def _written(lines: Sequence[cst.BaseStatement]) -> list[str]:
    """Names in their order."""
    return list(dict.fromkeys(name for _, names in _steps(lines) for name in names))


def _is_read_outside(function: cst.FunctionDef, part: Part, name: str) -> bool:
    return any(not any(holds(node, read) for node in part.nodes) for read in reads_of(function, name))


def _needed(found: Slice, function: cst.FunctionDef, part: Part) -> list[cst.Param] | None:
    """Locals that the part reads before it binds them, as parameters; None where one may have no value yet."""
    own = [cst.ensure_type(node, cst.Param).name.value for node in findall(function.params, m.Param())]
    scope = Scope(replace(found, line=part.first), function)
    free = [name for name in dict.fromkeys(_free(part)) if name in own or scope.times_bound(name)]
    if not all(name in own or scope.is_bound(cst.Name(name)) for name in free):
        return None
    annotations = {parameter.name.value: parameter.annotation for parameter in function.params.params}
    ordered = [*(name for name in own if name in free), *(name for name in free if name not in own)]
    return [cst.Param(cst.Name(name), annotations.get(name)) for name in ordered]


def _free(part: Part) -> Iterator[str]:
    """Names that it reads from outside, be they locals or not."""
    bound = set[str]()
    value = [] if part.value is None else [([part.value], list[str]())]
    for read, written in (*_steps(part.lines), *value):
        yield from (name for node in read for name in names_of(node) if name not in bound)
        bound.update(written)


def _inner(part: Part, name: str, needed: list[cst.Param]) -> cst.FunctionDef:
    """What is compiled; a last line that binds the one result returns it instead."""
    lines, value = list(part.lines), part.value
    match lines and (lines[-1], single(lines[-1])):
        case (
            cst.SimpleStatementLine() as last,
            cst.Assign(targets=[cst.AssignTarget(target=cst.Name(value=target))], value=made),
        ) if part.results == (target,):
            lines[-1] = last.with_changes(body=[cst.Return(made)])
        case _:
            lines.append(cst.SimpleStatementLine([cst.Return(_all_of(part.results) if value is None else value)]))
    first = lines[0]
    assert isinstance(first, cst.SimpleStatementLine | cst.With)
    lines[0] = first.with_changes(leading_lines=[row for row in first.leading_lines if row.comment is not None])
    return cst.FunctionDef(cst.Name(name), cst.Parameters(needed), cst.IndentedBlock(lines))


def _all_of(names: Sequence[str]) -> cst.Name | cst.Tuple:
    if len(names) == 1:
        return cst.Name(names[0])
    return cst.Tuple([cst.Element(cst.Name(name)) for name in names], lpar=(), rpar=())


def _call(name: str, needed: list[cst.Param]) -> cst.Call:
    return cst.Call(cst.Name(name), [cst.Arg(parameter.name) for parameter in needed])


def _edits(found: Slice, path: str, part: Part, inner: cst.FunctionDef, call: cst.Call) -> Iterator[Edit]:
    """The new function between the decorator and the old one; its call in the place of what moved."""
    node = next(
        node for node in found.module.syntax_tree.body if node.lineno <= found.span[0] <= (node.end_lineno or 0)
    )
    assert isinstance(node, ast.FunctionDef)
    yield Edit(
        path,
        (node.lineno, 0),
        (node.lineno, 0),
        f"{cst.Module([inner], default_indent=found.tree.default_indent).code}\n\n",
    )
    if part.lines:
        statements = node.body[part.start : part.start + len(part.lines)]
        first = statements[0].lineno - _comments_above(part.first)
        end = (statements[-1].end_lineno or first) + 1
        row = found.module.lines[statements[0].lineno - 1]
        indent = row[: len(row) - len(row.lstrip())]
        left = f"{indent}{found.code(_all_of(part.results))} = {found.code(call)}\n" if part.results else ""
        yield Edit(path, (first, 0), (end, 0), left)
    if part.value is not None:
        yield found.replace(path, part.value, call)


def _comments_above(line: cst.BaseStatement) -> int:
    """Rows right above that go with the line."""
    assert isinstance(line, cst.SimpleStatementLine | cst.With)
    rows = list(line.leading_lines)
    return len(rows) - next((at for at, row in enumerate(rows) if row.comment is not None), len(rows))
