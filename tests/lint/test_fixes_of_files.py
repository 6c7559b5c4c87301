"""Fixes that change more than one place, or need more than a function to be seen: `(title, before, changes)`; and what
fixes write, compiled and run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from fixing import fixed
from project_on_disk import ProjectOnDisk

from fullgraph.lint.apply import edited
from fullgraph.lint.fixes import suggest
from fullgraph.lint.project import Project

if TYPE_CHECKING:
    from torch import Tensor

IMPORTS = "import os\nimport random\nimport numpy as np\nimport torch\nfrom torch import nn\n\n"
COUNTER = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.n = 0

    def forward(self, x):
        self.n += 1
        return x * self.n


net = torch.compile(Net())
for _ in range(5):
    net(torch.ones(3))
"""
LAYERS = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(3, 3) for _ in range(3))

    def forward(self, x):
        for layer in self.layers:
            if self.training and torch.rand(()) < 0.5:
                continue
            x = layer(x)
        return x


net = torch.compile(Net())
net(torch.ones(3))
"""
KEPT = """            drop = torch.rand(()) < 0.5 if self.training else None
            kept_x = x
            x = layer(x)
            if drop is not None:
                x = torch.where(drop, kept_x, x)
"""
SKIPPED = """            if self.training and torch.rand(()) < 0.5:
                continue
            x = layer(x)
"""
FLAG = """            skip = False
            if self.training:
                draw = torch.rand(())
                if draw < 0.5:  # rarely
                    skip = True
            # why
            if not skip:
                x = layer(x)
"""
UNFLAGGED = """            skip = False
            if self.training:
                draw = torch.rand(())
                skip = draw < 0.5  # rarely
            # why
            kept_x = x
            x = layer(x)
            if skip is not False:
                x = torch.where(skip, kept_x, x)
"""
FLAGGED = LAYERS.replace(SKIPPED, FLAG)
NESTED = """            if self.training:
                draw = torch.rand(())
                if draw < 0.5:  # rarely
                    continue
            x = layer(x)
"""
NESTED_KEPT = """            drop = None
            if self.training:
                draw = torch.rand(())
                drop = draw < 0.5  # rarely
            kept_x = x
            x = layer(x)
            if drop is not None:
                x = torch.where(drop, kept_x, x)
"""
ASKED = """            if self.training:
                draw = torch.rand(())
                if draw < 0.5:  # rarely
                    continue
            out = (layer(x), x)
            x = out[0]
            if more:
                every += (out[1],)
"""
ASKED_KEPT = """            drop = None
            if self.training:
                draw = torch.rand(())
                if more:
                    if draw < 0.5:  # rarely
                        continue
                else:
                    drop = draw < 0.5  # rarely
            kept_x = x
            out = (layer(x), x)
            x = out[0]
            if drop is not None:
                x = torch.where(drop, kept_x, x)
            if more:
                every += (out[1],)
"""
COLLECTING = LAYERS.replace(SKIPPED, ASKED).replace(
    "x):\n        for", "x, more=False):\n        every = ()\n        for"
)
READ = """
@torch.compile
def run(x):
    return x * float(os.getenv("SCALE", "1"))
"""
STATIC = """
@torch.compile(dynamic=False, mode='default')
def run(x):
    return x * 2


for n in (2, 3, 4, 5):
    run(torch.ones(n))
"""
TURNS = "\n@torch.compile\ndef run(x):\n    return x * 2\n\n\n" + "".join(
    f"run(torch.ones({sizes}))\n" for sizes in ("2, 4, 8", "3, 4, 8", "3, 5, 8", "3, 5, 9")
)
OPERATOR = """
@torch.library.custom_op("fix::double", mutates_args=())
def double(x: torch.Tensor) -> torch.Tensor:
    return x * 2


@torch.compile
def run(x):
    return double(x) + 1
"""
FUNCTION = """
class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, g):
        return g * 2

    @staticmethod
    def jvp(ctx, t):
        return t * 2


@torch.compile
def run(x):
    return Double.apply(x)
