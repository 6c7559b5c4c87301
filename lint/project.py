"""Linking: modules, classes and functions of the project, found by path or dotted name and loaded from their summaries
on demand.
"""

from __future__ import annotations

import ast
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from .cache import SummaryCache
from .ir import Block, Node, Span
from .summary import Summary, SyntaxProblem, summarise


@dataclass(eq=False)
class FunctionSymbol:
    """A function or method as written; compared by identity."""

    module: Module
    qualname: str
    node: Node
    owner: ClassSymbol | None = None

    @property
    def name(self) -> str:
        return self.node[2] if self.node[0] == "def" else "<lambda>"

    @property
    def span(self) -> Span:
        return self.node[1]  # type: ignore[no-any-return]

    @property
    def parameters(self) -> tuple[Node, ...]:
        return self.node[3] if self.node[0] == "def" else self.node[2]  # type: ignore[no-any-return]

    @property
    def decorators(self) -> tuple[Node, ...]:
        return self.node[4] if self.node[0] == "def" else ()

    @property
    def returns(self) -> Node | None:
        return self.node[5] if self.node[0] == "def" else None

    @property
    def body(self) -> Block:
        if self.node[0] == "def":
            return self.node[6]  # type: ignore[no-any-return]
        return (("return", self.node[1], self.node[3]),)

    @property
    def kind(self) -> str:
        """`plain`, `generator` or `async`."""
        return self.node[7] if self.node[0] == "def" else "plain"

    @property
    def extent(self) -> tuple[int, int]:
        """First line (decorators included) and last line."""
        return self.node[8] if self.node[0] == "def" else (self.node[1][0], self.node[1][2])


@dataclass(eq=False)
class ClassSymbol:
    """A class as written; compared by identity."""

    module: Module
    qualname: str
    node: Node
    scope: object = None
    """The frame it was defined in, where it is local to a function."""

    @property
    def name(self) -> str:
        return self.node[2]  # type: ignore[no-any-return]

    @property
    def bases(self) -> tuple[Node, ...]:
        return self.node[3]  # type: ignore[no-any-return]

    @property
    def decorators(self) -> tuple[Node, ...]:
        return self.node[5]  # type: ignore[no-any-return]

    @cached_property
    def methods(self) -> dict[str, FunctionSymbol]:
        return {
            node[2]: FunctionSymbol(self.module, f"{self.qualname}.{node[2]}", node, self)
            for node in all_statements(self.node[6])
            if node[0] == "def" and not _redefines_property(node)
        }

    @cached_property
    def classes(self) -> dict[str, ClassSymbol]:
        return {
            node[2]: ClassSymbol(self.module, f"{self.qualname}.{node[2]}", node)
            for node in self.node[6]
            if node[0] == "class"
        }

    @cached_property
    def attributes(self) -> dict[str, tuple[Node, ...]]:
        """Class-level names → the expressions assigned to them."""
        return assigned_names(self.node[6])

    @cached_property
    def annotations(self) -> dict[str, Node]:
        return {node[2][2]: node[3] for node in self.node[6] if node[0] == "annassign" and node[2][0] == "name"}

    @cached_property
    def stores(self) -> dict[str, tuple[tuple[FunctionSymbol, Node, Node], ...]]:
        """`self.name` assignments: name → (method, statement, value expression)."""
        found: dict[str, list[tuple[FunctionSymbol, Node, Node]]] = {}
        for method in self.methods.values():
            if not method.parameters:
                continue
            receiver = method.parameters[0][0]
            for statement in all_statements(method.body):
                for target, value in _assignments(statement):
                    if target[0] == "attr" and target[2][0] == "name" and target[2][2] == receiver:
                        found.setdefault(target[3], []).append((method, statement, value))
        return {name: tuple(rows) for name, rows in found.items()}


