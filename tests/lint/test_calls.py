"""Where calls lead: through attributes, containers, registries, wrappers and arguments, and where they stop; Dynamo
agrees.
"""

from __future__ import annotations

import re
import sys
import textwrap
from pathlib import Path

import pytest
from broken_lines import broken_lines
from project_on_disk import ProjectOnDisk

HEADER = """\
import functools
from collections import OrderedDict
from dataclasses import dataclass
from typing import overload
import torch
from torch import nn

def loud(x):
    if x.sum() > 0:  # loud
        return x + 1
    return x - 1

class Loud(nn.Module):
    def forward(self, x):
        return loud(x)

class Calm(nn.Module):
    def forward(self, x):
        return x * 2

"""
LOUD = [number for number, line in enumerate(HEADER.splitlines(), start=1) if "# loud" in line]

REACHED = {
    "base init": """
        class Base(nn.Module):
            def __init__(self):
                super().__init__()
                self.block = Loud()

        class Net(Base):
            def __init__(self):
                super().__init__()
                self.other = Calm()
            def forward(self, x):
                return self.block(self.other(x))
        run = torch.compile(Net())
    """,
    "modulelist loop": """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.layers = nn.ModuleList([Loud() for _ in range(2)])
            def forward(self, x):
                for layer in self.layers:
                    x = layer(x)
                return x
        run = torch.compile(Net())
    """,
    "modulelist index": """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.layers = nn.ModuleList([Calm(), Loud()])
            def forward(self, x):
                return self.layers[1](self.layers[0](x))
        run = torch.compile(Net())
    """,
    "modulelist append": """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.layers = nn.ModuleList()
                for _ in range(2):
                    self.layers.append(Loud())
            def forward(self, x):
                for i, layer in enumerate(self.layers):
                    x = layer(x) + i
                return x
        run = torch.compile(Net())
    """,
    "moduledict": """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.parts = nn.ModuleDict({"a": Calm(), "b": Loud()})
            def forward(self, x):
                return self.parts["b"](self.parts["a"](x))
        run = torch.compile(Net())
    """,
    "moduledict items": """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.parts = nn.ModuleDict({"a": Calm(), "b": Loud()})
            def forward(self, x):
                for name, part in self.parts.items():
                    x = part(x)
                return x
        run = torch.compile(Net())
    """,
    "moduledict setitem": """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.parts = nn.ModuleDict()
                self.parts["b"] = Loud()
            def forward(self, x):
                return self.parts["b"](x)
        run = torch.compile(Net())
    """,
    "sequential": """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.body = nn.Sequential(Calm(), Loud())
            def forward(self, x):
                return self.body(x)
        run = torch.compile(Net())
    """,
    "sequential ordered": """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.body = nn.Sequential(OrderedDict([("a", Calm()), ("b", Loud())]))
            def forward(self, x):
                return self.body(x)
        run = torch.compile(Net())
    """,
    "sequential star list": """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                layers = []
                layers.append(Calm())
                layers += [Loud()]
                self.body = nn.Sequential(*layers)
            def forward(self, x):
                return self.body(x)
        run = torch.compile(Net())
    """,
    "sequential subclass": """
        class Net(nn.Sequential):
            def __init__(self):
                super().__init__(Calm(), Loud())
        run = torch.compile(Net())
    """,
    "add_module": """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.add_module("block", Loud())
            def forward(self, x):
                return self.block(x)
        run = torch.compile(Net())
    """,
    "setattr": """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                setattr(self, "block", Loud())
            def forward(self, x):
                return getattr(self, "block")(x)
        run = torch.compile(Net())
    """,
    "registry const": """
        KINDS = {"a": Calm, "b": Loud}
        class Net(nn.Module):
            def __init__(self, kind):
                super().__init__()
                self.block = KINDS[kind]()
            def forward(self, x):
                return self.block(x)
        run = torch.compile(Net("b"))
    """,
    "registry inline": """
        class Net(nn.Module):
            def __init__(self, kind="b"):
                super().__init__()
                self.block = {"a": Calm, "b": Loud}[kind]()
            def forward(self, x):
                return self.block(x)
        run = torch.compile(Net())
    """,
    "registry config": """
        KINDS = {"a": Calm, "b": Loud}
        class Config:
            def __init__(self, act="b"):
                self.act = act
        class Net(nn.Module):
            def __init__(self, config):
                super().__init__()
                self.block = KINDS[config.act]()
            def forward(self, x):
                return self.block(x)
        run = torch.compile(Net(Config()))
    """,
    "registry get": """
        KINDS = {"a": Calm, "b": Loud}
        class Net(nn.Module):
            def __init__(self, kind):
                super().__init__()
                self.block = KINDS.get(kind, Calm)()
            def forward(self, x):
                return self.block(x)
        run = torch.compile(Net("b"))
    """,
    "registry of functions": """
        def calm(x):
            return x
        FUNCTIONS = {"a": calm, "b": loud}
        @torch.compile
        def run(x):
            return FUNCTIONS["b"](x)
    """,
    "partial": """
        def scaled(k, x):
            return loud(x) * k
        @torch.compile
        def run(x):
            return functools.partial(scaled, 2)(x)
    """,
    "map": """
        @torch.compile
        def run(x):
            a, b = map(loud, (x, x + 1))
            return a + b
    """,
    "list map": """
        @torch.compile
        def run(x):
            return sum(list(map(loud, [x, x])))
    """,
    "property": """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.w = nn.Parameter(torch.ones(4))
            @property
            def scale(self):
                return loud(self.w)
            def forward(self, x):
                return x * self.scale
        run = torch.compile(Net())
    """,
    "call": """
        class Step:
            def __call__(self, x):
                return loud(x)
        step = Step()
        @torch.compile
        def run(x):
            return step(x)
    """,
    "dataclass output": """
        @dataclass
        class Out:
            hidden: torch.Tensor
            extra: torch.Tensor = None
        @torch.compile
        def run(x):
            out = Out(hidden=x * 2)
            if out.extra is None:
                y = out.hidden
            else:
                y = x
            return loud(y)
    """,
    "overload": """
        @overload
        def pick(x: torch.Tensor) -> torch.Tensor: ...
        @overload
        def pick(x: int) -> int: ...
        def pick(x):
            return loud(x)
        @torch.compile
        def run(x):
            return pick(x)
    """,
    "wraps": """
        def deco(fn):
            @functools.wraps(fn)
            def inner(*args, **kwargs):
                return fn(*args, **kwargs)
            return inner
        @deco
        def helper(x):
            return loud(x)
        @torch.compile
        def run(x):
            return helper(x)
    """,
    "wraps args": """
        def deco(times=1):
            def outer(fn):
                @functools.wraps(fn)
                def inner(*args, **kwargs):
                    for _ in range(times):
                        out = fn(*args, **kwargs)
                    return out
                return inner
            return outer
        @deco(times=2)
        def helper(x):
            return loud(x)
        @torch.compile
        def run(x):
            return helper(x)
    """,
    "error_on_graph_break": """
        @torch.compile
        def run(x):
            with torch._dynamo.error_on_graph_break(False):
                x = loud(x)
            return x + 1
    """,
    "method reference": """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.step = self.helper
            def helper(self, x):
                return loud(x)
            def forward(self, x):
                return self.step(x)
        run = torch.compile(Net())
    """,
    "super forward": """
        class Base(nn.Module):
            def forward(self, x):
                return loud(x)
        class Net(Base):
            def forward(self, x):
                return super().forward(x) + 1
        run = torch.compile(Net())
    """,
    "mixin": """
        class Mixin:
            def step(self, x):
                return loud(x)
        class Net(Mixin, nn.Module):
            def forward(self, x):
                return self.step(x)
        run = torch.compile(Net())
    """,
    "getattr registry": """
        class Blocks:
            A = Calm
            B = Loud
        class Net(nn.Module):
            def __init__(self, kind):
                super().__init__()
                self.block = getattr(Blocks, kind)()
            def forward(self, x):
                return self.block(x)
        run = torch.compile(Net("B"))
    """,
    "class list": """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                blocks = [Calm, Loud]
                self.layers = nn.ModuleList([block() for block in blocks])
            def forward(self, x):
                for layer in self.layers:
                    x = layer(x)
                return x
        run = torch.compile(Net())
    """,
    "factory": """
        def make(kind):
            if kind == "b":
                return Loud()
            return Calm()
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.block = make("b")
            def forward(self, x):
                return self.block(x)
        run = torch.compile(Net())
    """,
    "nested sequential index": """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.body = nn.Sequential(Calm(), Loud())
            def forward(self, x):
                x = self.body[1](x)
                return x
        run = torch.compile(Net())
    """,
    "children": """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.a = Loud()
            def forward(self, x):
                for layer in self.children():
                    x = layer(x)
                return x
        run = torch.compile(Net())
    """,
    "zip modulelist": """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.a = nn.ModuleList([Calm(), Calm()])
                self.b = nn.ModuleList([Loud(), Calm()])
            def forward(self, x):
                for p, q in zip(self.a, self.b):
                    x = q(p(x))
                return x
        run = torch.compile(Net())
    """,
    "contextmanager own": """
        import contextlib
        @contextlib.contextmanager
        def scope(x):
            yield x * 2
        @torch.compile
        def run(x):
            with scope(x) as y:
                z = y + 1
            return loud(z)
    """,
    "reduce": """
        def add(a, b):
            return loud(a) + b
        @torch.compile
        def run(x):
            return functools.reduce(add, [x, x])
    """,
    "sorted key": """
        @torch.compile
        def run(x):
            parts = sorted([x, x], key=lambda t: t.dim())
            return loud(parts[0])
    """,
    "staticmethod classmethod": """
        class Tools:
            @staticmethod
            def a(x):
                return x
            @classmethod
            def b(cls, x):
                return loud(cls.a(x))
        @torch.compile
        def run(x):
            return Tools.b(x)
    """,
    "singledispatch-like dict of lambdas": """
        ACT = {"gelu": lambda x: x * 2, "b": lambda x: loud(x)}
        class Net(nn.Module):
            def __init__(self, act="b"):
                super().__init__()
                self.act = ACT[act]
            def forward(self, x):
                return self.act(x)
        run = torch.compile(Net())
    """,
}

