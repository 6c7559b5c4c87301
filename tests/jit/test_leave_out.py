"""Breaks that nothing removes: less is compiled, so that they lie outside of it, and most lies in it still."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from mend_bench import Bench, bench_in, mended

from fullgraph.jit.mend.emit_text import lines
from fullgraph.jit.mend.parts import in_parts
from fullgraph.jit.mend.report import Figures, Mended, Outcome, Row
from fullgraph.jit.mend.search import Mending
from fullgraph.jit.mend.trial import Composition, Kind
from fullgraph.jit.mend.watch import released
from fullgraph.lint.apply import edited

TORCH = Kind("", False, ())
LIST, DICT = (Kind(holds, False, ()) for holds in ("list", "dict"))
BLOCK = Kind("", True, (("net.py", 1, 5),))
NET = Kind("", True, (("net.py", 11, 19),))
BREAK = ("net.py", 12)
LAYERS = (
    *(("", NET), ("layers", LIST), ("layers.0", BLOCK), ("layers.1", BLOCK)),
    *(("heads", DICT), ("heads.a", BLOCK), ("heads.b", BLOCK), ("norm", TORCH)),
)


def composed(*modules: tuple[str, Kind], line: int = 1) -> Composition:
    kinds = tuple(dict.fromkeys(kind for _, kind in modules))
    return Composition("run.py", line, kinds, tuple((name, kinds.index(kind)) for name, kind in modules))


def written(source: str, *modules: tuple[str, Kind], broken: object = (BREAK,), again: object = ()) -> str | None:
    """The file with the module in parts that its first call of `compile` is of."""
    assert isinstance(broken, tuple) and isinstance(again, tuple)
    line = 1 + source.partition("compile(")[0].count("\n")
    fix = in_parts(composed(*modules, line=line), frozenset(broken), frozenset(again), source.encode())
    return None if fix is None else edited(source.encode(), fix.edits).decode()


LOOPS = """\
for layer in net.layers:
    layer.compile(OPTIONS)
for head in net.heads.values():
    head.compile(OPTIONS)
