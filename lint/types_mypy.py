"""Types as mypy infers them → abstract values, for expressions of which the interpreter knows nothing.

They are hints, as annotations are. mypy reads a file once, together with the files of the project that are nearest to
it by its imports, and with torch; every other library is left out. Nothing of the project is run: no plugin, no other
interpreter.
"""

from __future__ import annotations

import contextlib
import gc
import io
import re
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from mypy import build, errors, nodes, types
from mypy.modulefinder import BuildSource
from mypy.options import Options
from mypy.server.subexpr import get_subexpressions

from . import torch_api
from .interpret.hints import DTYPES, SCALARS
from .ir import Span
from .libraries import may_be_entered
from .project import Project
from .source import display
from .symbols import ClassSymbol, Module, all_statements
from .type_source import TypeSource
from .values import (
    NONE,
    SIZES,
    UNKNOWN,
    ExternalObject,
    Host,
    Instance,
    Sequence,
    Tensor,
    Tuple_,
    Value,
    join_all,
)
from .values import Mapping as Dict

NEAREST = 60
"""Files that are read for one: in a large package all import all."""
DEEPEST = 8
"""Types inside of types that are looked at; a recursive one has no end."""
BEYOND_ASCII = re.compile(r"[^\x00-\x7f]+")
TENSORS = {"torch._C.TensorBase", "torch._tensor.Tensor"}
NAMED: dict[str, Value] = {"torch._C.Size": SIZES, "torch._C.dtype": Host("dtype"), "torch._C.device": Host("device")}
NAMED |= {f"builtins.{name}": Host(name) for name in SCALARS}
SEQUENCES = {
    "builtins.list": "list",
    "builtins.tuple": "tuple",
    "builtins.set": "set",
    "builtins.frozenset": "frozenset",
    "collections.deque": "deque",
    "typing.Sequence": "list",
    "typing.MutableSequence": "list",
    "typing.Iterable": "list",
    "typing.Collection": "list",
    "typing.Iterator": "generator",
    "typing.Generator": "generator",
}
MAPPINGS = {
    "builtins.dict",
    "collections.OrderedDict",
    "collections.defaultdict",
    "typing.Mapping",
    "typing.MutableMapping",
}


class MypyOracle:
    """Asks mypy about a file when the first expression in it is asked about."""

    def __init__(self, project: Project, source: TypeSource, remark: Callable[[str], None]) -> None:
        self._project = project
        self._source = source
        self._remark = remark
        self._values: dict[str, Mapping[Span, Value]] = {}

    def value_of(self, module: Module, span: Span) -> Value:
        """What mypy says of an expression; nothing outside of the project."""
        if module.path not in self._values:
            asked = self._project.is_first_party(module.path)
            self._values[module.path] = self._told(module) if asked else {}
        return self._values[module.path].get(span, UNKNOWN)

    def _told(self, module: Module) -> dict[Span, Value]:
        alone = {module.name: module}
        for modules in (self._nearest(module), alone):
            try:
                with _collected():
                    return dict(_typed(self._built(module, modules), module, modules))
            except (Exception, SystemExit) as error:  # whatever goes wrong in mypy, the check goes on
                reason = _reason(error)
        self._remark(f"{display(module.path)} was checked without types, because mypy failed: {reason}")
        return {}

    def _built(self, module: Module, modules: Mapping[str, Module]) -> build.BuildResult:
        libraries = self._source.folder / "libraries"
        libraries.mkdir(parents=True, exist_ok=True)
        with contextlib.suppress(FileExistsError):
            (libraries / "torch").symlink_to(self._source.torch, target_is_directory=True)
        return build.build(
            [_given(module), *(BuildSource(near.path, name) for name, near in modules.items() if near is not module)],
            _options(self._source.folder / "cache", module, modules),
            alt_lib_path=str(libraries),
            stdout=io.StringIO(),
            stderr=io.StringIO(),
        )

    def _nearest(self, module: Module) -> dict[str, Module]:
        """The module, and those of the project that it imports, directly or not, by the names that they go by."""
        found, paths, queue = {module.name: module}, {module.path}, deque([module])
        while queue and len(found) < NEAREST:
            importer = queue.popleft()
            for name in self._imports(importer):
                imported = self._own(name, importer)
                if imported is not None and imported.path not in paths and name not in found:
                    found[name] = imported
                    paths.add(imported.path)
                    queue.append(imported)
                    if len(found) == NEAREST:
                        break
        return found

    def _imports(self, module: Module) -> Iterator[str]:
        """The modules that its import statements may mean, in order."""
        for node in all_statements(module.body):
            match node:
                case ("import", _, imported):
                    yield from (name for name, _ in imported)
                case ("importfrom", _, base, level, imported):
                    base = _absolute(module, base, level)
                    yield base
                    place = self._project.locate(base, module.base) or ""
                    if not place.endswith(".py") or place.endswith("__init__.py"):
                        yield from (f"{base}.{name}" for name, _ in imported)

    def _own(self, name: str, importer: Module) -> Module | None:
        """The module of that name if it is the project's own; from now on what is found rests on it."""
        if not may_be_entered(name):
            return None
        self._project.asked[importer.path].add(name)
        path = self._project.locate(name, importer.base)
        if path is None or not path.endswith(".py") or not self._project.is_first_party(path):
            return None
        try:
            return self._project.load(path)
        except OSError:
            return None


