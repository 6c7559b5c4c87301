"""The little language of `--input` and `--init`: `f32[8,64]`, `i64[2,16]<1000`, `bool[3]`, Python literals; lists,
tuples and dicts; `name=` before any of them; or the name of a function that makes all inputs.

Parsing needs no torch; `build` makes the tensors.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

DTYPES = {
    "bool": "bool",
    "u8": "uint8",
    "i8": "int8",
    "i16": "int16",
    "i32": "int32",
    "i64": "int64",
    "f16": "float16",
    "bf16": "bfloat16",
    "f32": "float32",
    "f64": "float64",
    "c64": "complex64",
    "c128": "complex128",
}
"""Short names and torch's own."""
BELOW = 10
"""Integers are drawn from 0 up to this bound where the input names none."""


class InputError(ValueError):
    """An `--input` or `--init` that cannot be understood; the text shows where."""


@dataclass(frozen=True, slots=True)
class TensorSpec:
    """A tensor to make up: normally distributed floats, integers below `below`."""

    dtype: str
    shape: tuple[int, ...]
    below: int | None = None


Value: TypeAlias = "TensorSpec | list[Value] | tuple[Value, ...] | dict[Any, Value] | int | float | str | bytes | None"


@dataclass(frozen=True, slots=True)
class Argument:
    """One argument, by its position if it has no name."""

    name: str | None
    value: Value


@dataclass(frozen=True, slots=True)
class Factory:
    """`PATH::QUALNAME` or `package.module:name`: a function whose result is all arguments."""

    reference: str


class Token(NamedTuple):
    kind: str
    text: str
    start: int


TOKEN = re.compile(
    r"\s*(?:(?P<name>[A-Za-z_]\w*)|(?P<number>-?(?:\d[\d_]*\.?\d*(?:[eE][-+]?\d+)?|\.\d+(?:[eE][-+]?\d+)?))"
    r"|(?P<string>'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\")|(?P<mark>[\[\](){},:<=]))"
)
CONSTANTS: dict[str, bool | None] = {"None": None, "True": True, "False": False}


FACTORY = re.compile(r"[^\s'\"\[\](){}=]+::[A-Za-z_][\w.]*|[A-Za-z_][\w.]*:[A-Za-z_][\w.]*")


def parse(text: str) -> Argument | Factory:
    """Understand one `--input`."""
    if FACTORY.fullmatch(text.strip()):
        return Factory(text.strip())
    return _Parser(text, "--input").argument()


def parse_all(text: str) -> tuple[Argument, ...]:
    """Understand an `--init`."""
    return _Parser(text, "--init").arguments()


