"""Facts: what the interpreter met in traced code that a rule may care about. A check turns a fact into hits.

Spans are the IR's; the frame a fact is handed over with tells the rest (function, loops, settings).
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from typing import TypeAlias

from msgspec import Struct

from .guards import Kind
from .ir import Span
from .symbols import ClassSymbol, FunctionSymbol, Module
from .values import Arguments, Compiled, Instance, Opaque, Tuple_, Value, known


class Branch(Struct, frozen=True):
    """Python needs the truth of `value`; `construct` is a keyword (`if`, `and`, …), a builtin or `comprehension`."""

    span: Span
    value: Value
    construct: str
    negated: bool = False
    message: Value | None = None
    """An assert's message; None where there is none."""


class Call(Struct, frozen=True):
    """A call of something outside the project; tensor methods are `torch.Tensor.<name>`."""

    span: Span
    symbol: str
    arguments: Arguments
    receiver: Value | None = None
    discarded: bool = False
    """The result is thrown away."""


class Attribute(Struct, frozen=True):
    """An attribute read from a tensor or an external object."""

    span: Span
    symbol: str
    receiver: Value


class Loaded(Struct, frozen=True):
    """Traced code reads a value that was made outside of it and that is of a kind Dynamo may not take."""

    span: Span
    value: Value


class Store(Struct, frozen=True):
    """An attribute assignment. `symbol` names it where the receiver is external or a tensor, else it is empty."""

    span: Span
    symbol: str
    receiver: Value
    name: str
    value: Value
    previous: Value
    counts: bool = False
    """What it was before the function ran is reckoned with: `+=`, or `a.b = a.b + 1`."""


class Index(Struct, frozen=True):
    """`base[index]`. `access`: read, write, update (`+=`)."""

    span: Span
    base: Value
    index: Value
    access: str


class Format(Struct, frozen=True):
    """A value turned into text. `how`: fstring, percent, str, repr, format."""

    span: Span
    value: Value
    how: str


class Mutated(Struct, frozen=True):
    """A container from outside of the function that an operator traces whole is changed in it."""

    span: Span
    receiver: Value


class GlobalRead(Struct, frozen=True):
    """A module-level name read that somebody rebinds while the program runs."""

    span: Span
    name: str
    value: Value
    module: Module


class Enter(Struct, frozen=True):
    """A `with` statement's context manager."""

    span: Span
    value: Value
    symbol: str


class DisabledCall(Struct, frozen=True):
    """A call of a function that Dynamo is told to skip."""

    span: Span
    name: str
    recursive: bool
    reason: bool
    """Whether it says why."""


class OpaqueCall(Struct, frozen=True):
    """A call of a function that goes into the graph untraced, and what it gives."""

    span: Span
    function: Opaque
    arguments: Arguments
    result: Value


class UserCall(Struct, frozen=True):
    """A call of a first-party function, with its arguments as bound."""

    span: Span
    function: FunctionSymbol
    arguments: Arguments
    binds: bool
    """False where the arguments do not fit the parameters."""


class Constructed(Struct, frozen=True):
    """Traced code makes an object of a first-party class."""

    span: Span
    symbol: ClassSymbol


class MethodOfCompiled(Struct, frozen=True):
    """Code that is not traced reads a method of the module inside what `torch.compile` returned."""

    span: Span
    receiver: Instance
    function: FunctionSymbol


class HandedOver(Struct, frozen=True):
    """Code that is not traced calls a method of `receiver`; it, or the constructor, is passed something compiled."""

    span: Span
    function: FunctionSymbol
    receiver: Instance
    passed: tuple[tuple[str, Value], ...]
    """Parameter → what it is given."""


class Definition(Struct, frozen=True):
    """A class or function statement inside traced code. `kind`: class, def."""

    span: Span
    kind: str


class Return(Struct, frozen=True):
    """A value that leaves the entry's frame."""

    span: Span
    value: Value


class Compared(Struct, frozen=True):
    """A comparison of two Python values."""

    span: Span
    operator: str
    left: Value
    right: Value


class Operation(Struct, frozen=True):
    """An operator with a tensor among its operands: `+`, `@`, `<`, …; `right` is None where it takes one."""

    span: Span
    operator: str
    left: Value
    right: Value | None = None


class Setting(Struct, frozen=True):
    """`torch._dynamo.config.x = value`, anywhere in the project."""

    span: Span
    symbol: str
    value: Value


class CompileCall(Struct, frozen=True):
    """`torch.compile(target, …)`, or a decorator that does the same, anywhere in the project."""

    span: Span
    compiled: Compiled


class Entered(Struct, frozen=True):
    """Dynamo begins to trace this function; in it and in what it calls `breaks` places end a graph."""

    span: Span
    function: FunctionSymbol
    breaks: int


class CallsSeen(Struct, frozen=True):
    """All visible calls of one entry: parameter → the distinct values it was given."""

    span: Span
    compiled: Compiled
    values: tuple[tuple[str, tuple[Value, ...]], ...]


class Change(str, Enum):
    """What the program does outside of compiled code, after some of it has run, and that code does not notice."""

    ANSWER = "answer"
    """It changes what a question about the process would answer."""
    HOOK = "hook"
    """It registers a hook."""
    PATCH = "patch"
    """It replaces a method or a constructor."""
    REGISTRATION = "registration"
    """It registers a class with an abstract one."""


class Late(Struct, frozen=True):
    """A change that comes too late; `symbol` is what was called or assigned."""

    span: Span
    change: Change
    symbol: str


class Recompiled(Struct, frozen=True):
    """Visible calls of one entry would compile again and again for one cause."""

    span: Span
    kind: Kind
    times: int
    """How often this cause struck."""
    total: int
    """How often the entry compiles again altogether."""

    @property
    def note(self) -> str:
        """Why this is only a note: every first change costs one recompile."""
        return "" if self.total > 1 else "once only"


def operands(fact: Fact) -> Iterator[Value]:
    """What an operator, a subscript or a call works on, the receiver first; keywords aside."""
    match fact:
        case Operation(left=left, right=right):
            yield from (side for side in (left, right) if side is not None)
        case Index(base=base, index=index):
            yield from (base, *map(known, index.items if isinstance(index, Tuple_) else (index,)))
        case Call(receiver=receiver, arguments=arguments):
            yield from (() if receiver is None else (receiver,))
            yield from map(known, arguments.positional)


Fact: TypeAlias = (
    Branch
    | Call
    | Attribute
    | Store
    | Index
    | Format
    | GlobalRead
    | Enter
    | DisabledCall
    | OpaqueCall
    | UserCall
    | Constructed
    | HandedOver
    | MethodOfCompiled
    | Definition
    | Return
    | Compared
    | Operation
    | Setting
    | CompileCall
    | Entered
    | CallsSeen
    | Late
    | Loaded
    | Mutated
    | Recompiled
)