@dataclass(eq=False)
class Module:
    """A first-party file."""

    path: str
    """Absolute."""
    name: str
    """Dotted, as its siblings import it."""
    package: str
    base: str
    """The folder that its top-level package lies in."""
    body: Block
    source: bytes = field(repr=False)

    @cached_property
    def text(self) -> str:
        """The decoded source, line ends normalised as Python's own parser does."""
        import io
        import tokenize

        encoding, _ = tokenize.detect_encoding(io.BytesIO(self.source).readline)
        return io.TextIOWrapper(io.BytesIO(self.source), encoding, newline=None).read()

    @cached_property
    def syntax_tree(self) -> ast.Module:
        """Python's own tree, for the few who need more than the IR."""
        return ast.parse(self.source)

    @cached_property
    def lines(self) -> list[str]:
        return self.text.split("\n")

    @cached_property
    def bindings(self) -> dict[str, tuple[Node, ...]]:
        """Module-level names → the statements that bind them, in order."""
        found: dict[str, list[Node]] = {}
        for node in all_statements(self.body):
            for name in bound_names(node):
                found.setdefault(name, []).append(node)
        return {name: tuple(nodes) for name, nodes in found.items()}

    @cached_property
    def functions(self) -> dict[str, FunctionSymbol]:
        """Top-level functions, the last definition of a name."""
        return {node[2]: FunctionSymbol(self, node[2], node) for node in all_statements(self.body) if node[0] == "def"}

    @cached_property
    def classes(self) -> dict[str, ClassSymbol]:
        return {node[2]: ClassSymbol(self, node[2], node) for node in all_statements(self.body) if node[0] == "class"}

    @cached_property
    def rebound(self) -> frozenset[str]:
        """Names that get new values while the program runs: counted up, looped over, or assigned as `global`."""
        return frozenset(_rebound(self))

    def symbols(self) -> Iterator[FunctionSymbol]:
        """Every top-level function and every method, in source order."""
        yield from self.functions.values()
        stack = list(self.classes.values())
        while stack:
            cls = stack.pop(0)
            yield from cls.methods.values()
            stack.extend(cls.classes.values())

    def code_column(self, line: int, utf8_column: int) -> int:
        """`ast`'s byte column as a column in code points."""
        if line > len(self.lines):
            return utf8_column
        text = self.lines[line - 1]
        return utf8_column if text.isascii() else len(text.encode()[:utf8_column].decode(errors="ignore"))

    def source_of(self, span: Span) -> str:
        """The text of `span`, inner line breaks and indentation squeezed."""
        line, column, end_line, end_column = span
        rows = [row.encode() for row in self.lines[line - 1 : end_line]]
        if not rows:
            return ""
        rows[-1] = rows[-1][:end_column]
        rows[0] = rows[0][column:]
        return " ".join(row.decode(errors="ignore").strip() for row in rows)


def _redefines_property(node: Node) -> bool:
    """`@name.setter`: the getter above it is what a read means."""
    return any(decorator[0] == "attr" and decorator[3] in ("setter", "deleter") for decorator in node[4])


def all_statements(body: Block) -> Iterator[Node]:
    """Every statement of this scope, nested blocks included, nested functions and classes not entered."""
    for node in body:
        yield node
        match node[0]:
            case "if" | "while":
                yield from all_statements(node[3])
                yield from all_statements(node[4])
            case "for":
                yield from all_statements(node[4])
                yield from all_statements(node[5])
            case "with":
                yield from all_statements(node[3])
            case "try":
                yield from all_statements(node[2])
                for handler in node[3]:
                    yield from all_statements(handler[2])
                yield from all_statements(node[4])
                yield from all_statements(node[5])
            case "match":
                for case in node[3]:
                    yield from all_statements(case[2])


def bound_names(node: Node) -> Iterator[str]:
    """Names that one statement binds in its scope."""
    match node[0]:
        case "def" | "class":
            yield node[2]
        case "import":
            for name, alias in node[2]:
                yield alias or name.partition(".")[0]
        case "importfrom":
            for name, alias in node[4]:
                yield alias or name
        case "assign":
            for target in node[2]:
                yield from target_names(target)
        case "annassign" if node[4] is not None:
            yield from target_names(node[2])
        case "augassign":
            yield from target_names(node[3])
        case "for":
            yield from target_names(node[2])
        case "with":
            for _, target in node[2]:
                if target is not None:
                    yield from target_names(target)


def _rebound(module: Module) -> Iterator[str]:
    for node in all_statements(module.body):
        if node[0] == "augassign" and node[3][0] == "name":
            yield node[3][2]
        if node[0] in ("for", "while"):
            if node[0] == "for":
                yield from bound_names(node)
            for inner in all_statements(node[4] if node[0] == "for" else node[3]):
                yield from bound_names(inner)
    for symbol in module.symbols():
        yield from _globals_assigned(symbol)