"""
JVP = "\n    @staticmethod\n    def jvp(ctx, t):\n        return t * 2\n"
ATTRIBUTE = """
class Drop(nn.Module):
    def __init__(self):
        super().__init__()
        self.keep = 10

    def forward(self, x):
        return x * (self.keep / 10)


drop = Drop()
compiled = torch.compile(drop)
for keep in (10, 9, 8, 7):
    drop.keep = keep
    compiled(torch.ones(2, 2))
"""
DRAW = "\n@torch.compile\ndef run(x):\n    return x * random.random()\n"
ARRAY = "\n@torch.compile\ndef run(x):\n    return x * (1 + np.random.uniform(0.0, 0.5))\n"
GRADIENT = "\n@torch.compile\ndef run(x):\n    x.requires_grad_()\n    return x * 2\n\n\nrun(torch.ones(3))\n"
NONZERO = "\n@torch.compile\ndef run(x):\n    return x.nonzero() + 1\n"
TWICE = NONZERO + "\n\n@torch.compile\ndef other(x):\n    return x + 1\n"
CALLED = "\ndef run(x, n):\n    return x[: n.sum()]\n\n\nrun = torch.compile(run, backend='eager')\n"
SWITCH = "torch._dynamo.config.capture_dynamic_output_shape_ops = True"
COUNT, MASK, HOIST, UNSET = "count in", "leave the layer", "read it when", "leave `dynamic`"
FAKE, RULE, SIZES, TENSOR, UNIFORM = "register a", "leave out the", "compile with", "set it to", "draw with `random"
TORCH, CALL, CAPTURE, WHOLE = "draw with torch", "ask for", "capture it", "capture it with `fullgraph"
SYMBOLIC = "trace the counter"
APART, EVERY = "keep the function out", "run every expert"
EXPERTS = """
class Experts(nn.ModuleList):
    def forward(self, x, best, weights):
        out = torch.zeros_like(x)
        mask = nn.functional.one_hot(best, len(self)).permute(2, 1, 0)
        hit = torch.greater(mask.sum(dim=(-1, -2)), 0).nonzero()
        for i in hit:
            slot, token = torch.where(mask[i].squeeze(0))
            y = self[i[0]](x[token]) * weights[token, slot, None]
            out.index_add_(0, token, y)
        return out


experts = torch.compile(Experts(nn.Linear(3, 3) for _ in range(4)))
experts(torch.ones(5, 3), torch.zeros(5, 2, dtype=torch.long), torch.ones(5, 2))
"""
FOUND = "        hit = torch.greater(mask.sum(dim=(-1, -2)), 0).nonzero()\n"
PAIRS = """            chosen = mask[i]
            slot, token = torch.unravel_index(torch.arange(chosen.numel(), device=chosen.device), chosen.shape)
"""
COUNTED = "torch.where(chosen.flatten()[:, None] > 0, y, 0)"
HELPER = """
def helper(x):
    print(os.getpid())
    return x


@torch.compile
def run(x):
    return helper(x * 2)
"""
NUMBER, MARK = "pass it as a tensor", "mark the sizes"
SCALED = """
@torch.compile
def scale(x, factor):
    return x * factor


x = torch.ones(3)
scale(x, 0.5)
scale(x, 2)
scale(x, True)
"""
FORWARD = "compile only the forward"
STEP = """
net = nn.Linear(3, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)


@torch.compile
def step(x: torch.Tensor, y, log=None):
    optimizer.zero_grad()
    # how far off
    scale = y.abs().max()
    loss = nn.functional.mse_loss(net(x), y) / scale
    loss.backward()
    optimizer.step()
    return loss.detach()


step(torch.ones(2, 3), torch.ones(2, 1))
"""
LOSS = """    # how far off
    scale = y.abs().max()
    loss = nn.functional.mse_loss(net(x), y) / scale
"""
STEP_LOSS = """def step_loss(x: torch.Tensor, y):
    # how far off
    scale = y.abs().max()
    return nn.functional.mse_loss(net(x), y) / scale


