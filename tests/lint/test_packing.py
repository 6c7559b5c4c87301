"""Bodies of functions stay packed until they are asked for, which changes nothing of what is found in them."""

from __future__ import annotations

import ast
import inspect
import sys
import textwrap
from pathlib import Path

import pytest

from fullgraph.lint import interpret, ir
from fullgraph.lint.ir import Block, lower, opened
from fullgraph.lint.room import with_room
from fullgraph.lint.symbols import FunctionSymbol, Module, nodes_of

FOLDERS = (Path(inspect.getfile(ir)).parent, *map(Path, interpret.__path__))
FILES = [path for folder in FOLDERS for path in sorted(folder.glob("*.py"))]


def module_of(text: str, pack: bool = True) -> Module:
    source = textwrap.dedent(text)
    return Module("/m.py", source.encode(), "m", "m", "/", lower(ast.parse(source), pack=pack))


def unpacked(body: Block) -> Block:
    """The block with nothing packed in it, as far as functions and classes reach that lie in no function."""

    def plain(part: object) -> object:
        match part:
            case ("def", *_):
                return opened(part)
            case tuple():
                return tuple(map(plain, part))
        return part

    return tuple(plain(node) for node in body)  # type: ignore[misc]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_a_file_is_the_same_packed_and_not(path: Path) -> None:
    text = path.read_text()
    packed, plain = module_of(text), module_of(text, pack=False)
    assert unpacked(packed.body) == plain.body
    assert unpacked(tuple(nodes_of(packed.body))) == tuple(nodes_of(plain.body))
    assert [symbol.body for symbol in packed.symbols()] == [symbol.body for symbol in plain.symbols()]
    assert packed.rebound == plain.rebound


def test_only_functions_that_lie_in_no_other_are_packed() -> None:
    module = module_of(
        """
        def outer():
            def inner():
                return 1
            return inner

        class Net:
            def forward(self):
                return 2
        """
    )
    outer, forward = module.symbols()
    assert isinstance(outer.node[6], bytes) and isinstance(forward.node[6], bytes)
    assert outer.body[0][6] == (("return", (4, 8, 4, 16), ("const", (4, 15, 4, 16), 1)),)
    assert outer.body is outer.body


def test_what_a_packed_body_has_in_it() -> None:
    module = module_of("def f(x):\n    return x.item()\n")
    (symbol,) = module.symbols()
    assert symbol.may_have("item")
    assert not symbol.may_have("tolist")
    plain = FunctionSymbol(module, "f", opened(symbol.node))
    assert plain.may_have("tolist")  # nobody looked


def test_the_methods_that_assign_an_attribute() -> None:
    module = module_of(
        """
        class Net:
            def __init__(self):
                self.scale, self.shift = 1, 2

            def reset(self, other):
                self.scale = other.gain = 3
                other.shift += 1
                del self.shift

            def read(self):
                return self.scale
        """
    )
    net = module.classes["Net"]
    assert {name: [method.name for method in methods] for name, methods in net.storing.items()} == {
        "scale": ["__init__", "reset"],
        "shift": ["__init__", "reset"],
        "gain": ["reset"],
    }
    reset = net.methods["reset"]
    assert {name: [value for _, _, value in rows] for name, rows in reset.stores.items()} == {
        "scale": [("const", (7, 34, 7, 35), 3)]
    }


def test_there_is_room_for_deep_recursion() -> None:
    def down(depth: int) -> int:
        return 0 if not depth else 1 + down(depth - 1)

    before = sys.getrecursionlimit()
    sys.setrecursionlimit(20_000)
    try:
        assert with_room(lambda: down(15_000)) == 15_000
    finally:
        sys.setrecursionlimit(before)
    with pytest.raises(ZeroDivisionError):
        with_room(lambda: 1 // 0)
