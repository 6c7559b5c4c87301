"""Looking for nodes by pattern finds what libcst finds, in the same order."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

import libcst as cst
import libcst.matchers as m
import pytest

from fullgraph.lint import fixes
from fullgraph.lint.search import BLANK, comments_in, descendants, findall, holds, names_in

SYNTAX = '''
# first
from __future__ import annotations
from . import (a, b as c,)  # some
from .d import *
import e.f as g, h

class A(B, *d, metaclass=C, **e):
    """text"""
    x: int = 0
    y: str

    # above
    @f
    @(g := h)
    async def m(self, p, /, q: int = 1, *rest: int, r, s=None, **more) -> None:
        global t
        nonlocal u
        await p(q, *rest, r=r, **more)
        async with p as (q, r), s: pass
        async for x, *y in p:  # inside
            continue
        else:
            break
        return (yield p), (yield from q)

def n[T: int, *U, **V](x=(lambda a, *b, c=1, **d: a if b else c)):
    try:
        del x[0], x.y
    except (E, F) as error:
        raise G from error
    else: ...
    finally:
        assert x, "why"
    try:
        x += 1; y @= 2
    except* E:
        pass
    while not x and (y or z) and a is not b and c not in d: x = y = z
    return [
        f"{x!r:>{width}} and {y:.3f} {z=}" "more" r"raw", b"bytes",  # comment
        # another
        {**x, y: z, "a": 1.5j}, {*x, y}, {}, (), (x,),
        x[1:2, ::3, ..., *y], -x ** ~y // 2 << 1 % 3 < x <= y != z,
        [a async for a in b if c if d for e in f], {a: b for a in b}, {a for a in b},
        (a for a in b), print(a for a in b),
    ]  # last

match x:
    case [1, *_, A(x, y=2)] | {"a": b, **rest} if x: pass
    case (1 | None) as z: pass
    case _: pass

type X[T] = list[T]
with (open(x) as y, z): pass
# end
'''
SOURCES = ("syntax", "lint/fixes/run_every_expert.py")
MODULES = ("arithmetic", "masking", "truth", *(f"fixes.{module.name}" for module in iter_modules(fixes.__path__)))
CONSTANTS = {
    f"{name}.{constant}": value
    for name in MODULES
    for constant, value in vars(import_module(f"fullgraph.lint.{name}")).items()
    if isinstance(value, m.BaseMatcherNode)
}
"""Every pattern that the fixes have at hand, under each name."""
X = m.Name("x")
MADE = {
    "any name": m.Name(),
    "one name": X,
    "one of names": X | m.Name("self"),
    "a name that is not": m.Name(~m.MatchIfTrue(str.islower)),
    "by regular expression": m.Attribute(attr=m.Name(m.MatchRegex(r".*e"))),
    "bound": m.Param(name=X) | m.AssignTarget(target=X) | m.AugAssign(target=X) | m.Del(target=X),
    "value of another kind": m.Assign(targets=[m.AssignTarget()], value=~m.Name()),
    "without": m.Return(value=None) | m.For(orelse=None) | m.Arg(keyword=None, star=""),
    "arguments": m.Call(func=m.Attribute(), args=[m.Arg(m.Name()), m.ZeroOrMore()]),
    "no arguments": m.Call(func=m.Attribute(), args=[]),
    "several kinds": m.Comparison() | m.Call(func=m.Name("len")) | m.Subscript() | m.Yield(),
    "both": m.Attribute(value=m.AllOf(m.Name(), ~X)),
}
PATTERNS = CONSTANTS | MADE


class _Visited(cst.CSTVisitor):
    def __init__(self) -> None:
        super().__init__()
        self.nodes: list[cst.CSTNode] = []

    def on_visit(self, node: cst.CSTNode) -> bool:
        self.nodes.append(node)
        return True


@cache
def _tree(name: str) -> cst.Module:
    return cst.parse_module(SYNTAX if name == "syntax" else (Path(__file__).parents[2] / name).read_text())


def _visited(tree: cst.CSTNode) -> list[cst.CSTNode]:
    visited = _Visited()
    tree.visit(visited)
    return visited.nodes


@pytest.mark.parametrize("name", SOURCES)
def test_every_node_is_met_in_the_order_of_the_source(name: str) -> None:
    nodes = _visited(_tree(name))
    assert list(descendants(_tree(name))) == [node for node in nodes if type(node) not in BLANK]
    assert comments_in(_tree(name)) == [node for node in nodes if isinstance(node, cst.Comment)]
    assert names_in(_tree(name)) == [node for node in nodes if isinstance(node, cst.Name)]


@pytest.mark.parametrize("name", SOURCES)
@pytest.mark.parametrize("pattern", PATTERNS)
def test_a_pattern_finds_what_libcst_finds(name: str, pattern: str) -> None:
    assert findall(_tree(name), PATTERNS[pattern]) == list(m.findall(_tree(name), PATTERNS[pattern]))


@pytest.mark.parametrize("pattern", MADE)
def test_the_patterns_made_here_are_found_somewhere(pattern: str) -> None:
    assert any(findall(_tree(name), MADE[pattern]) for name in SOURCES)


def test_a_part_is_found_by_identity() -> None:
    first, second = _tree("syntax").body[1], cst.parse_statement("pass")
    assert holds(_tree("syntax"), first)
    assert holds(first, first)
    assert not holds(_tree("syntax"), second)
