"""Source text and IR → lines of HTML with a class for each kind of token."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import groupby
from operator import itemgetter
from typing import ClassVar

from markupsafe import Markup, escape
from pygments.lexer import Lexer, RegexLexer
from pygments.lexers.python import PythonLexer
from pygments.token import Comment, Keyword, Name, Number, String, Text, _TokenType, is_token_subtype

HIGHLIGHTED = 60_000
"""Characters of IR; what is longer stays plain, or the page would be made of tokens."""
CLASSES = (
    (Comment, "c"),
    (String, "s"),
    (Number, "n"),
    (Keyword.Type, "t"),
    (Keyword, "k"),
    (Name.Function, "f"),
    (Name.Class, "f"),
    (Name.Decorator, "f"),
)
MARKED = "m"
Piece = tuple[str, str]
"""Text and its class."""
Extents = Mapping[int, Sequence[tuple[int, int]]]
"""Columns, the end exclusive, by line."""


class MlirLexer(RegexLexer):
    """MLIR's generic syntax and what its dialects have in common."""

    name = "MLIR"
    tokens: ClassVar = {
        "root": [
            (r"//.*", Comment.Single),
            (r'"(?:\\.|[^"\\\n])*"', String),
            (r'@(?:[\w$.-]+|"[^"\n]*")', Name.Function),
            (r"[%^][\w$.#-]+", Name.Variable),
            (r"[!#][A-Za-z_][\w.]*", Keyword.Type),
            (r"[a-z_]\w*(?:\.\w+)+|\b(?:module|return|ins|outs|to|step|else|attributes)\b", Keyword),
            (r"\b(?:tensor|memref|vector|index|none|[us]?i\d+|b?f\d+)\b|(?<=[x<])[sui]*[if]\d+\b", Keyword.Type),
            (r"-?\b\d+(?:\.\d+)?(?:[eE][+-]?\d+)?(?![\w])|\b0x[0-9A-Fa-f]+\b", Number),
            (r"\w+|\s+|.", Text),
        ]
    }


def python(text: str, marks: Extents | None = None) -> list[Markup]:
    """The lines of a Python file; what is marked stands out."""
    return _lines(_pieces(text, PythonLexer(stripnl=False)), marks or {})


def ir(text: str) -> Markup:
    """A graph as FX prints it, or a module of MLIR."""
    if len(text) > HIGHLIGHTED:
        return escape(text.rstrip("\n"))
    printed_by_fx = text.lstrip().startswith(("class ", "def ", "#"))
    lexer: Lexer = PythonLexer(stripnl=False) if printed_by_fx and "torch.nn.Module" in text else MlirLexer()
    return Markup("\n").join(_lines(_pieces(text.rstrip("\n"), lexer), {}))


def _lines(pieces: Iterable[Piece], marks: Extents) -> list[Markup]:
    return [
        Markup("").join(map(_html, _joined(_marked(line, marks.get(number, ())))))
        for number, line in enumerate(_split(pieces), 1)
    ]


def _pieces(text: str, lexer: Lexer) -> Iterator[Piece]:
    for token, value in lexer.get_tokens(text):
        yield value, _class(token)


@cache
def _class(token: _TokenType) -> str:
    return next((name for kind, name in CLASSES if is_token_subtype(token, kind)), "")


def _split(pieces: Iterable[Piece]) -> Iterator[list[Piece]]:
    """The pieces of each line."""
    line: list[Piece] = []
    for text, name in pieces:
        first, *rest = text.split("\n")
        line.append((first, name))
        for part in rest:
            yield line
            line = [(part, name)]
    if any(text for text, _ in line):
        yield line


def _marked(line: list[Piece], extents: Sequence[tuple[int, int]]) -> Iterator[Piece]:
    if not extents:
        yield from line
        return
    column = 0
    for text, name in line:
        for letter in text:
            marked = any(start <= column < end for start, end in extents)
            yield letter, f"{name} {MARKED}".strip() if marked else name
            column += 1


def _joined(line: Iterable[Piece]) -> Iterator[Piece]:
    for name, group in groupby(line, key=itemgetter(1)):
        yield "".join(text for text, _ in group), name


def _html(piece: Piece) -> Markup:
    text, name = piece
    return Markup(f'<span class="{name}">{escape(text)}</span>') if name and text else escape(text)