"""


@pytest.mark.parametrize(
    ("before", "kept", "options"),
    [
        ("net = torch.compile(net)\n", "", ""),
        ("net.compile()\n", "", ""),
        ("net.compile(\n    mode='default',\n    dynamic=True,\n)\n", "", "mode='default', dynamic=True"),
        ("net = torch.compile(Net(3), backend='eager')\n", "net = Net(3)\n", "backend='eager'"),
        (
            "from torch import compile\nnet = compile(Net(\n    3,\n))\n",
            "from torch import compile\nnet = Net(3)\n",
            "",
        ),
        ("import torch as t\nnet = t.compile(Net())\n", "import torch as t\nnet = Net()\n", ""),
        ("net: Net = torch.compile(Net())\n", "net: Net = Net()\n", ""),
    ],
)
def test_a_statement_that_compiles_a_module_gives_way_to_loops_over_its_parts(
    before: str, kept: str, options: str
) -> None:
    assert written(before, *LAYERS) == kept + LOOPS.replace("OPTIONS", options)


def test_indentation_line_ends_and_what_comes_behind_stay() -> None:
    before = "if True:\r\n    self.net = torch.compile(größe)\r\n    y = 1\r\n"
    fix = in_parts(composed(*LAYERS[:4], line=2), frozenset({BREAK}), frozenset(), before.encode())
    assert fix is not None
    loop = "    for layer in self.net.layers:\r\n        layer.compile()\r\n"
    after = f"if True:\r\n    self.net = größe\r\n{loop}    y = 1\r\n"
    assert edited(before.encode(), fix.edits).decode() == after


@pytest.mark.parametrize(
    "before",
    [
        "run(torch.compile(net))\n",
        "net = DDP(torch.compile(net))\n",
        "net = torch.compile(net); net(x)\n",
        "net = torch.compile(net)  # all of it\n",
        "def fast(net):\n    net = torch.compile(net)\n    return net\n",
        "def fast(run):\n    run.net.compile()\n",
        "net = torch.compile(Net())\nnet.load_state_dict(saved)\n",
        "fast = torch.compile(net)\nfast(net(x))\n",
        "fast = torch.compile(self.net)\nexport(self.net)\n",
        "a = b = torch.compile(net)\n",
        "net = other.compile(net)\n",
    ],
)
def test_anything_else_that_compiles_a_module_stays(before: str) -> None:
    assert written(before, *LAYERS) is None


def test_what_breaks_is_taken_apart_and_what_is_compiled_again_is_left_out() -> None:
    inner = Kind("", True, (("net.py", 31, 35),))
    uneven = (("", NET), ("layers", LIST), ("layers.0", BLOCK), ("layers.1", inner), ("layers.1.mlp", BLOCK))
    assert written("net.compile()\n", *uneven) == "for layer in net.layers:\n    layer.compile()\n"
    apart = written("net.compile()\n", *uneven, broken=(BREAK, ("net.py", 33)))
    assert apart == "net.layers[0].compile()\nnet.layers[1].mlp.compile()\n"
    assert written("net.compile()\n", *uneven, again=(("net.py", 3),)) == "net.layers[1].compile()\n"
    assert written("net.compile()\n", *uneven, broken=(("net.py", 33),), again=(("net.py", 3),)) is None


def test_without_a_break_or_without_a_part_of_any_size_nothing_changes() -> None:
    assert written("net.compile()\n", *LAYERS, broken=()) is None
    assert written("net.compile()\n", *LAYERS, broken=(("net.py", 6), ("other.py", 12))) is None
    assert written("net.compile()\n", ("", NET), ("norm", TORCH)) is None


def test_names_that_the_file_has_are_not_bound() -> None:
    taken = written("net.compile()\nlayer = 1\n", *LAYERS[:4])
    assert taken == "for part in net.layers:\n    part.compile()\nlayer = 1\n"


@pytest.mark.parametrize(
    ("held", "name"), [("ifs", "part"), ("lens", "part"), ("blocks", "block"), ("encoder", "part")]
)
def test_loops_bind_no_keyword_and_no_builtin(held: str, name: str) -> None:
    modules = (("", NET), (held, LIST), (f"{held}.0", BLOCK), (f"{held}.1", BLOCK))
    assert written("net.compile()\n", *modules) == f"for {name} in net.{held}:\n    {name}.compile()\n"


def test_names_that_are_none_are_asked_for() -> None:
    modules = (("", NET), ("for", BLOCK), ("0x", BLOCK), ("fine", BLOCK))
    asked = "net.get_submodule('for').compile()\nnet.get_submodule('0x').compile()\nnet.fine.compile()\n"
    assert written("net.compile()\n", *modules) == asked


def test_a_list_is_gone_through_for_the_sake_of_those_that_are_no_modules_of_torch() -> None:
    mixed = (("", NET), ("layers", LIST), ("layers.0", TORCH), ("layers.1", BLOCK), ("layers.2", BLOCK))
    assert written("net.compile()\n", *mixed) == "for layer in net.layers:\n    layer.compile()\n"
    assert written("net.compile()\n", ("", NET), ("layers", LIST), ("layers.0", TORCH), ("layers.1", TORCH)) is None


def test_tabs_stay_tabs() -> None:
    before = "if True:\n\tnet.compile()\n"
    assert written(before, *LAYERS[:4]) == "if True:\n\tfor layer in net.layers:\n\t\tlayer.compile()\n"


def test_what_is_compiled_as_a_whole_no_longer_is_known_by_its_statement() -> None:
    old = b"def f(m):\n    m = torch.compile(m)\n    n.compile()\n    r = re.compile('a')\n"
    new = old.replace(b"m = torch.compile(m)", b"for part in m.parts:\n        part.compile()")
    (item,) = released({"a.py": old}, {"a.py": new})
    assert (item.path, item.function, item.module) == ("a.py", "f", "m")


@pytest.mark.parametrize(
    ("outcome", "elements", "remark"),
    [
        (Outcome.VERIFIED, 65, "graphs compute 65% of the elements that they did"),
        (Outcome.VERIFIED, 100, ""),
        (Outcome.REJECTED, 65, "no"),
    ],
)
def test_how_much_less_is_compiled_is_told(outcome: Outcome, elements: int, remark: str) -> None:
    before, after = (Figures(1, 0, 0.1, None, computed) for computed in (100, elements))
    row = Row("a.py", 1, "FG201", "t", "unsafe", outcome, "no" * (outcome is Outcome.REJECTED), before, after)
    assert row.remark == remark
    assert (f"= {remark}" in "\n".join(lines(Mended((row,))))) is bool(remark)


DEEP = """\
import torch
from torch import nn

class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(4, 4)

    def forward(self, x):
        return torch.tanh(self.inner(x)) + x

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(Block() for _ in range(3))
        self.calls = 0

    def forward(self, x):
        scale = float(repr(x.abs().max().item()))
        for layer in self.layers:
            x = layer(x / scale)
        return x * scale

