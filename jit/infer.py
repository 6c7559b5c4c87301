"""Makes up the arguments that nobody gave: from what a module offers itself, annotations and docstrings.

Every guess is told in words; what cannot be guessed is an error that names the parameter and the option to give.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import torch

from .inputs import BELOW, DTYPES, TensorSpec, build
from .targets import TargetError

OWN_INPUTS = ("example_input_array", "dummy_inputs")
"""Attributes under which Lightning's and transformers' modules keep inputs that fit."""
ANNOTATION = re.compile(r"\b([A-Z]\w*)\[\s*[\w.]*Tensor\s*,\s*['\"]([^'\"]*)['\"]\s*\]")
"""jaxtyping's way to write a tensor: type and sizes."""
ANNOTATED_DTYPES = (
    {"Float": "float32", "Inexact": "float32", "Num": "float32", "Shaped": "float32", "Real": "float32"}
    | {"Int": "int64", "Integer": "int64", "UInt": "uint8", "Bool": "bool", "Complex": "complex64"}
    | {name.title().replace("Bf", "BF").replace("Ui", "UI"): name for name in DTYPES.values()}
)
SHAPE = re.compile(r"[(\[]\s*([A-Za-z_]\w*|\d+)((?:\s*,\s*(?:[A-Za-z_]\w*|\d+))*)\s*(,?)\s*[)\]]")
NO_SIZES = frozenset({"tensor", "longtensor", "floattensor", "optional", "int", "float", "bool", "str", "none", "list"})
INTEGRAL = re.compile(r"longtensor|int64|\bids?\b|_ids?\b|indices|\bindex\b|tokens|labels", re.IGNORECASE)
SIZES = {
    "b": 2,
    "n": 2,
    "batch": 2,
    "batch_size": 2,
    "h": 32,
    "w": 32,
    "height": 32,
    "width": 32,
    "c": 3,
    "channels": 3,
}
OTHER_SIZE = 8
VARIADIC = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


@dataclass(frozen=True, slots=True)
class Inferred:
    """Arguments, and in words where they come from."""

    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    remarks: tuple[str, ...]


def arguments(function: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any], name: str) -> Inferred:
    """The arguments given, with guesses for required parameters that are left."""
    owner = function if isinstance(function, torch.nn.Module) else None
    called = owner.forward if owner is not None else function
    signature = inspect.signature(called)
    try:
        bound = signature.bind_partial(*args, **kwargs).arguments
    except TypeError as error:
        raise TargetError(f"{name}: {error}; it takes {signature}") from None
    if owner is not None and not (args or kwargs):
        for attribute in OWN_INPUTS:
            if (own := getattr(owner, attribute, None)) is not None:
                own_args, own_kwargs = spread(own)
                return Inferred(own_args, own_kwargs, (f"inputs: the module's own {attribute}",))
    guesses = Guesses(called, owner)
    made = {}
    for parameter in required(signature):
        if parameter.name not in bound:
            made[parameter.name] = guesses.tensor(parameter, name)
    positional = [item.name for item in signature.parameters.values() if item.kind is item.POSITIONAL_ONLY]
    ahead = tuple(build(made[item].spec) for item in positional if item in made)
    named = {key: build(guess.spec) for key, guess in made.items() if key not in positional}
    remarks = tuple(f"{key}: {shown(guess.spec)}, {guess.why}" for key, guess in made.items())
    return Inferred((*args, *ahead), {**kwargs, **named}, remarks)


def required(signature: inspect.Signature) -> list[inspect.Parameter]:
    return [item for item in signature.parameters.values() if item.default is item.empty and item.kind not in VARIADIC]