MARKED = {
    "cached_property": """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.w = nn.Parameter(torch.ones(4))
            @functools.cached_property
            def scale(self):
                return self.w * 2
            def forward(self, x):
                return x * self.scale  # breaks
        run = torch.compile(Net())
    """,
    "cached_property plain": """
        class Thing:
            def __init__(self, w):
                self.w = w
            @functools.cached_property
            def scale(self):
                return self.w * 2
        @torch.compile
        def run(x):
            return x * Thing(x).scale  # breaks
    """,
    "dataclass branch": """
        @dataclass
        class Out:
            hidden: torch.Tensor
        def make(x):
            return Out(x.sum())
        @torch.compile
        def run(x):
            out = make(x)
            if out.hidden > 0:  # breaks
                return x
            return -x
    """,
    "decorator that breaks": """
        def deco(fn):
            @functools.wraps(fn)
            def inner(self, x):
                out = fn(self, x)
                if out.max() > 3:  # breaks
                    return out
                return -out
            return inner

        class Net(nn.Module):
            @deco
            def forward(self, x):
                return x * 2

        run = torch.compile(Net())
    """,
}

SILENT = {
    "moduledict silent": """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.parts = nn.ModuleDict({"a": Calm(), "b": Loud()})
            def forward(self, x):
                return self.parts["a"](x)
        run = torch.compile(Net())
    """,
    "registry const silent": """
        KINDS = {"a": Calm, "b": Loud}
        class Net(nn.Module):
            def __init__(self, kind):
                super().__init__()
                self.block = KINDS[kind]()
            def forward(self, x):
                return self.block(x)
        run = torch.compile(Net("a"))
    """,
    "checkpoint False": """
        from torch.utils.checkpoint import checkpoint
        def calm(x):
            return x * 2
        @torch.compile
        def run(x):
            return checkpoint(calm, x, use_reentrant=False) + 1
    """,
    "checkpoint True": """
        from torch.utils.checkpoint import checkpoint
        def calm(x):
            return x * 2
        @torch.compile
        def run(x):
            return checkpoint(calm, x, use_reentrant=True) + 1
    """,
    "cond": """
        @torch.compile
        def run(x):
            def yes(t):
                return t + 1
            def no(t):
                return t - 1
            return torch.cond(x.sum() > 0, yes, no, (x,))
    """,
    "vmap": """
        @torch.compile
        def run(x):
            return torch.vmap(lambda t: t * 2)(x)
    """,
    "nonstrict_trace loud": """
        @torch._dynamo.nonstrict_trace
        def helper(x):
            print("hello")
            return x * 2
        @torch.compile
        def run(x):
            return helper(x) + 1
    """,
    "leaf_function": """
        from torch._dynamo.decorators import leaf_function
        @leaf_function
        def helper(x):
            print("hello")
            return (x * 2,)
        @helper.register_fake
        def helper_fake(x):
            return (x * 2,)
        @torch.compile
        def run(x):
            return helper(x)[0] + 1
    """,
    "custom op": """
        @torch.library.custom_op("mine::twice", mutates_args=())
        def twice(x: torch.Tensor) -> torch.Tensor:
            print("inside")
            return x * 2
        @twice.register_fake
        def _(x):
            return torch.empty_like(x)
        @torch.compile
        def run(x):
            return twice(x) + 1
    """,
    "custom op by torch.ops": """
        @torch.library.custom_op("mine::thrice", mutates_args=())
        def thrice(x: torch.Tensor) -> torch.Tensor:
            print("inside")
            return x * 3
        @thrice.register_fake
        def _(x):
            return torch.empty_like(x)
        @torch.compile
        def run(x):
            y = torch.ops.mine.thrice(x)
            return y + 1
    """,
    "is_compiling": """
        @torch.compile
        def run(x):
            if not torch.compiler.is_compiling():
                print(x)
                loud(x)
            return x + 1
    """,
    "is_dynamo_compiling": """
        @torch.compile
        def run(x):
            if not torch.compiler.is_dynamo_compiling():
                loud(x)
            if torch._dynamo.is_compiling():
                return x + 1
            return loud(x)
    """,
    "is_scripting": """
        @torch.compile
        def run(x):
            if torch.jit.is_scripting() or torch.jit.is_tracing():
                return loud(x)
            return x + 1
    """,
    "is_exporting": """
        @torch.compile
        def run(x):
            if torch.compiler.is_exporting():
                return loud(x)
            return x + 1
    """,
    "debug": """
        @torch.compile
        def run(x):
            if __debug__:
                return x + 1
            return loud(x)
    """,
    "not debug": """
        @torch.compile
        def run(x):
            if not __debug__:
                return loud(x)
            return x + 1
    """,
    "factory silent": """
        def make(kind):
            if kind == "b":
                return Loud()
            return Calm()
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.block = make("a")
            def forward(self, x):
                return self.block(x)
        run = torch.compile(Net())
    """,
    "sequential slice": """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.body = nn.Sequential(Calm(), Calm(), Loud())
            def forward(self, x):
                for layer in self.body[:2]:
                    x = layer(x)
                return x
        run = torch.compile(Net())
    """,
    "compiler.is_compiling in and": """
        @torch.compile
        def run(x):
            if not torch.compiler.is_compiling() and x.sum() > 0:
                print(x)
            return x + 1
    """,
    "allow_in_graph": """
        @torch.compiler.allow_in_graph
        def helper(x):
            return torch.sort(x)[0]
        @torch.compile
        def run(x):
            return helper(x) + 1
    """,
}