torch.manual_seed(0)
net = torch.compile(Net(), backend="eager")
for _ in range(2):
    net(torch.ones(2, 4, requires_grad=True)).sum().backward()
"""
COMPILE = 'net = torch.compile(Net(), backend="eager")\n'
IN_PARTS = """\
net = Net()
for part in net.layers:
    part.compile(backend="eager")
"""
PARTS = "compile the parts that are captured whole"
NORM = """\
class Norm(nn.Module):
    def forward(self, x):
        return x - x.mean()

"""
PICKED = """\
import torch

@torch.compile(backend="eager")
def picked(x: torch.Tensor):
    y = torch.sin(x) * 2
    good = y > 0.5
    for at in range(int(good.sum())):
        print(y[good][at].tolist())
    return y

for _ in range(2):
    picked(torch.linspace(0, 1, 8))
"""
ABOVE = """\
def picked_forward(x: torch.Tensor):
    y = torch.sin(x) * 2
    good = y > 0.5
    return y, good


def picked(x: torch.Tensor):
    y, good = picked_forward(x)
"""


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    with bench_in(tmp_path_factory.mktemp("leave-out")) as made:
        yield made


def accepted(found: Mending) -> Row:
    """The one that holds, and is told first."""
    return next(row for row in mended(found).rows if row.outcome is Outcome.VERIFIED)


@pytest.mark.torch
@pytest.mark.slow
class TestWithTorch:
    def test_the_parts_of_a_module_are_compiled_where_nothing_removes_its_break(self, bench: Bench) -> None:
        mending = bench.searched(DEEP, "m.py")
        row = accepted(mending)
        assert (row.line, row.title) == (19, PARTS)
        assert row.after is not None
        assert (row.after.breaks, row.after.recompiles) == (0, 0)
        assert 0.5 < row.after.elements / row.before.elements < 1, "the division stays outside"
        assert row.gradient_difference is not None
        assert row.gradient_difference < 1e-5
        assert mending.changed[0][2].decode() == DEEP.replace(COMPILE, IN_PARTS)

    def test_calls_of_the_whole_are_compared_all_the_same(self, bench: Bench) -> None:
        bad = {
            IN_PARTS + "net.layers[1].inner.bias.data += 1\n": "the result differs in 8 of 8 elements, by up to 1.",
            IN_PARTS + "net.forward = lambda x, f=net.forward: f(x) + 1\n": "the result differs in 8 of 8 elements",
            IN_PARTS + "net.calls = 1\n": "Net.calls is int 1, not int 0",
        }
        found = mended(bench.tried(DEEP, COMPILE, *bad, target="m.py"))
        reasons = {row.title: row.reason for row in found.rows if row.outcome is Outcome.REJECTED}
        for title, reason in bad.items():
            assert reason in reasons[title], reasons[title]

    def test_what_leaves_next_to_nothing_in_graphs_is_refused(self, bench: Bench) -> None:
        much = "        for _ in range(40):\n            x = torch.sin(torch.cos(x)) + 1\n        return x"
        source = DEEP.replace("range(3)", "range(1)").replace("        return x * scale", much)
        found = bench.searched(source, "m.py")
        assert not found.changed
        told = next(row for row in mended(found).rows if row.title == PARTS)
        assert re.fullmatch(r"graphs compute only \d+% of the elements that they did", told.reason)

    def test_a_part_that_is_compiled_again_for_another_of_its_kind_is_taken_apart(self, bench: Bench) -> None:
        two_sizes = "(x / scale)\n        x = self.b(self.a(x)[:, :3])\n"
        uneven = DEEP.replace("(x / scale)\n", two_sizes).replace("class Net", NORM + "class Net")
        found = bench.searched(uneven.replace("self.calls = 0", "self.a, self.b = Norm(), Norm()"), "m.py")
        assert accepted(found).title == PARTS
        assert b"part.compile(" in found.changed[0][2]
        assert b"net.a.compile(" not in found.changed[0][2]

    def test_lines_above_are_compiled_where_a_decorated_function_breaks(self, bench: Bench) -> None:
        found = bench.searched(PICKED, "m.py")
        assert accepted(found).title == "compile only the lines above"
        whole = PICKED[PICKED.index("def ") : PICKED.index("    for at")]
        assert found.changed[0][2].decode() == PICKED.replace(whole, ABOVE)