def _globals_assigned(symbol: FunctionSymbol) -> Iterator[str]:
    nodes = list(all_statements(symbol.body))
    declared = {name for node in nodes if node[0] == "global" for name in node[2]}
    if declared:
        for node in nodes:
            yield from (name for name in bound_names(node) if name in declared)


def target_names(target: Node) -> Iterator[str]:
    match target[0]:
        case "name":
            yield target[2]
        case "tuple" | "list":
            for item in target[2]:
                yield from target_names(item)
        case "star":
            yield from target_names(target[2])


def assigned_names(body: Block) -> dict[str, tuple[Node, ...]]:
    found: dict[str, list[Node]] = {}
    for node in all_statements(body):
        for target, value in _assignments(node):
            if target[0] == "name":
                found.setdefault(target[2], []).append(value)
    return {name: tuple(values) for name, values in found.items()}


def _assignments(node: Node) -> Iterator[tuple[Node, Node]]:
    match node[0]:
        case "assign":
            for target in node[2]:
                if (
                    target[0] in ("tuple", "list")
                    and node[3][0] in ("tuple", "list")
                    and len(target[2]) == len(node[3][2])
                ):
                    yield from zip(target[2], node[3][2], strict=False)
                else:
                    yield target, node[3]
        case "annassign" if node[4] is not None:
            yield node[2], node[4]
        case "augassign":
            yield node[3], ("bin", node[1], node[2], node[3], node[4])


class Project:
    """The first-party code below `root`; loads modules on demand and remembers them."""

    def __init__(self, root: Path, cache: SummaryCache | None, first_party: tuple[str, ...] = ()) -> None:
        self._root = str(root)
        self._cache = cache
        self._first_party = first_party
        self._by_path: dict[str, Module | None] = {}
        self._by_name: dict[tuple[str, str], Module | None] = {}
        self.problems: dict[str, SyntaxProblem] = {}
        """Files that could not be parsed, by absolute path."""

    @property
    def modules(self) -> list[Module]:
        return [module for module in self._by_path.values() if module is not None]

    def load(self, path: str) -> Module | None:
        """The module in `path` (absolute). None where it can't be read or parsed; a syntax error is kept in `problems`.

        Raises OSError where the file itself can't be read.
        """
        if path not in self._by_path:
            self._by_path[path] = self._load(path, Path(path).read_bytes())
        return self._by_path[path]

    def _load(self, path: str, source: bytes) -> Module | None:
        summary = summarise(source, self._cache)
        match summary:
            case SyntaxProblem():
                self.problems[path] = summary
                return None
            case Summary():
                name, package, base = module_name(path)
                return Module(path, name, package, base, summary.body, source)

    def find(self, dotted: str, importer: Module) -> Module | None:
        """The first-party module that `import dotted` means in `importer`."""
        key = (dotted, importer.base)
        if key not in self._by_name:
            self._by_name[key] = self._find(dotted, importer)
        return self._by_name[key]

    def _find(self, dotted: str, importer: Module) -> Module | None:
        if dotted.partition(".")[0] in ("torch", "numpy"):
            return None
        for base in dict.fromkeys((importer.base, self._root, str(Path(self._root, "src")))):
            if not self._is_first_party(base, dotted):
                continue
            place = Path(base, *dotted.split("."))
            for candidate in (place / "__init__.py", place.with_name(place.name + ".py")):
                if candidate.is_file():
                    return self._try_load(str(candidate))
            if place.is_dir() and base != importer.base:
                return Module(str(place), dotted, dotted, base, (), b"")  # a package without `__init__.py`
        return None

    def _try_load(self, path: str) -> Module | None:
        try:
            return self.load(path)
        except OSError:
            return None

    def _is_first_party(self, base: str, dotted: str) -> bool:
        if dotted.partition(".")[0] in self._first_party:
            return True
        inside = base == self._root or base.startswith(self._root + os.sep)
        return inside and "site-packages" not in base[len(self._root) :]


def module_name(path: str) -> tuple[str, str, str]:
    """`(dotted name, package, base folder)` of a file, by the `__init__.py` files above it."""
    file = Path(path)
    parts: list[str] = [] if file.stem == "__init__" else [file.stem]
    packages: list[str] = []
    folder = file.parent
    while (folder / "__init__.py").is_file():
        packages.insert(0, folder.name)
        folder = folder.parent
    return ".".join(packages + parts), ".".join(packages), str(folder)
