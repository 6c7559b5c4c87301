"""Abstract values: what the interpreter knows of a Python value without running the program.

Every value is immutable and hashable, so that a call can be memoised by its arguments; `join` is the least upper bound.
"""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING, Any, TypeAlias

from msgspec import Struct
from msgspec.structs import force_setattr, replace

if TYPE_CHECKING:
    from .symbols import ClassSymbol, FunctionSymbol, Module


class Unknown(Struct, frozen=True):
    """Could be anything."""


class Tensor(Struct, frozen=True):
    """A tensor, or a numpy array in traced code, which Dynamo treats as one."""

    dtype: str | None = None
    """`bool`, `int`, `float` or `complex`; None where unknown."""
    sizes: tuple[int | None, ...] | None = None
    tail: tuple[int | None, ...] = ()
    """The sizes of its last dimensions, where not even their number is known."""
    random: bool = False
    """Drawn from a random generator, or computed from nothing but such draws."""
    array: bool = False
    """A numpy array rather than a tensor."""
    sure: bool = True
    """False where being a tensor at all is an assumption."""
    made_here: bool = False
    """Created inside the traced code rather than handed in."""
    literal: bool = False
    """Computed from Python numbers alone: its value is known while the graph is made."""
    layout: str = "strided"
    unbacked: bool = False
    """Its sizes depend on data (the result of `nonzero` and its like)."""
    told: bool = False
    """Its dtype goes back to what an annotation says."""
    precision: str | None = None
    """The dtype's own name, where it is known: `float16`."""
    requires_grad: bool | None = None
    order: str | None = None
    """How it lies in memory, where that is known: `contiguous`, `transposed`, or a memory format's name."""

    @property
    def rank(self) -> int | None:
        return None if self.sizes is None else len(self.sizes)

    @property
    def ending(self) -> tuple[int | None, ...]:
        """The sizes of its last dimensions, as many as are known to be there."""
        return self.tail if self.sizes is None else self.sizes

    def reshaped(self, sizes: tuple[int | None, ...] | None = None) -> Tensor:
        """The same tensor, made here, with other sizes."""
        return replace(self, sizes=sizes, tail=(), made_here=True)


class Const(Struct, frozen=True):
    """A Python value known exactly: None, bool, int, float, complex, str, bytes or Ellipsis."""

    value: Any
    kind: str = ""
    """The type's name: keeps `1`, `1.0` and `True` apart, which compare equal."""

    def __post_init__(self) -> None:
        force_setattr(self, "kind", type(self.value).__name__)


class Host(Struct, frozen=True):
    """A Python scalar of unknown value. `kind` is a type's name or empty; `origin` says where it was read."""

    kind: str = ""
    origin: str = ""


class Maybe(Struct, frozen=True):
    """`value`, or None. `origin` names the entry's parameter that may be left out."""

    value: Value
    origin: str = ""


class SizeInt(Struct, frozen=True):
    """An integer from a tensor's shape: symbolic, so a branch on it guards and does not break."""

    unbacked: bool = False


class Scalar(Struct, frozen=True):
    """A Python number read from a tensor inside one graph: a branch on it cannot be traced."""

    kind: str = ""
    random: bool = False


class Tuple_(Struct, frozen=True):
    """A tuple or list whose items are known one by one."""

    items: tuple[Value, ...]
    mutable: bool = False


class Sequence(Struct, frozen=True):
    """A list, tuple, set or iterator of unknown length. `kind` is the type's name."""

    element: Value
    kind: str = "list"


class Mapping(Struct, frozen=True):
    """A dict: known string keys, and one value for all others (None: there are no others)."""

    items: tuple[tuple[Any, Value], ...] = ()
    rest: Value | None = None

    def get(self, key: object, missing: Value) -> Value:
        """What the key holds; `missing` where it is not a known one."""
        return next((value for name, value in self.items if name == key), missing)


class External(Struct, frozen=True):
    """A name outside the project, by its qualified name: `torch.sum`, `builtins.print`, `os.path`."""

    name: str


class ExternalObject(Struct, frozen=True):
    """An instance of an external class; `arguments` keep what it was made of (modules of a Sequential, say)."""

    cls: str
    arguments: tuple[Value, ...] = ()
    options: tuple[tuple[str, Value], ...] = ()


class ModuleRef(Struct, frozen=True):
    """A first-party module."""

    module: Module


class Class(Struct, frozen=True):
    symbol: ClassSymbol


class Function(Struct, frozen=True):
    """A first-party function; `scope` is the frame a nested one closes over."""

    symbol: FunctionSymbol
    scope: Any = None


class Bound(Struct, frozen=True):
    """A first-party method bound to its receiver."""

    receiver: Value
    function: Function


class Method(Struct, frozen=True):
    """A method of a builtin, external or tensor receiver."""

    receiver: Value
    name: str


class Instance(Struct, frozen=True):
    """An object of a first-party class; `arguments` are those of its constructor, None where it was never seen made."""

    symbol: ClassSymbol
    arguments: Arguments | None = None


class Super(Struct, frozen=True):
    """`super()` in a method of `symbol`."""

    receiver: Value
    symbol: ClassSymbol


