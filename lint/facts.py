"""Facts: what the interpreter met in traced code that a rule may care about. A check turns a fact into hits.

Spans are the IR's; the frame a fact is handed over with tells the rest (function, loops, settings).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from .ir import Span
from .project import FunctionSymbol, Module
from .values import Arguments, Compiled, Value


@dataclass(frozen=True, slots=True)
class Branch:
    """Python needs the truth of `value`; `construct` is a keyword (`if`, `and`, …), a builtin or `comprehension`."""

    span: Span
    value: Value
    construct: str
    negated: bool = False
    message: Value | None = None
    """An assert's message; None where there is none."""


@dataclass(frozen=True, slots=True)
class Call:
    """A call of something outside the project; tensor methods are `torch.Tensor.<name>`."""

    span: Span
    symbol: str
    arguments: Arguments
    receiver: Value | None = None
    discarded: bool = False
    """The result is thrown away."""


@dataclass(frozen=True, slots=True)
class Attribute:
    """An attribute read from a tensor or an external object."""

    span: Span
    symbol: str
    receiver: Value


@dataclass(frozen=True, slots=True)
class Store:
    """An attribute assignment. `symbol` names it where the receiver is external or a tensor, else it is empty."""

    span: Span
    symbol: str
    receiver: Value
    name: str
    value: Value
    previous: Value
    update: bool = False
    """An augmented assignment, `+=` say."""


@dataclass(frozen=True, slots=True)
class Index:
    """`base[index]`. `access`: read, write, update (`+=`)."""

    span: Span
    base: Value
    index: Value
    access: str


@dataclass(frozen=True, slots=True)
class Format:
    """A value turned into text. `how`: fstring, percent, str, repr, format."""

    span: Span
    value: Value
    how: str


@dataclass(frozen=True, slots=True)
class GlobalRead:
    """A module-level name read that somebody rebinds while the program runs."""

    span: Span
    name: str
    value: Value
    module: Module


@dataclass(frozen=True, slots=True)
class Enter:
    """A `with` statement's context manager."""

    span: Span
    value: Value
    symbol: str


@dataclass(frozen=True, slots=True)
class DisabledCall:
    """A call of a function that Dynamo is told to skip."""

    span: Span
    name: str
    recursive: bool


@dataclass(frozen=True, slots=True)
class UserCall:
    """A call of a first-party function, with its arguments as bound."""

    span: Span
    function: FunctionSymbol
    arguments: Arguments
    binds: bool
    """False where the arguments do not fit the parameters."""


@dataclass(frozen=True, slots=True)
class Definition:
    """A class or function statement inside traced code. `kind`: class, def."""

    span: Span
    kind: str


@dataclass(frozen=True, slots=True)
class Return:
    """A value that leaves the entry's frame."""

    span: Span
    value: Value


@dataclass(frozen=True, slots=True)
class Compared:
    """A comparison of two Python values."""

    span: Span
    operator: str
    left: Value
    right: Value


@dataclass(frozen=True, slots=True)
class Setting:
    """`torch._dynamo.config.x = value`, anywhere in the project."""

    span: Span
    symbol: str
    value: Value


@dataclass(frozen=True, slots=True)
class CompileCall:
    """`torch.compile(target, …)`, anywhere in the project."""

    span: Span
    compiled: Compiled


@dataclass(frozen=True, slots=True)
class CallsSeen:
    """All visible calls of one entry: parameter → the distinct values it was given."""

    span: Span
    compiled: Compiled
    values: tuple[tuple[str, tuple[Value, ...]], ...]


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
    | UserCall
    | Definition
    | Return
    | Compared
    | Setting
    | CompileCall
    | CallsSeen
)
