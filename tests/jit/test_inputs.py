"""`--input`: what it understands, and how it says what it does not."""

from __future__ import annotations

import contextlib
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fullgraph.jit.inputs import DTYPES, Argument, Factory, InputError, TensorSpec, Value, build, parse, parse_all


def value_of(text: str) -> Value:
    match parse(text):
        case Argument(None, value):
            return value
    raise AssertionError(text)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("f32[8,64]", TensorSpec("float32", (8, 64))),
        ("float32[8, 64]", TensorSpec("float32", (8, 64))),
        ("f32[]", TensorSpec("float32", ())),
        ("f32[0]", TensorSpec("float32", (0,))),
        ("i64[2,16]<1000", TensorSpec("int64", (2, 16), 1000)),
        ("bool[3]", TensorSpec("bool", (3,))),
        ("3", 3),
        ("-1.5e3", -1500.0),
        ("None", None),
        ("True", True),
        ("'a \\' b'", "a ' b"),
        ("()", ()),
        ("(f32[2])", TensorSpec("float32", (2,))),
        ("(f32[2],)", (TensorSpec("float32", (2,)),)),
        ("[1, 'x', [f32[1]]]", [1, "x", [TensorSpec("float32", (1,))]]),
        ("{'ids': i64[4]<9, 'scale': (1, 2.0),}", {"ids": TensorSpec("int64", (4,), 9), "scale": (1, 2.0)}),
    ],
)
def test_understands(text: str, value: object) -> None:
    assert value_of(text) == value


@pytest.mark.parametrize(
    ("text", "argument"),
    [
        ("x=f32[2]", Argument("x", TensorSpec("float32", (2,)))),
        (" n = 3", Argument("n", 3)),
        ("f32=None", Argument("f32", None)),
        ("data.py::make", Factory("data.py::make")),
        ("a/data.py::Batch.make", Factory("a/data.py::Batch.make")),
        ("package.data:make", Factory("package.data:make")),
        ("'a::b'", Argument(None, "a::b")),
        ("{1:2}", Argument(None, {1: 2})),
    ],
)
def test_understands_names_and_functions(text: str, argument: Argument | Factory) -> None:
    assert parse(text) == argument


def test_understands_arguments_in_a_row() -> None:
    assert parse_all("64, depth=2, name='a, b'") == (
        Argument(None, 64),
        Argument("depth", 2),
        Argument("name", "a, b"),
    )
    assert parse_all("") == ()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("dim=", "--init 'dim=', column 5: expected a tensor"),
        ("dim=1 depth=2", "--init 'dim=1 depth=2', column 7: expected ',' or the end"),
        ("dim 1", "column 1: expected a type of a tensor"),
    ],
)
def test_points_at_the_mistake_in_arguments(text: str, message: str) -> None:
    with pytest.raises(InputError, match=re.escape(message)):
        parse_all(text)


@pytest.mark.parametrize(
    ("text", "column", "message"),
    [
        ("", 1, "expected a tensor such as f32[8,64]"),
        ("f33[2]", 1, "expected a type of a tensor (bool, u8, "),
        ("f32", 4, "expected '[' and the sizes"),
        ("f32(2)", 4, "found '('"),
        ("f32[8,]", 7, "expected a size, found ']'"),
        ("f32[8.5]", 5, "expected a size"),
        ("f32[-1]", 5, "expected a size"),
        ("f32[8", 6, "expected ',' or ']', found the end"),
        ("f32[2]<3", 7, "expected no bound, float32 takes none"),
        ("i64[2]<0", 8, "expected the bound, a positive integer"),
        ("f32[2] f32[2]", 8, "expected the end of the input, found 'f'"),
        ("[1 2]", 4, "expected ',' or ']'"),
        ("{f32[2]: 1}", 2, "expected a key"),
        ("{1}", 3, "expected ':'"),
        ("  $", 3, "expected a value, found '$'"),
        ("007", 1, "expected a Python literal"),
    ],
)
def test_points_at_the_mistake(text: str, column: int, message: str) -> None:
    with pytest.raises(InputError, match=re.escape(message)) as caught:
        parse(text)
    assert f"column {column}:" in str(caught.value)


LEAVES = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
VALUES = st.recursive(
    LEAVES,
    lambda inner: (
        st.lists(inner) | st.lists(inner).map(tuple) | st.dictionaries(st.integers() | st.text(), inner, max_size=4)
    ),
    max_leaves=8,
)


@given(VALUES)
def test_reads_every_literal_as_python_does(value: Any) -> None:
    assert value_of(repr(value)) == value


@given(st.text(alphabet="f32i64[](){},:<='\"1 9xNone.-"))
def test_never_fails_otherwise(text: str) -> None:
    with contextlib.suppress(InputError):
        parse(text)


@pytest.mark.torch
@pytest.mark.parametrize("name", DTYPES)
def test_makes_a_tensor_of_every_type(name: str) -> None:
    tensor = build(value_of(f"{name}[2,3]"))
    assert str(tensor.dtype) == f"torch.{DTYPES[name]}"
    assert tuple(tensor.shape) == (2, 3)


@pytest.mark.torch
def test_keeps_integers_below_the_bound_and_the_random_state_alone() -> None:
    import torch

    state = torch.random.get_rng_state()
    ids, again = build(value_of("(i64[100]<3, i64[100]<3)"))
    assert ids.min() >= 0
    assert ids.max() == 2
    assert torch.equal(ids, again)
    assert torch.equal(torch.random.get_rng_state(), state)