def _given(module: Module) -> BuildSource:
    """As a text, which is never taken from the cache: that has neither trees nor types of expressions. Where there is a
    file of the path that is given with it, mypy's newer parser reads that.
    """
    return BuildSource(f"<text>/{Path(module.path).name}", module.name, _plain(module))


def _plain(module: Module) -> str:
    """The text with a letter for each byte of what is not ASCII: columns are bytes here, and in mypy it depends."""
    return BEYOND_ASCII.sub(lambda found: "x" * len(found[0].encode()), module.text)


def _reason(error: BaseException) -> str:
    if isinstance(error, errors.CompileError) and error.messages:
        return error.messages[0].partition("error: ")[2]
    return f"{type(error).__name__}: {error}"


def _absolute(module: Module, base: str, level: int) -> str:
    """`base` as it is called from everywhere."""
    if not level:
        return base
    parts = module.name.split(".")
    up = level - module.path.endswith("__init__.py")
    return ".".join((*parts[: len(parts) - up], *([base] if base else [])))


def _options(cache: Path, module: Module, modules: Mapping[str, Module]) -> Options:
    """Those of no project: what mypy says rests on nothing but the code."""
    options = Options()
    options.python_executable = None
    options.cache_dir = str(cache)
    options.sqlite_cache = False  # a folder of files can be shared by several processes
    options.export_types = True
    options.preserve_asts = True
    options.check_untyped_defs = True
    options.ignore_errors = True
    options.ignore_missing_imports = True
    options.follow_imports = "skip"
    options.raise_exceptions = True
    unread: dict[str, object] = {"preserve_asts": False}
    options.per_module_options = {name: unread for name, near in modules.items() if near is not module}
    options.per_module_options |= {name: {**unread, "follow_imports": "silent"} for name in ("torch", "torch.*")}
    return options


@contextlib.contextmanager
def _collected() -> Iterator[None]:
    """mypy leaves hundreds of megabytes in circles behind, and the garbage collector switched on."""
    collecting = gc.isenabled()
    try:
        yield
    finally:
        gc.collect()
        if not collecting:
            gc.disable()


def _typed(result: build.BuildResult, module: Module, modules: Mapping[str, Module]) -> Iterator[tuple[Span, Value]]:
    reading = _Reading(modules)
    tree = result.files[module.name]
    for expression in get_subexpressions(tree):
        type_ = result.types.get(expression)
        value = UNKNOWN if type_ is None else reading.value(type_)
        # That something is always None is what mypy takes from a first assignment where it sees no other.
        if value not in (UNKNOWN, NONE) and expression.end_line is not None and expression.end_column is not None:
            yield (expression.line, expression.column, expression.end_line, expression.end_column), value


class _Reading:
    """mypy's types as abstract values; the classes of `modules` are the project's."""

    def __init__(self, modules: Mapping[str, Module]) -> None:
        self._modules = modules
        self._api = torch_api.load()

    def value(self, type_: types.Type, depth: int = DEEPEST) -> Value:
        """UNKNOWN where the type says nothing useful."""
        if not depth:
            return UNKNOWN
        match types.get_proper_type(type_):
            case types.NoneType():
                return NONE
            case types.LiteralType() as literal:
                return self.value(literal.fallback, depth)
            case types.UnionType() as union:
                return self._union([self.value(item, depth - 1) for item in union.items])
            case types.TupleType() as pair if pair.partial_fallback.type.fullname == "builtins.tuple":
                return Tuple_(tuple(self.value(item, depth - 1) for item in pair.items))
            case types.TupleType() as named:
                return self._instance(named.partial_fallback, depth)
            case types.TypedDictType() as table:
                return self._typed_dict(table, depth)
            case types.Instance() as instance:
                return self._instance(instance, depth)
        return UNKNOWN

    def _union(self, parts: list[Value]) -> Value:
        return UNKNOWN if UNKNOWN in parts else join_all(parts)

    def _typed_dict(self, table: types.TypedDictType, depth: int) -> Value:
        items = {key: self.value(item, depth - 1) for key, item in table.items.items()}
        required = tuple((key, value) for key, value in items.items() if key in table.required_keys)
        others = [value for key, value in items.items() if key not in table.required_keys]
        return Dict(required, join_all(others) if others else None)

    def _instance(self, instance: types.Instance, depth: int) -> Value:
        info = instance.type
        arguments = [self.value(argument, depth - 1) for argument in instance.args]
        if any(base.fullname in TENSORS for base in info.mro):
            return Tensor(DTYPES.get(info.name), told=info.name in DTYPES, sure=False)
        if info.fullname in NAMED:
            return NAMED[info.fullname]
        if info.fullname in SEQUENCES:
            return Sequence(arguments[0] if arguments else UNKNOWN, SEQUENCES[info.fullname])
        if info.fullname in MAPPINGS:
            return Dict((), arguments[-1] if arguments else UNKNOWN)
        if info.fullname.startswith("torch.nn.modules.") and self._api.is_module_class(f"torch.nn.{info.name}"):
            return ExternalObject(f"torch.nn.{info.name}")
        symbol = self._class(info)
        return UNKNOWN if symbol is None else Instance(symbol)

    def _class(self, info: nodes.TypeInfo) -> ClassSymbol | None:
        module = self._modules.get(info.module_name)
        if module is None:
            return None
        outermost, *inner = info.fullname.removeprefix(f"{info.module_name}.").split(".")
        symbol = module.classes.get(outermost)
        for name in inner:
            symbol = None if symbol is None else symbol.classes.get(name)
        return symbol
