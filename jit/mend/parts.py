"""A module whose graph breaks → the largest parts of it that are captured whole, each compiled by itself.

What lies between them, where the graph broke, runs in Python. Only where a statement of its own compiles the module.
"""

from __future__ import annotations

import ast
import builtins
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Set
from dataclasses import dataclass
from keyword import iskeyword

from fullgraph.lint.apply import rows_of
from fullgraph.lint.findings import Edit, Fix

from ..events import Break, CallSite, Observation
from .trial import Composition, Kind
from .verdict import asked

TITLE = "compile the parts that are captured whole"
NAMING = "(?:state_dict|load_state_dict|named_\\w+)"
"""Methods that give the parameters of a compiled module other names."""
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

    def calls(self, name: str, expression: str, options: str, taken: Set[str]) -> Iterator[str]:
        """Lines that compile the parts of a module which the expression stands for."""
        kind = self.kinds[name]
        if self._is_part(name):
            yield f"{expression}.compile({options})"
            return
        if kind.holds and (line := self._for_each(name, expression, options, taken)):
            yield from line
            return
        for part in self.inner[name]:
            yield from self.calls(part, _reached(expression, part.rpartition(".")[2], kind), options, taken)

    def _is_part(self, name: str) -> bool:
        return self.kinds[name].runs and name not in self.broken | self.again

    def _for_each(self, name: str, expression: str, options: str, taken: Set[str]) -> list[str] | None:
        """A loop, where the same is to be done with all that a list or a dictionary holds; torch's own do not mind."""
        item, inner = _fresh(expression, taken), self.inner[name]
        bodies = {tuple(self.calls(part, item, options, taken | {item})) for part in inner}
        if any(map(self._is_part, inner)) and all(self._is_part(part) or self._is_plain(part) for part in inner):
            bodies = {(f"{item}.compile({options})",)}
        if len(bodies) != 1 or len(inner) == 1:
            return None
        values = f"{expression}.values()" if self.kinds[name].holds == "dict" else expression
        (body,) = bodies
        return [f"for {item} in {values}:", *(f"    {line}" for line in body)] if body else []

    def _is_plain(self, name: str) -> bool:
        """One of torch's that holds nothing."""
        return not self.kinds[name].functions and not self.inner[name]


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
    return f"{expression}.{name}" if _is_name(name) else f"{expression}.get_submodule({name!r})"


def _is_name(text: str) -> bool:
    return text.isidentifier() and not iskeyword(text)


def _fresh(expression: str, taken: Set[str]) -> str:
    """A name for one of them: of `layers` it is `layer`."""
    last = expression.rpartition(".")[2]
    singular = last.removesuffix("s") if last.isidentifier() and last.endswith("s") else "part"
    numbered = (f"part_{number}" for number in range(2, len(taken) + 3))
    names = (singular, "part", *numbered)
    return next(name for name in names if _is_name(name) and name not in taken and not hasattr(builtins, name))


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
        step = "\t" if indent.startswith("\t") else "    "
        added = f"\n{indent}".join(line.replace("    ", step) for line in lines)
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
    tree = ast.parse(text)
    held = [
        node
        for node in ast.walk(tree)
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
        ) if _text(text, call.func) in _names(tree):
            target, value = _text(text, bound), call
        case _:
            return None
    others: tuple[ast.expr | ast.keyword, ...] = (*given, *call.keywords)
    options = ", ".join(_text(text, item) for item in others)
    found = _Statement(text, rows, held[0], target, value, _text(text, module), options)
    return None if _is_seen_elsewhere(found, tree, module) else found


def _names(tree: ast.Module) -> set[str]:
    """What stands for `torch.compile`."""
    found = {"torch.compile"}
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                found |= {f"{name.asname}.compile" for name in names if name.name == "torch" and name.asname}
            case ast.ImportFrom(module="torch", names=names):
                found |= {name.asname or name.name for name in names if name.name == "compile"}
    return found


def _is_seen_elsewhere(statement: _Statement, tree: ast.Module, module: ast.expr) -> bool:
    """Whether other code tells the difference, or other modules come here: what runs now does not show that.

    That is a parameter of the function around, since others may call it; parameters by their names, in which a module
    that `torch.compile` has wrapped says so; and another name of the module, which may be called eagerly, or passed on.
    """
    named = isinstance(module, ast.Name | ast.Attribute)
    if named and statement.module.partition(".")[0] in _parameters_around(statement.node, tree) - {"self", "cls"}:
        return True
    if statement.value is None:
        return False
    if re.search(rf"(?<![\w.]){re.escape(statement.target)}\.{NAMING}\b", statement.text):
        return True
    if statement.module == statement.target or not named:
        return False
    uses = re.finditer(rf"(?<![\w.]){re.escape(statement.module)}\b(?!\s*[.=]|\s*:[^=])", statement.text)
    return len(list(uses)) > 1


def _parameters_around(statement: ast.stmt, tree: ast.Module) -> set[str]:
    """Of all functions that hold it."""
    functions = (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))
    around = (node for node in functions if node.lineno <= statement.lineno <= (node.end_lineno or 0))
    return {item.arg for node in around for item in ast.walk(node.args) if isinstance(item, ast.arg)}


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