def spread(value: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """What a function of inputs returns, as arguments: `(args, kwargs)`, args, kwargs or one argument alone."""
    match value:
        case (list() | tuple() as args, dict() as kwargs):
            return tuple(args), dict(kwargs)
        case list() | tuple():
            return tuple(value), {}
        case Mapping():
            return (), dict(value)
    return (value,), {}


def configuration(parameter: inspect.Parameter, function: Any) -> Any:
    """An instance of the class with which the parameter is annotated, if that can be made without arguments."""
    annotation = parameter.annotation
    if isinstance(annotation, str):
        annotation = getattr(function, "__globals__", {}).get(annotation)
    own = isinstance(annotation, type) and annotation is not parameter.empty and annotation.__module__ != "builtins"
    if not own or issubclass(annotation, torch.Tensor):
        return None
    try:
        return None if required(inspect.signature(annotation)) else annotation()
    except Exception:  # whatever the class thinks of its own defaults
        return None


def shown(spec: TensorSpec) -> str:
    """As `--input` would have it."""
    short = next((key for key, value in DTYPES.items() if value == spec.dtype), spec.dtype)
    return f"{short}[{','.join(map(str, spec.shape))}]" + (f"<{spec.below}" if spec.below else "")


@dataclass(frozen=True, slots=True)
class Guess:
    spec: TensorSpec
    why: str


class Guesses:
    """What is known about the tensors that a function takes; one name means one size throughout."""

    def __init__(self, function: Any, owner: torch.nn.Module | None) -> None:
        self._owner = owner if owner is not None else getattr(function, "__self__", None)
        self._docs = [inspect.getdoc(item) or "" for item in (function, type(self._owner)) if item is not type(None)]

    def tensor(self, parameter: inspect.Parameter, function: str) -> Guess:
        if found := self._from_annotation(parameter) or self._from_docs(parameter.name):
            return found
        raise TargetError(
            f"{function}: nothing says what {parameter.name!r} is; give it with --input '{parameter.name}=f32[8,64]', "
            "or all inputs with --input PATH::FUNCTION"
        )

    def _from_annotation(self, parameter: inspect.Parameter) -> Guess | None:
        annotation = parameter.annotation
        text = annotation if isinstance(annotation, str) else getattr(annotation, "__name__", "")
        match = ANNOTATION.search(text)
        if not match or match[1] not in ANNOTATED_DTYPES:
            return None
        sizes: list[int] = []
        for size in (size for word in match[2].split() for size in self._axis(word)):
            if size is None:
                return None
            sizes.append(size)
        return Guess(TensorSpec(ANNOTATED_DTYPES[match[1]], tuple(sizes)), f"from its annotation {match[2]!r}")

    def _axis(self, word: str) -> Iterator[int | None]:
        """The sizes that one word of an annotation stands for; None where it cannot be told."""
        if word == "...":
            return
        word = word.lstrip("*#?_").rpartition("=")[2]
        if not word:
            yield OTHER_SIZE
            return
        try:
            yield self._evaluated(ast.parse(word, mode="eval").body)
        except SyntaxError:
            yield None

    def _evaluated(self, node: ast.expr) -> int | None:
        match node:
            case ast.Constant(int(number)):
                return number
            case ast.Name(name):
                return self._size(name)
            case ast.BinOp(left, operator, right):
                one, other = self._evaluated(left), self._evaluated(right)
                if one is None or other is None:
                    return None
                match operator:
                    case ast.Add():
                        return one + other
                    case ast.Sub():
                        return max(one - other, 0)
                    case ast.Mult():
                        return one * other
                    case ast.FloorDiv() if other:
                        return one // other
        return None

    def _size(self, name: str) -> int:
        """A module's attribute of that name, or one of its configuration, fits better than any guess."""
        for holder in (self._owner, getattr(self._owner, "config", None)):
            value = getattr(holder, name, None)
            if isinstance(value, int) and not isinstance(value, bool) and value > 0:
                return value
        return SIZES.get(name.lower(), OTHER_SIZE)

    def _from_docs(self, name: str) -> Guess | None:
        for doc in self._docs:
            for entry in re.finditer(
                rf"^[ \t*:-]*(?:param\s+)?`*{re.escape(name)}`*\s*[:(\[].*(?:\n[ \t]+\S.*)*", doc, re.MULTILINE
            ):
                if guess := self._from_entry(name, entry[0]):
                    return guess
        return None

    def _from_entry(self, name: str, entry: str) -> Guess | None:
        for match in SHAPE.finditer(entry):
            words = [match[1], *re.findall(r"\w+", match[2])]
            if {word.lower() for word in words} & NO_SIZES or not (match[2] or match[3]):
                continue
            sizes = tuple(int(word) if word.isdecimal() else self._size(word) for word in words)
            integral = INTEGRAL.search(name) or INTEGRAL.search(entry)
            spec = TensorSpec("int64", sizes, BELOW) if integral else TensorSpec("float32", sizes)
            return Guess(spec, f"from the docstring's {' '.join(match[0].split())}")
        return None