if sys.version_info >= (3, 12):  # from there on a cached property takes no lock
    SILENT |= {name: MARKED.pop(name) for name in [*MARKED] if name.startswith("cached_property")}


def program(body: str) -> str:
    return HEADER + textwrap.dedent(body)


def expected(name: str, source: str) -> list[int]:
    if name in REACHED:
        return LOUD
    marked = MARKED if name in MARKED else {}
    return [
        number for number, line in enumerate(source.splitlines(), start=1) if marked and re.search("# breaks", line)
    ]


CASES = {**REACHED, **MARKED, **SILENT}


@pytest.mark.parametrize("name", CASES)
def test_reported(project: ProjectOnDisk, name: str) -> None:
    source = program(CASES[name])
    project.write({"net.py": source})
    assert sorted({finding.span.line for finding in project.check().findings}) == expected(name, source)


@pytest.mark.torch
@pytest.mark.parametrize("name", CASES)
def test_dynamo_agrees(tmp_path: Path, name: str) -> None:
    pytest.importorskip("torch")
    source = program(CASES[name])
    assert broken_lines(tmp_path, source) == expected(name, source)


@pytest.mark.parametrize(
    ("border", "severity"),
    [
        ("@torch.compiler.disable", "warning"),
        ("@torch.compiler.disable(reason=None)", "warning"),
        ('@torch.compiler.disable(reason="slow")', "note"),
        ("@torch._dynamo.disable", "warning"),
    ],
)
def test_a_disabled_function_is_a_note_at_its_call_if_it_says_why(
    project: ProjectOnDisk, border: str, severity: str
) -> None:
    body = f"{border}\ndef helper(x):\n    return loud(x)\n\n@torch.compile\ndef run(x):\n    return helper(x)\n"
    project.write({"net.py": HEADER + body})
    (finding,) = project.check().findings
    assert (finding.code, finding.severity.value, finding.function) == ("FG801", severity, "run")


def test_a_registry_that_is_filled_elsewhere_decides_nothing(project: ProjectOnDisk) -> None:
    body = """
        KINDS = {}

        def register(cls):
            KINDS[cls.__name__] = cls
            return cls

        @torch.compile
        def run(x):
            if "Own" in KINDS:
                return loud(x)
            return x
    """
    project.write({"net.py": program(body)})
    assert [finding.span.line for finding in project.check().findings] == LOUD