class Partial(Struct, frozen=True):
    function: Value
    arguments: Arguments


class Compiled(Struct, frozen=True):
    """What `torch.compile(target, **options)` returns."""

    target: Value
    options: tuple[tuple[str, Value], ...] = ()


class Disabled(Struct, frozen=True):
    """A function that Dynamo is told not to trace; with `recursive` false its callees still are."""

    target: Value
    recursive: bool = True
    reason: bool = False
    """Whether one is given."""


class Opaque(Struct, frozen=True):
    """A function that Dynamo puts into the graph, or calls, without looking inside."""

    target: Value
    by: str = ""
    """The decorator that made it so."""


class Choice(Struct, frozen=True):
    """One of several modules, classes or functions: a layer of a mixed list, say."""

    options: tuple[Value, ...]


class Arguments(Struct, frozen=True):
    """Arguments of a call, `*` and `**` already spread where their parts are known."""

    positional: tuple[Value, ...] = ()
    keywords: tuple[tuple[str, Value], ...] = ()
    more_positional: bool = False
    """A `*args` of unknown content was passed on: more may follow."""
    more_keywords: bool = False
    """The same for `**kwargs`."""

    @property
    def open_ended(self) -> bool:
        return self.more_positional or self.more_keywords

    def keyword(self, name: str) -> Value | None:
        return next((value for key, value in self.keywords if key == name), None)

    def get(self, position: int, name: str) -> Value | None:
        if position < len(self.positional):
            return self.positional[position]
        return self.keyword(name)


Value: TypeAlias = (
    Unknown
    | Tensor
    | Const
    | Host
    | Maybe
    | SizeInt
    | Scalar
    | Tuple_
    | Sequence
    | Mapping
    | External
    | ExternalObject
    | ModuleRef
    | Class
    | Function
    | Bound
    | Method
    | Instance
    | Super
    | Partial
    | Compiled
    | Disabled
    | Opaque
    | Choice
)

UNKNOWN = Unknown()
NONE = Const(None)
SIZE = SizeInt()
SIZES = Sequence(SIZE, "size")
IDENTITY = "identity"
"""The origin of an id that only the running program can know."""
POINTER = "pointer"
"""The origin of a tensor's address, of which tracing knows only whether it is the same tensor's."""
MODULE_CONTAINERS = {"torch.nn.ModuleList", "torch.nn.Sequential", "torch.nn.ParameterList"}
CHOOSABLE = (Instance, ExternalObject, External, Class, Function, Bound, Partial, Opaque)
CHOICES = 8
"""Beyond so many it is anything."""
CONTAINERS = {"list", "tuple", "set", "frozenset", "dict", "deque"}


def join(a: Value, b: Value) -> Value:
    """The smallest value that covers both."""
    if a == b:
        return a
    if a == NONE or b == NONE or isinstance(a, Maybe) or isinstance(b, Maybe):
        return _maybe(a, b)
    match a, b:
        case Tensor(), Tensor():
            return _join_tensors(a, b)
        case (Tensor(), _) | (_, Tensor()):
            tensor, other = (a, b) if isinstance(a, Tensor) else (b, a)
            return _tensor_or(tensor, other)
        case (Scalar(), Const() | Host() | SizeInt() | Scalar()) | (Const() | Host() | SizeInt(), Scalar()):
            return a if isinstance(a, Scalar) else b
        case (SizeInt(), Const() | Host() | SizeInt()) | (Const() | Host(), SizeInt()):
            return SizeInt(any(isinstance(v, SizeInt) and v.unbacked for v in (a, b)))
        case (Const() | Host(), Const() | Host()):
            return Host(a.kind if a.kind == b.kind else "", _common_origin(a, b))
        case Tuple_(), Tuple_() if len(a.items) == len(b.items):
            return Tuple_(tuple(map(join, a.items, b.items)), a.mutable)
        case (Tuple_() | Sequence(), Tuple_() | Sequence()):
            return Sequence(join(element_of(a), element_of(b)), kind_of(a))
        case Mapping(), Mapping():
            return _join_mappings(a, b)
        case Instance(), Instance() if a.symbol == b.symbol:
            return Instance(a.symbol)
        case ExternalObject(), ExternalObject() if a.cls == b.cls:
            return ExternalObject(a.cls)
    return _either(a, b)


def _either(a: Value, b: Value) -> Value:
    """Modules, classes and functions stay apart, objects of one class joined."""
    options: list[Value] = []
    for option in (*options_of(a), *options_of(b)):
        if not isinstance(option, CHOOSABLE):
            return UNKNOWN
        same = [at for at, known_ in enumerate(options) if _alike(known_, option)]
        if same:
            options[same[0]] = join(options[same[0]], option)
        else:
            options.append(option)
    if len(options) > CHOICES:
        return UNKNOWN
    return Choice(tuple(options)) if len(options) > 1 else options[0]


def options_of(value: Value) -> tuple[Value, ...]:
    return value.options if isinstance(value, Choice) else (value,)


def _alike(a: Value, b: Value) -> bool:
    match a, b:
        case Instance(), Instance():
            return a.symbol == b.symbol
        case ExternalObject(), ExternalObject():
            return a.cls == b.cls
    return a == b


