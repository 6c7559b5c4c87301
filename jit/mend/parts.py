"""A module whose graph breaks → the largest parts of it that are captured whole, each compiled by itself.

What lies between them, where the graph broke, runs in Python. Only where a statement of its own compiles the module.
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Set
from dataclasses import dataclass

from fullgraph.lint.apply import rows_of
from fullgraph.lint.findings import Edit, Fix

from ..events import Break, CallSite, Observation
from .trial import Composition, Kind
from .verdict import asked

TITLE = "compile the parts that are captured whole"
Place = tuple[str, int]


def in_parts(composition: Composition, broken: Set[Place], again: Set[Place], source: bytes) -> Fix | None:
    """Nothing is compiled that comes to one of the lines `broken`, and no function by itself that has one of `again`;
    `source` is the file that compiles the module. None where there are no such parts.
    """
    statement = _statement(source, composition.line)
    whole = _Whole.of(composition, broken, again)
    if statement is None or "" not in whole.broken:
        return None
    taken = set(re.findall(r"\w+", statement.text))
    lines = list(whole.calls("", statement.target, statement.options, taken))
    return Fix(TITLE, "unsafe", tuple(statement.edits(composition.path, lines))) if lines else None


def broken_lines(runs: Iterable[Observation]) -> Iterator[Place]:
    """All that a break goes through."""
    for run in runs:
        for item in run.breaks:
            path, _, line = item.root.rpartition(":")
            yield from ((path, int(line)), *((call.path, call.line) for call in lines_of(item)))


def lines_of(broken: Break) -> tuple[CallSite, ...]:
    """First-party calls down to the line that breaks."""
    return (*broken.stack, CallSite(broken.path, broken.line, broken.function))


def recompiled_lines(runs: Iterable[Observation]) -> frozenset[Place]:
    """Of functions that were compiled again for calls that the program makes."""
    return frozenset((item.path, item.line) for run in runs for item in asked(run, varied=False))


@dataclass(frozen=True, slots=True)
class _Whole:
    """Which modules of one are captured whole: by their names, as are those right inside each."""

    kinds: dict[str, Kind]
    inner: dict[str, list[str]]
    broken: set[str]
    """With all modules around them."""
    again: set[str]
    """What would be compiled again for another of its kind, by itself."""

    @classmethod
    def of(cls, composition: Composition, broken: Set[Place], again: Set[Place]) -> _Whole:
        kinds = {name: composition.kinds[number] for name, number in composition.modules}
        inner = defaultdict[str, list[str]](list)
        for name in kinds:
            if name:
                inner[_around(name)].append(name)
        bad = {name for name, kind in kinds.items() if _holds(kind, broken)}
        for name in tuple(bad):
            while name:
                name = _around(name)
                bad.add(name)
        return cls(kinds, inner, bad, {name for name, kind in kinds.items() if _holds(kind, again)})

    def calls(self, name: str, expression: str, options: str, taken: set[str]) -> Iterator[str]:
        """Lines that compile the parts of a module which the expression stands for."""
        kind = self.kinds[name]
        if name not in self.broken | self.again and kind.runs:
            if self.inner[name] or not kind.is_torch:
                yield f"{expression}.compile({options})"
            return
        if kind.holds and (line := self._for_each(name, expression, options, taken)):
            yield from line
            return
        for part in self.inner[name]:
            yield from self.calls(part, _reached(expression, part.rpartition(".")[2], kind), options, taken)

    def _for_each(self, name: str, expression: str, options: str, taken: set[str]) -> list[str] | None:
        """A loop, where the same is to be done with all that a list or a dictionary holds."""
        item = _fresh(expression, taken)
        bodies = {tuple(self.calls(part, item, options, taken | {item})) for part in self.inner[name]}
        if len(bodies) != 1 or len(self.inner[name]) == 1:
            return None
        values = f"{expression}.values()" if self.kinds[name].holds == "dict" else expression
        (body,) = bodies
        return [f"for {item} in {values}:", *(f"    {line}" for line in body)] if body else []


def _around(name: str) -> str:
    return name.rpartition(".")[0]


def _holds(kind: Kind, places: Set[Place]) -> bool:
    """Whether one of its functions has one of the lines."""
    return any(
        where == path and first <= line <= last for path, first, last in kind.functions for where, line in places
    )


def _reached(expression: str, name: str, kind: Kind) -> str:
    if kind.holds == "dict":
        return f"{expression}[{name!r}]"
    if kind.holds == "list" and name.isdecimal():
        return f"{expression}[{name}]"
    return f"{expression}.{name}" if name.isidentifier() else f"{expression}.get_submodule({name!r})"


def _fresh(expression: str, taken: set[str]) -> str:
    """A name for one of them: of `layers` it is `layer`."""
    last = expression.rpartition(".")[2]
    singular = last.removesuffix("s") if last.isidentifier() and last.endswith("s") else "part"
    numbered = (f"part_{number}" for number in range(2, len(taken) + 3))
    return next(name for name in (singular, "part", *numbered) if name not in taken)


@dataclass(frozen=True)
class _Statement:
    """`target = torch.compile(module, options)`, or `target.compile(options)` where `value` is None."""

    text: str
    """Of the file."""
    rows: list[str]
    node: ast.stmt
    target: str
    value: ast.expr | None
    """What is compiled, or the call that does it."""
    module: str
    options: str

    def edits(self, path: str, lines: list[str]) -> Iterator[Edit]:
        """With these lines for the compilation of the whole."""
        row = self.rows[self.node.lineno - 1]
        indent = row[: len(row) - len(row.lstrip())]
        added = f"\n{indent}".join(lines)
        if self.value is None or self.module == self.target:
            yield Edit(path, self._start(self.node), self._end(self.node), added)
        else:
            yield Edit(path, self._start(self.value), self._end(self.value), self.module)
            yield Edit(path, self._end(self.node), self._end(self.node), f"\n{indent}{added}")

    def _start(self, node: ast.stmt | ast.expr) -> tuple[int, int]:
        return self._place(node.lineno, node.col_offset)

    def _end(self, node: ast.stmt | ast.expr) -> tuple[int, int]:
        return self._place(node.end_lineno or node.lineno, node.end_col_offset or 0)

    def _place(self, line: int, column: int) -> tuple[int, int]:
        """In code points."""
        return line, len(self.rows[line - 1].encode()[:column].decode())


def _statement(source: bytes, line: int) -> _Statement | None:
    """The one that compiles a module on this line, where it stands by itself and has no comment inside."""
    rows = rows_of(source)[1]
    text = "".join(rows)
    if "_orig_mod" in text:  # the module that is compiled would not have it any more
        return None
    held = [
        node
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Assign | ast.AnnAssign | ast.Expr) and node.lineno <= line <= (node.end_lineno or 0)
    ]
    if len(held) != 1 or not _stands_alone(held[0], rows):
        return None
    match held[0]:
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=module, attr="compile")) as call):
            target, value, given = _text(text, module), None, call.args
        case (
            ast.Assign(targets=[ast.Name() | ast.Attribute() as bound], value=ast.Call(args=[module, *given]) as call)
            | ast.AnnAssign(target=ast.Name() | ast.Attribute() as bound, value=ast.Call(args=[module, *given]) as call)
        ) if _compiles(call.func):
            target, value = _text(text, bound), call
        case _:
            return None
    others: tuple[ast.expr | ast.keyword, ...] = (*given, *call.keywords)
    options = ", ".join(_text(text, item) for item in others)
    return _Statement(text, rows, held[0], target, value, _text(text, module), options)


def _compiles(function: ast.expr) -> bool:
    match function:
        case ast.Name(id="compile") | ast.Attribute(value=ast.Name(id="torch"), attr="compile"):
            return True
    return False


def _stands_alone(node: ast.stmt, rows: list[str]) -> bool:
    """Whether no other statement shares its lines, and no comment is in or behind it."""
    first, last = rows[node.lineno - 1], rows[(node.end_lineno or node.lineno) - 1]
    before = first.encode()[: node.col_offset]
    after = last.encode()[node.end_col_offset :]
    inside = "".join(rows[node.lineno - 1 : node.end_lineno])
    return not before.strip() and not after.strip() and "#" not in inside


def _text(source: str, node: ast.expr | ast.keyword) -> str:
    """On one line."""
    written = ast.get_source_segment(source, node) or ""
    return written if written and "\n" not in written and "\r" not in written else ast.unparse(node)