def step("""
LOUD = [
    (FORWARD, STEP, (LOSS, "    loss = step_loss(x, y)\n"), ("def step(", STEP_LOSS)),
    (
        FORWARD,
        STEP.replace("loss.detach()", "loss.detach(), scale").replace(
            "@torch.compile", "@torch.compile(mode='default')"
        ),
        (LOSS, "    scale, loss = step_forward(x, y)\n"),
        (
            "def step(",
            STEP_LOSS.replace("step_loss", "step_forward")
            .replace("return", "loss =")
            .replace("scale\n\n", "scale\n    return scale, loss\n\n"),
        ),
    ),
    (
        FORWARD,
        STEP.replace(LOSS, "    with torch.autocast('cpu'):\n        y = net(x) + y\n")
        .replace("loss.backward()", "(y * 2).sum().backward()")
        .replace("return loss.detach()", "return x"),
        ("    with torch.autocast('cpu'):\n        y = net(x) + y\n", ""),
        ("(y * 2).sum()", "step_forward(x, y)"),
        (
            "def step(",
            "def step_forward(x: torch.Tensor, y):\n    with torch.autocast('cpu'):\n        y = net(x) + y\n"
            "    return (y * 2).sum()\n\n\ndef step(",
        ),
    ),
    (
        FORWARD,
        STEP.replace("    loss.backward()\n    optimizer.step()\n    return loss.detach()", "    return loss * 2"),
        (LOSS, ""),
        ("loss * 2", "step_forward(x, y)"),
        (
            "def step(",
            "def step_forward(x: torch.Tensor, y):\n" + LOSS + "    return loss * 2\n\n\ndef step(",
        ),
    ),
    (COUNT, COUNTER, ("self.n = 0", 'self.register_buffer("n", torch.tensor(0), persistent=False)')),
    (
        COUNT,
        COUNTER.replace("self.n += 1", "self.n = (self.n + 1) % 4"),
        ("self.n = 0", 'self.register_buffer("n", torch.tensor(0), persistent=False)'),
        ("self.n = (self.n + 1) % 4", "self.n.copy_((self.n + 1) % 4)"),
    ),
    (MASK, LAYERS, (SKIPPED, KEPT)),
    (
        MASK,
        LAYERS.replace("self.training and ", ""),
        (
            SKIPPED.replace("self.training and ", ""),
            KEPT.replace(" if self.training else None", "").replace("            if drop is not None:\n    ", ""),
        ),
    ),
    (MASK, FLAGGED, (FLAG, UNFLAGGED)),
    (
        MASK,
        FLAGGED.replace("not skip:", "not skip or synced:").replace("(self, x)", "(self, x, synced=False)"),
        (
            FLAG.replace("not skip:", "not skip or synced:"),
            UNFLAGGED.replace("not False:", "not False and not synced:"),
        ),
    ),
    (
        MASK,
        FLAGGED.replace("x = layer(x)\n", "x = layer(x)\n            if skip:\n                continue\n"),
        (FLAG + "            if skip:\n                continue\n", UNFLAGGED),
    ),
    (
        MASK,
        FLAGGED.replace(
            "if not skip:\n                x = layer(x)",
            "if skip:\n                out = (None, None)\n            else:\n"
            "                out = (layer(x), x)\n                x = out[0]\n            out[1].dim()",
        ),
        (
            FLAG.replace(
                "if not skip:\n                x = layer(x)",
                "if skip:\n                out = (None, None)\n            else:\n"
                "                out = (layer(x), x)\n                x = out[0]",
            ),
            UNFLAGGED.replace("x = layer(x)", "out = (layer(x), x)\n            x = out[0]"),
        ),
    ),
    (
        MASK,
        LAYERS.replace(SKIPPED, NESTED).replace("for layer", "x = torch.dropout(x, 0.1, True)\n        for layer"),
        (NESTED, NESTED_KEPT),
    ),
    (
        NUMBER,
        SCALED,
        ("0.5)", "torch.tensor(0.5))"),
        ("x, 2)", "x, torch.tensor(2.0))"),
        ("True)", "torch.tensor(1.0))"),
    ),
    (
        NUMBER,
        SCALED.replace("scale(x, 0.5)", "for f in (-0.5, 4):\n    scale(x, f)"),
        ("x, f)", "x, torch.tensor(float(f)))"),
        ("x, 2)", "x, torch.tensor(2.0))"),
        ("True)", "torch.tensor(1.0))"),
    ),
    (
        MARK,
        TURNS,
        ("run(torch.ones(2, 4, 8))", "x = torch.ones(2, 4, 8)\ntorch._dynamo.mark_dynamic(x, [0, 1, 2])\nrun(x)"),
    ),
    (
        MARK,
        TURNS.replace("run(torch.ones(2, 4, 8))", "y = run(torch.ones((2, 4, 8)))").replace("3, 5, 9", "5, 6, 8"),
        (
            "y = run(torch.ones((2, 4, 8)))",
            "x = torch.ones((2, 4, 8))\ntorch._dynamo.mark_dynamic(x, [0, 1])\ny = run(x)",
        ),
    ),
    (
        HOIST,
        READ,
        ("\n@torch", '\nSCALE = os.getenv("SCALE", "1")\n\n\n@torch'),
        ('os.getenv("SCALE", "1"))', "SCALE)"),
    ),
    (
        HOIST,
        "# why\n" + READ.lstrip().replace("SCALE", "a-b"),
        ("# why", 'A_B = os.getenv("a-b", "1")\n\n\n# why'),
        ('(os.getenv("a-b", "1"))', "(A_B)"),
    ),
    (UNSET, STATIC, ("dynamic=False, ", "")),
    (UNSET, STATIC.replace("dynamic=False, mode='default'", "dynamic=False"), ("dynamic=False", "")),
    (SIZES, TURNS, ("@torch.compile", "@torch.compile(dynamic=True)")),
    (
        SIZES,
        TURNS.replace("@torch.compile", "@torch.compile(mode='default')"),
        ("'default')", "'default', dynamic=True)"),
    ),
    (
        FAKE,
        OPERATOR,
        ("* 2\n", "* 2\n\n@double.register_fake\ndef _(x: torch.Tensor):\n    return torch.empty_like(x)\n"),
    ),
    (
        FAKE,
        OPERATOR.replace("* 2", ".sin()"),
        (".sin()\n", ".sin()\n\n@double.register_fake\ndef _(x: torch.Tensor):\n    return torch.empty_like(x)\n"),
    ),
    (RULE, FUNCTION, (JVP, "")),
    (RULE, FUNCTION.replace("jvp", "vjp"), (JVP.replace("jvp", "vjp"), "")),
    (TENSOR, ATTRIBUTE, ("drop.keep = keep", "drop.keep = torch.tensor(keep)")),
    (TENSOR, ATTRIBUTE.replace("drop.keep = keep", "drop.keep = keep + 1"), ("= keep + 1", "= torch.tensor(keep + 1)")),
    (UNIFORM, DRAW, ("random.random()", "random.uniform(0, 1)")),
    (
        UNIFORM,
        DRAW.replace("return x *", "a =").replace("()\n", "()\n    return x + 2 * a\n"),
        (".random()", ".uniform(0, 1)"),
    ),
    (TORCH, ARRAY, ("np.random.uniform(0.0, 0.5)", "torch.empty(()).uniform_(0.0, 0.5)")),
    (TORCH, ARRAY.replace("uniform(0.0, 0.5)", "rand()"), ("np.random.rand()", "torch.rand(())")),
    (CALL, GRADIENT, ("    x.requires_grad_()\n", ""), ("ones(3)", "ones(3).requires_grad_()")),
    (
        CALL,
        GRADIENT.replace("run(t", "ß = run(t"),
        ("    x.requires_grad_()\n", ""),
        ("ones(3)", "ones(3).requires_grad_()"),
    ),
    (
        CALL,
        GRADIENT.replace("run(t", "y = run(t"),
        ("    x.requires_grad_()\n", ""),
        ("ones(3)", "ones(3).requires_grad_()"),
    ),
    (CAPTURE, TWICE, ("import nn\n", f"import nn\n\n{SWITCH}\n")),
    (CAPTURE, TWICE.replace("x.nonzero()", "x.masked_select(x > 0)"), ("import nn\n", f"import nn\n\n{SWITCH}\n")),
    (WHOLE, NONZERO, ("@torch.compile", "@torch.compile(fullgraph=True)")),
    (WHOLE, CALLED, ("backend='eager'", "backend='eager', fullgraph=True")),
    (WHOLE, NONZERO.replace("compile", "compile()"), ("compile()", "compile(fullgraph=True)")),
    (WHOLE, CALLED.replace("'eager')", "'eager',)"), ("'eager',)", "'eager',fullgraph=True)")),
    (WHOLE, CALLED.replace("'eager')", "('eager')\n  # a, b\n)"), ("# a, b\n)", "# a, b\n, fullgraph=True)")),
    (WHOLE, CALLED.replace("run = ", "ß = '漢'; run = "), ("backend='eager'", "backend='eager', fullgraph=True")),
    (
        SYMBOLIC,
        COUNTER.replace("x * self.n", "x[: self.n]"),
        (
            "    def forward",
            "    @torch._dynamo.patch_dynamo_config(allow_unspec_int_on_nn_module=True)\n    def forward",
        ),
    ),
    (
        SYMBOLIC,
        COUNTER.replace("    def forward", "    @torch.no_grad()\n    # why\n    def forward"),
        (
            "    # why\n",
            "    @torch._dynamo.patch_dynamo_config(allow_unspec_int_on_nn_module=True)\n    # why\n",
        ),
    ),
]
SILENT = [
    (FORWARD, STEP.replace("@torch.compile\n", "@torch.compile\n@torch.enable_grad()\n")),
    (
        FORWARD,
        STEP.replace("    # how far off", "    if log is not None:\n        rate = 0.5").replace(
            "max()", "max() * rate"
        ),
    ),
    (FORWARD, STEP.replace(LOSS, "    loss = y\n")),
    (FORWARD, STEP.replace(LOSS, "    log = lambda: loss\n" + LOSS)),
    (FORWARD, STEP.replace("loss.detach()", "loss.detach(), locals()")),
    (FORWARD, STEP.replace(" / scale", " / scale.item()")),
    (COUNT, COUNTER.replace("x * self.n", "x[: self.n]")),
    (COUNT, COUNTER.replace("x * self.n", "x * self.n if self.n > 2 else x")),
    (
        COUNT,
        COUNTER.replace(
            "        super().__init__()\n        self.n = 0", "        self.n = 0\n        super().__init__()"
        ),
    ),
    (COUNT, COUNTER + "print(net.n)\n"),
    (COUNT, COUNTER.replace("self.n = 0", "self.n = int(os.sep == '/')")),
    (MASK, LAYERS.replace("x = layer(x)", "x += layer(x)")),
    (MASK, LAYERS.replace("x = layer(x)", "x = layer(x)\n            print(x)")),
    (MASK, LAYERS.replace("continue", "break")),
    (MASK, LAYERS.replace("x = layer(x)", "x = layer(x)\n        x.add_(1)")),
    (MASK, LAYERS.replace("torch.rand(())", "random.random()")),
    (MASK, FLAGGED.replace("x = layer(x)", "x = layer(x)\n            x = x + int(skip)")),
    (MASK, FLAGGED.replace("x = layer(x)", "x = layer(x)\n                print(x)")),
    (MASK, FLAGGED.replace("skip = False\n", "skip = x is None\n")),
    (MASK, FLAGGED.replace("x = layer(x)", "x = layer(x)\n            else:\n                x = x * 2")),
    (
        MASK,
        FLAGGED.replace(
            "if not skip:\n                x = layer(x)",
            "if skip:\n                out = (None, None)\n            else:\n"
            "                out = (layer(x), x)\n                x = out[0]\n            seen = out[1]",
        ),
    ),
    (MASK, LAYERS.replace(SKIPPED, NESTED.replace("continue", "draw = draw + 1\n                    continue"))),
    (MASK, COLLECTING.replace("x = out[0]", "x = out[0]\n            more = len(x) > 2")),
    (MASK, COLLECTING.replace("if more:", "if out[0] is x:")),
    (NUMBER, SCALED.replace("x * factor", "x[: int(factor)]")),
    (NUMBER, SCALED.replace("scale(x, True)", "other = scale\nscale(x, True)")),
    (NUMBER, SCALED.replace("scale(x, 2)", "scale(x, len(x))")),
    (NUMBER, SCALED.replace("return x * factor", "factor = 2 * factor\n    return x * factor")),
    (EVERY, EXPERTS.replace("return out", "return out, hit")),
    (EVERY, EXPERTS.replace("return out", "return out, token")),
    (EVERY, EXPERTS.replace("y = self", "y = token.sum() * self")),
    (EVERY, EXPERTS.replace("out.index_add_(0, token, y)", "out[token] = y")),
    (EVERY, EXPERTS.replace("y = self", "if i[0] == 2:\n                break\n            y = self")),
    (EVERY, EXPERTS.replace("mask[i].sq", "(1 - mask[i]).sq")),
    (APART, HELPER.replace("def helper", "@torch.no_grad()\ndef helper")),
    (APART, HELPER.replace("(x):\n    print", "(x):\n    yield x\n    print")),
    (APART, HELPER + "\n\nhelper = torch.compile(helper)\n"),
    (MARK, TURNS.replace("2, 4, 8", "1, 4, 8")),
    (MARK, TURNS.replace("run(torch.ones(3, 4, 8))", "z = torch.ones(3, 4, 8)\nrun(z)")),
    (MARK, TURNS.replace("run(torch.ones(2, 4, 8))", "if True:\n    run(torch.ones(2, 4, 8))")),
    (HOIST, READ + '\nos.environ["SCALE"] = "2"\n'),
    (HOIST, READ.replace("def run(x):", "def run(x, key='SCALE'):").replace('("SCALE"', "(key")),
    (HOIST, READ.replace("    return", "    import os\n    return")),
    (UNSET, STATIC.replace("torch.compile(dynamic=False, mode='default')", "torch.compile(**{'dynamic': False})")),
    (SIZES, TURNS.replace("@torch.compile", "@torch.compile(dynamic=None)")),
    (SIZES, TURNS.replace("@torch.compile", "@torch.no_grad()\n@torch.compile")),
    (FAKE, OPERATOR.replace("return x * 2", "y = x * 2\n    return y")),
    (FAKE, OPERATOR.replace("x * 2", "x.sum()")),
    (FAKE, OPERATOR.replace("x * 2", "x @ x")),
    (RULE, FUNCTION.replace("return t * 2", "return t * 2  # why")),
    (RULE, FUNCTION.replace("def backward", "def other")),
    (TENSOR, ATTRIBUTE.replace("x * (self.keep / 10)", "x[: self.keep]")),
    (TENSOR, ATTRIBUTE + "print(drop.keep)\n"),
    (TENSOR, ATTRIBUTE.replace("drop.keep = keep", "drop.keep = str(keep)")),
    (UNIFORM, DRAW.replace("return x * random.random()", "return x if random.random() < 0.5 else -x")),
    (UNIFORM, DRAW.replace("x * random.random()", "x, random.random()")),
    (UNIFORM, DRAW.replace("x * random.random()", "x[int(3 * random.random())]")),
    (TORCH, ARRAY.replace("x * (1 + np.random.uniform(0.0, 0.5))", "x[int(np.random.uniform(0.0, 0.5))]")),
    (TORCH, ARRAY.replace("uniform(0.0, 0.5)", "uniform(low=0.0, high=0.5)")),
    (TORCH, ARRAY.replace("uniform(0.0, 0.5)", "beta(0.5, 0.5)")),
    (CALL, GRADIENT + "run(torch.ones(3))\n"),
    (CALL, GRADIENT.replace("    x.req", "    x = x + 1\n    x.req")),
    (CALL, GRADIENT.replace("\n\n\nrun", "\n\n\nrun.__name__\nrun")),
    (CAPTURE, NONZERO.replace("x.nonzero() + 1", "x[x > 0].sum()")),
    (CAPTURE, NONZERO.replace("@torch.compile\n", "@torch.compile(fullgraph=True)\n") + "print(1)\n"),
    (WHOLE, TWICE),
    (WHOLE, NONZERO.replace("return", "print(x)\n    return")),
    (WHOLE, NONZERO.replace("compile", "compile(**{})")),
    (WHOLE, CALLED.replace("backend='eager'", "fullgraph=False")),
    (
        SYMBOLIC,
        COUNTER.replace("    def forward", "    @torch._dynamo.patch_dynamo_config(verbose=True)\n    def forward"),
    ),
    (SYMBOLIC, COUNTER.replace("self.n = 0", "self.n = 0.5")),
    (
        SYMBOLIC,
        COUNTER.replace("        self.n += 1\n", "        def step():\n            self.n += 1\n\n        step()\n"),
    ),
]


@pytest.mark.parametrize(("title", "code", "changes"), [(title, code, changes) for title, code, *changes in LOUD])
def test_it_writes_what_one_would(
    project: ProjectOnDisk, title: str, code: str, changes: list[tuple[str, str]]
) -> None:
    before = after = IMPORTS + code
    for old, new in changes:
        assert old in after
        after = after.replace(old, new, 1)
    assert fixed(project, before, title) == after
    assert fixed(project, after, title) == after


@pytest.mark.parametrize(("title", "code"), SILENT)
def test_it_keeps_silent(project: ProjectOnDisk, title: str, code: str) -> None:
    assert fixed(project, IMPORTS + code, title) == IMPORTS + code


BUFFER = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Buffer(torch.ones(3), persistent=False)

    def forward(self, x):
        x = x * self.table.sum()
        self.table = self.table.to(dtype=x.dtype)
        if x.shape[0] > 1:
            x = x + self.table[0]
        return x + self.table


net = Net()
"""
LOCAL = (
    ("self.table = self.table.to", "table = self.table.to"),
    ("self.table[0]", "table[0]"),
    ("x + self.table\n", "x + table\n"),
)
OTHER = "    def other(self):\n        return self.table\n\n    def forward"
BUFFERS = [
    (BUFFER, LOCAL),
    (
        BUFFER.replace("(self, x)", "(self, x, table=0)"),
        [(old, new.replace("table", "local_table", 1)) for old, new in LOCAL],
    ),
    (BUFFER.replace("    def forward", OTHER), LOCAL),
    (BUFFER.replace("    def forward", OTHER).replace("x * self.table.sum()", "x * self.other()"), ()),
    (BUFFER.replace("return x + self.table", "self.table[0] = 2\n        return x + self.table"), ()),
    (BUFFER.replace("return x + self.table", "return x + self.table.add_(1)"), ()),
    (
        BUFFER.replace(
            "        self.table = self.table.to", "        for _ in x:\n            self.table = self.table.to"
        ),
        (),
    ),
    (BUFFER.replace("self.table = self.table.to", "self.table = self.other.to"), ()),
]


@pytest.mark.parametrize(("code", "changes"), BUFFERS)
def test_a_buffer_that_is_bound_anew(project: ProjectOnDisk, code: str, changes: list[tuple[str, str]]) -> None:
    """No finding foresees the break, so that its line is given."""
    text = after = IMPORTS + code
    project.write({"net.py": text})
    module = Project(project.root, None).load(str(project.root / "net.py"))
    assert module is not None
    number, row = next((at, row) for at, row in enumerate(text.splitlines(), 1) if "dtype=x.dtype" in row)
    span = (number, len(row) - len(row.lstrip()), number, len(row))
    found = suggest(["local_buffer"], module.settled(), span, "net.py")
    for old, new in changes:
        assert old in after
        after = after.replace(old, new, 1)
    assert edited(text.encode(), [edit for fix in found for edit in fix.edits]).decode() == after


CLAMP = """
@torch.compile
def run(x, y):
    if x.dtype == torch.float32 and (torch.isinf(x).any() or torch.isnan(x).any()):
        top = torch.finfo(x.dtype).max - 1000
        x = torch.clamp(x, min=-top, max=top)
    return x * y
"""
SIZES = """
@torch.compile
def run(x, r: torch.Tensor):
    one = nn.functional.one_hot(x.argmax(-1)).float() @ x
    return x.repeat_interleave(r, dim=0) + x + one + x.repeat_interleave(torch.tensor([1, 0, 2]), dim=0)
"""
FORCED = FLAGGED.replace("not skip:", "not skip or synced:").replace("(self, x)", "(self, x, synced=False)")
MODULES = [
    (MASK, LAYERS),
    (MASK, LAYERS.replace(SKIPPED, NESTED)),
    (MASK, FLAGGED),
    (MASK, FORCED),
    (MASK, COLLECTING),
    (EVERY, EXPERTS),
]


def ran(text: str, name: str, modes: tuple[bool, ...], *inputs: Tensor) -> tuple[list[Any], int]:
    """What the program's compiled object gives, before and after compiling, and the number of graphs."""
    import torch

    graphs = 0

    def backend(graph: Any, _: Any) -> Any:
        nonlocal graphs
        graphs += 1
        return graph.forward

    torch._dynamo.reset()
    torch.manual_seed(0)
    names: dict[str, Any] = {"__name__": "net"}
    exec(text.replace("torch.compile(", "(").replace("@torch.compile\n", ""), names)
    made, results = names[name], []
    for mode in modes:
        if isinstance(made, torch.nn.Module):
            made.train(mode)
        for seed in range(4):
            torch.manual_seed(seed)
            results.append(torch.compile(made, backend=backend)(*inputs))
    return results, graphs


def eager(text: str, name: str, modes: tuple[bool, ...], *inputs: Tensor) -> list[Any]:
    import torch

    with torch.compiler.set_stance("force_eager"):
        return ran(text, name, modes, *inputs)[0]


@pytest.mark.torch
@pytest.mark.parametrize(("title", "code"), MODULES)
def test_layers_and_experts_that_always_run(project: ProjectOnDisk, title: str, code: str) -> None:
    import torch

    name = "experts" if title == EVERY else "net"
    inputs: tuple[Tensor, ...] = (torch.linspace(-1, 1, 15).view(5, 3),)
    if title == EVERY:
        inputs = (
            *inputs,
            torch.tensor([[0, 2], [0, 3], [2, 0], [3, 2], [0, 2]]),
            torch.linspace(0.5, 1, 10).view(5, 2),
        )
    modes = (True, False)
    after = fixed(project, IMPORTS + code, title)
    assert after != IMPORTS + code
    results, graphs = ran(after, name, modes, *inputs)
    torch.testing.assert_close(results, eager(IMPORTS + code, name, modes, *inputs))
    assert graphs == (1 if title == EVERY else len(modes)), "one for training, one for evaluation if they differ"


@pytest.mark.torch
@pytest.mark.parametrize("code", [CLAMP, SIZES])
def test_tensors_whose_values_are_not_read(project: ProjectOnDisk, code: str) -> None:
    import torch

    inputs = (torch.tensor([[1.0, 2.0, 3.0], [0.5, float("inf"), 1.0], [1.0, 2.0, 9.0]]), torch.tensor([1, 1, 1]))
    after = IMPORTS + code
    for title in ("select with", "pass `num_classes`", "pass `output_size`"):
        after = fixed(project, after, title)
    results, graphs = ran(after, "run", (False,), *inputs)
    torch.testing.assert_close(results, eager(IMPORTS + code, "run", (False,), *inputs), equal_nan=True)
    assert graphs == 1