def _tensor_or(tensor: Value, other: Value) -> Value:
    """A number that becomes a tensor (`total = 0`, then `total + x`) is taken for one; anything else stays open."""
    numeric = isinstance(other, (Const, Host)) and other.kind in ("int", "float", "")
    if isinstance(tensor, Tensor) and numeric:
        return replace(tensor, sure=False, sizes=None, tail=())
    return UNKNOWN


def _maybe(a: Value, b: Value) -> Value:
    parts = [known(v) for v in (a, b) if v != NONE]
    origins = {v.origin for v in (a, b) if isinstance(v, Maybe)}
    value = join_all(parts)
    return UNKNOWN if value == UNKNOWN else Maybe(value, origins.pop() if len(origins) == 1 else "")


def known(value: Value) -> Value:
    """`value` without the possibility of being None."""
    return value.value if isinstance(value, Maybe) else value


def _join_tensors(a: Tensor, b: Tensor) -> Tensor:
    sizes = None
    if a.sizes is not None and b.sizes is not None and len(a.sizes) == len(b.sizes):
        sizes = tuple(x if x == y else None for x, y in zip(a.sizes, b.sizes, strict=False))
    return Tensor(
        dtype=a.dtype if a.dtype == b.dtype else None,
        sizes=sizes,
        tail=() if sizes is not None else _common_tail(a.ending, b.ending),
        random=a.random and b.random,
        array=a.array and b.array,
        sure=a.sure and b.sure,
        made_here=a.made_here and b.made_here,
        literal=a.literal and b.literal,
        layout=a.layout if a.layout == b.layout else "strided",
        unbacked=a.unbacked or b.unbacked,
        told=a.told or b.told,
        precision=a.precision if a.precision == b.precision else None,
        requires_grad=a.requires_grad if a.requires_grad == b.requires_grad else None,
        order=a.order if a.order == b.order else None,
    )


def _common_tail(a: tuple[int | None, ...], b: tuple[int | None, ...]) -> tuple[int | None, ...]:
    shared = min(len(a), len(b))
    return tuple(x if x == y else None for x, y in zip(a[len(a) - shared :], b[len(b) - shared :], strict=True))


def _join_mappings(a: Mapping, b: Mapping) -> Mapping:
    left, right = dict(a.items), dict(b.items)
    keys = sorted(left.keys() | right.keys(), key=repr)
    items = tuple((key, join(left.get(key, NONE), right.get(key, NONE))) for key in keys)
    rests = [rest for rest in (a.rest, b.rest) if rest is not None]
    return Mapping(items, reduce(join, rests) if rests else None)


def _common_origin(a: Const | Host, b: Const | Host) -> str:
    origins = {v.origin for v in (a, b) if isinstance(v, Host) and v.origin}
    return origins.pop() if len(origins) == 1 else ""


def join_all(values: list[Value] | tuple[Value, ...]) -> Value:
    """The join of many; Unknown for none."""
    return reduce(join, values) if values else UNKNOWN


def element_of(value: Value) -> Value:
    """What iterating over `value` gives, all positions joined."""
    match value:
        case Tensor():
            sizes = value.sizes[1:] if value.sizes else None
            return value.reshaped(sizes)
        case Tuple_():
            return join_all(value.items)
        case Sequence():
            return value.element
        case Mapping():
            keys: list[Value] = [Const(key) for key, _ in value.items]
            return join_all(keys) if value.rest is None else Host("str")
        case Const(value=str()):
            return Host("str")
        case ExternalObject(cls=cls) if cls in MODULE_CONTAINERS:
            return join_all(parts_of(value))
    return UNKNOWN


def parts_of(container: ExternalObject) -> tuple[Value, ...]:
    """The modules in a container of modules; one for all where they are not known one by one."""
    return tuple(part for argument in container.arguments for part in _spread(argument))


def _spread(value: Value) -> tuple[Value, ...]:
    match value:
        case Tuple_():
            return value.items
        case Sequence():
            return (value.element,)
        case Mapping():
            return (*(part for _, part in value.items), *(() if value.rest is None else (value.rest,)))
    return (value,)


def kind_of(value: Value) -> str:
    """The Python type's name as far as known: `Tensor`, `int`, `list`, `module`, … or empty."""
    match value:
        case Tensor():
            return "ndarray" if value.array else "Tensor"
        case Const() | Host():
            return value.kind
        case SizeInt():
            return "int"
        case Scalar():
            return value.kind or "float"
        case Tuple_():
            return "list" if value.mutable else "tuple"
        case Sequence():
            return value.kind
        case Mapping():
            return "dict"
        case Function() | Bound() | Method() | Partial():
            return "function"
    return ""


def truth_of(value: Value) -> bool | None:
    """`bool(value)` where it is decided, else None."""
    match value:
        case Const():
            return bool(value.value)
        case Tuple_():
            return bool(value.items)
        case Mapping() if value.items:
            return True
        case External() | ModuleRef() | Class() | Function() | Bound() | Method() | Partial() | Compiled() | Disabled():
            return True
    return None