class _Parser:
    """Recursive descent over the tokens of one input."""

    def __init__(self, text: str, option: str) -> None:
        self.text = text
        self.option = option
        self.tokens = list(self._scan())
        self.next = 0

    def _scan(self) -> list[Token]:
        tokens, position, end = [], 0, len(self.text.rstrip())
        while position < end:
            match = TOKEN.match(self.text, position)
            if not match or not match.lastgroup:
                start = len(self.text) - len(self.text[position:].lstrip())
                raise self._expected("a value", start)
            tokens.append(Token(match.lastgroup, match[match.lastgroup], match.start(match.lastgroup)))
            position = match.end()
        return [*tokens, Token("end", "", end)]

    def _expected(self, wanted: str, position: int | None = None) -> InputError:
        """What is wrong at the next token, or at a position."""
        start = self.tokens[self.next].start if position is None else position
        found = repr(self.text[start]) if start < len(self.text) else "the end"
        return InputError(f"{self.option} {self.text!r}, column {start + 1}: expected {wanted}, found {found}")

    def _take(self, *texts: str) -> str | None:
        """Consume the next token if it is one of these marks."""
        token = self.tokens[self.next]
        if token.kind == "mark" and token.text in texts:
            self.next += 1
            return token.text
        return None

    def _expect(self, mark: str, wanted: str) -> None:
        if not self._take(mark):
            raise self._expected(wanted)

    def argument(self) -> Argument:
        argument = self._argument()
        if self.tokens[self.next].kind != "end":
            raise self._expected("the end of the input")
        return argument

    def arguments(self) -> tuple[Argument, ...]:
        found: list[Argument] = []
        while self.tokens[self.next].kind != "end":
            if found:
                self._expect(",", "',' or the end")
            found.append(self._argument())
        return tuple(found)

    def _argument(self) -> Argument:
        match self.tokens[self.next : self.next + 2]:
            case [Token("name", name, _), Token("mark", "=", _)]:
                self.next += 2
                return Argument(name, self._value())
        return Argument(None, self._value())

    def _value(self) -> Value:
        match self.tokens[self.next]:
            case Token("name", name, _) if name in CONSTANTS:
                self.next += 1
                return CONSTANTS[name]
            case Token("name", name, _) if name in DTYPES or name in DTYPES.values():
                self.next += 1
                return self._tensor(DTYPES.get(name, name))
            case Token("name"):
                raise self._expected(f"a type of a tensor ({', '.join(DTYPES)}) or a Python literal")
            case Token("number" | "string"):
                literal: Value = self._literal()
                return literal
            case Token("mark", "[", _):
                self.next += 1
                return self._items("]")[0]
            case Token("mark", "(", _):
                self.next += 1
                items, commas = self._items(")")
                return tuple(items) if commas or not items else items[0]
            case Token("mark", "{", _):
                self.next += 1
                return self._entries()
        raise self._expected("a tensor such as f32[8,64], a Python literal, a list, a tuple or a dict")

    def _literal(self) -> Any:
        try:
            value = ast.literal_eval(self.tokens[self.next].text)
        except (SyntaxError, ValueError):
            raise self._expected("a Python literal") from None
        self.next += 1
        return value

    def _tensor(self, dtype: str) -> TensorSpec:
        self._expect("[", "'[' and the sizes, as in f32[8,64]")
        sizes: list[int] = []
        while not self._take("]"):
            if sizes:
                self._expect(",", "',' or ']'")
            sizes.append(self._size("a size"))
        if not self._take("<"):
            return TensorSpec(dtype, tuple(sizes))
        if dtype.startswith(("float", "bfloat", "complex", "bool")):
            self.next -= 1
            raise self._expected(f"no bound, {dtype} takes none")
        return TensorSpec(dtype, tuple(sizes), self._size("the bound, a positive integer", least=1))

    def _size(self, wanted: str, least: int = 0) -> int:
        token = self.tokens[self.next]
        if token.kind != "number" or not token.text.isdecimal() or int(token.text) < least:
            raise self._expected(wanted)
        self.next += 1
        return int(token.text)

    def _items(self, closing: str) -> tuple[list[Value], int]:
        items: list[Value] = []
        commas = 0
        while not self._take(closing):
            if len(items) > commas:
                self._expect(",", f"',' or {closing!r}")
                commas += 1
            else:
                items.append(self._value())
        return items, commas

    def _entries(self) -> dict[Any, Value]:
        entries: dict[Any, Value] = {}
        while not self._take("}"):
            if entries:
                self._expect(",", "',' or '}'")
                if self._take("}"):
                    break
            token = self.tokens[self.next]
            if token.kind not in ("string", "number"):
                raise self._expected("a key, a string or a number")
            key = self._literal()
            self._expect(":", "':'")
            entries[key] = self._value()
        return entries


def build(value: Value) -> Any:
    """Make the input: equal specifications give equal tensors, and the program's own random numbers are left alone."""
    match value:
        case TensorSpec():
            return _tensor(value)
        case list():
            return [build(item) for item in value]
        case tuple():
            return tuple(build(item) for item in value)
        case dict():
            return {key: build(item) for key, item in value.items()}
        case _:
            return value


def _tensor(spec: TensorSpec) -> Any:
    import torch

    dtype = getattr(torch, spec.dtype)
    generator = torch.Generator().manual_seed(0)
    if dtype.is_floating_point or dtype.is_complex:
        drawn = torch.complex64 if dtype.is_complex else torch.float32
        return torch.randn(spec.shape, generator=generator, dtype=drawn).to(dtype)
    below = 2 if dtype is torch.bool else spec.below or BELOW
    return torch.randint(below, spec.shape, generator=generator).to(dtype)
