"""What each fix writes, and where it keeps silent: `title → (before, after)`, bodies of a compiled function."""

from __future__ import annotations

import pytest
from fixing import body, fixed
from project_on_disk import ProjectOnDisk

CHECK, COND, LOOP = "check with", "branch in", "loop in"
VECTOR = "index by a vector"
KEEP, ELEMENTS, CLOSE, UNUSED = "keep the value as", "keep the values", "compare with", "leave out what"
CLASSES, ROWS = "pass `num_classes`", "pass `output_size`"
HOT = "torch.nn.functional.one_hot"
COMPILING = "if torch.compiler.is_compiling():\n    "
LOUD = [
    (
        CHECK,
        'if (x < 0).any():\n    raise ValueError("no")',
        f'{COMPILING}torch._assert_async(~(x < 0).any(), "no")\nelif (x < 0).any():\n    raise ValueError("no")',
    ),
    (
        CHECK,
        'if y is not None and not torch.isfinite(x).all():\n    raise ArithmeticError(f"{y}")',
        f'{COMPILING}if y is not None:\n        torch._assert_async(torch.isfinite(x).all(), "{{y}}")\n'
        'elif y is not None and not torch.isfinite(x).all():\n    raise ArithmeticError(f"{y}")',
    ),
    (
        CHECK,
        "if x.min() < 0 or torch.isnan(x).any():  # fine\n    raise RuntimeError",
        "if x.min() < 0 or torch.isnan(x).any():  # fine\n    raise RuntimeError",
    ),
    (
        CHECK,
        "if x.min() < 0 or torch.isnan(x).any():\n    raise RuntimeError",
        f"{COMPILING}torch._assert_async(~((x.min() < 0) | (torch.isnan(x).any())))\n"
        "elif x.min() < 0 or torch.isnan(x).any():\n    raise RuntimeError",
    ),
    (
        CHECK,
        "if x.max() > 5:\n    raise ValueError(\n        'a'\n        'b'\n    )",
        f"{COMPILING}torch._assert_async(~(x.max() > 5), 'a'\n        'b')\n"
        "elif x.max() > 5:\n    raise ValueError(\n        'a'\n        'b'\n    )",
    ),
    (
        CHECK,
        "if x.max().item() > 5:\n    raise IndexError()",
        f"{COMPILING}torch._assert_async(~(x.max() > 5))\nelif x.max().item() > 5:\n    raise IndexError()",
    ),
    (
        CHECK,
        "if not torch.allclose(x, y):\n    raise ValueError('differ')",
        f"{COMPILING}torch._assert_async(torch.isclose(x, y).all(), 'differ')\n"
        "elif not torch.allclose(x, y):\n    raise ValueError('differ')",
    ),
    (
        COND,
        "if x.sum() > 0:\n    x = torch.softmax(x, -1)",
        "x = torch.cond(x.sum() > 0, lambda x: torch.softmax(x, -1), lambda x: x.clone(), (x,))",
    ),
    (
        COND,
        "# a\nif x.sum() > 0:  # b\n    # c\n    z = x @ y\n    w = z * 2  # d\n# e\nelse:  # f\n    w = y\nx = w",
        "# a\ndef when_true(x, y):  # b\n    # c\n    z = x @ y\n    w = z * 2  # d\n    return w\n# e\n"
        "def when_false(x, y):  # f\n    w = y\n    return w.clone()\n"
        "w = torch.cond(x.sum() > 0, when_true, when_false, (x, y))\nx = w",
    ),
    (
        LOOP,
        "while x.sum() < 10:\n    x = x * 2",
        "x, = torch._higher_order_ops.while_loop(lambda x: x.sum() < 10, lambda x: (x * 2,), (x,))",
    ),
    (
        LOOP,
        "w = x * 2\nwhile (x < 1).any():\n    x = x * y\n    w = w + y",
        "w = x * 2\nw, x = torch._higher_order_ops.while_loop("
        "lambda w, x: (x < 1).any(), lambda w, x: (w + y, x * y), (w, x))",
    ),
    (
        "guard with",
        "z = x[:, None]\nz.requires_grad = True  # a\nz = z * y\nx = z",
        "z = x[:, None]\nif not torch.compiler.is_compiling():\n    z.requires_grad = True  # a\nz = z * y\nx = z",
    ),
    (
        "guard with",
        "z = x * 2\nif y is not None:\n    # b\n    z.requires_grad = True\nfor _ in range(2):\n    z = z * y\nx = z",
        "z = x * 2\nif y is not None:\n    # b\n    if not torch.compiler.is_compiling():\n"
        "        z.requires_grad = True\nfor _ in range(2):\n    z = z * y\nx = z",
    ),
    (KEEP, "s = float(x.sum())\nx = x * (2 * s)", "s = x.sum().detach().double()\nx = x * (2 * s)"),
    (KEEP, "x = y * (2 * x.sum().item())", "x = y * (2 * x.sum().detach().double())"),
    (
        KEEP,
        "n = 0\nfor row in x:\n    n += row.max().item()\nreturn n",
        "n = 0\nfor row in x:\n    n += row.max().detach()\nreturn n",
    ),
    ("assert on", "assert x.max().item() <= 5, 'big'", "assert x.max() <= 5, 'big'"),
    ("assert on", "assert float(x.max()) <= 0.1", "assert x.max().double() <= 0.1"),
    ("assert on", "assert -0.5 < x.max().item()", "assert -0.5 < x.max()"),
    (ELEMENTS, "a, b = y.tolist()\nx = x + a * b", "a, b = y.detach().double().unbind()\nx = x + a * b"),
    (ELEMENTS, "v = x.tolist()\nx = x * v[0] - v[1]", "v = x.detach().unbind()\nx = x * v[0] - v[1]"),
    (CLOSE, "return torch.allclose(x, y, atol=1)", "return torch.isclose(x, y, atol=1).all()"),
    (CLOSE, 'assert torch.allclose(x, y), "no"', 'assert torch.isclose(x, y).all(), "no"'),
    (
        "select with",
        "if torch.rand(()) < 0.5:\n    x = x * 2",
        "x = torch.where(torch.rand(()) < 0.5, x * 2, x)",
    ),
    (
        "pass the",
        'kw = {"from": -1, "to": 1}\nx = x.clone().uniform_(**kw)',
        'kw = {"from": -1, "to": 1}\nx = x.clone().uniform_(-1, 1)',
    ),
    ("copy from", "x.random_(1, 5)", "x.copy_(torch.randint(1, 5, x.shape, device=x.device))"),
    ("copy from", "x.random_(5)", "x.copy_(torch.randint(0, 5, x.shape, device=x.device))"),
    (UNUSED, "import time\nt = time.time()", "import time"),
    (UNUSED, "import time\nx = x + 1\nt = time.perf_counter_ns()\nx = x + 1", "import time\nx = x + 1\nx = x + 1"),
    (VECTOR, "z = x[x.argmax()]\nx = x * z", "z = x[x.argmax()[None]][0]\nx = x * z"),
    (VECTOR, "i = x.argmin()\nreturn x[i] * 2 + x", "i = x.argmin()\nreturn x[i[None]][0] * 2 + x"),
    (VECTOR, "z = x.clone()\nz[x.argmax()] = 0\nx = z", "z = x.clone()\nz[x.argmax()[None]] = 0\nx = z"),
    (
        "assert what",
        "assert x.sum() > 0, (1,\n    2)",
        f"{COMPILING}assert x.sum() > 0, '(1, 2)'\nelse:\n    assert x.sum() > 0, (1,\n        2)",
    ),
    (
        "assert what",
        "# why\nassert x.sum() > 0, ['not', 1]  # so",
        f"# why\n{COMPILING}assert x.sum() > 0, \"['not', 1]\"\nelse:\n    assert x.sum() > 0, ['not', 1]  # so",
    ),
    (CLASSES, f"return {HOT}(x.argmax(-1))", f"return {HOT}(x.argmax(-1), num_classes=x.shape[-1])"),
    (
        CLASSES,
        f"i = x.argmax(-1)\nreturn {HOT}(i) * 2",
        f"i = x.argmax(-1)\nreturn {HOT}(i, num_classes=x.shape[-1]) * 2",
    ),
    (CLASSES, f"x = {HOT}(y).float() @ x", f"x = {HOT}(y, num_classes=x.shape[0]).float() @ x"),
    (CLASSES, f"x = x * {HOT}(y)", f"x = x * {HOT}(y, num_classes=x.shape[-1])"),
    (CLASSES, f"x = {HOT}(y)", f"x = {HOT}(y, num_classes=...)"),
    (ROWS, "x = y.repeat_interleave(x, dim=0) + y", "x = y.repeat_interleave(x, dim=0, output_size=y.shape[0]) + y"),
    (
        ROWS,
        "r = torch.tensor([1, 0, 2])\nx = torch.repeat_interleave(y, r)",
        "r = torch.tensor([1, 0, 2])\nx = torch.repeat_interleave(y, r, output_size=3)",
    ),
    (
        ROWS,
        "x = x.repeat_interleave(torch.full((x.shape[0],), 2), dim=0)",
        "x = x.repeat_interleave(torch.full((x.shape[0],), 2), dim=0, output_size=x.shape[0] * 2)",
    ),
    (
        "select with",
        "if x.dtype == torch.float32 and torch.isinf(x).any():\n    # why\n    top = 1e4\n    x = x.clamp(-top, top)",
        "if x.dtype == torch.float32:\n    # why\n    top = 1e4\n"
        "    x = torch.where(torch.isinf(x).any(), x.clamp(-top, top), x)",
    ),
]
SILENT = [
    (CHECK, "try:\n    if (x < 0).any():\n        raise ValueError('no')\nfinally:\n    pass"),
    (CHECK, "if (x < 0).any():\n    raise StopIteration"),
    (CHECK, "if (x < 0).any():\n    raise ValueError('no', x)"),
    (CHECK, "if (x < 0).any():\n    raise ValueError(str(x.shape))"),
    (CHECK, "if (x < 0).any():\n    x = x + 1\n    raise ValueError('no')"),
    (CHECK, "if (x < 0).any():\n    raise ValueError('no')\nelse:\n    x = x + 1"),
    (CHECK, "if x.dim() == 1:\n    x = x + 1\nelif (x < 0).any():\n    raise ValueError('no')"),
    (CHECK, "if (x < 0).any() and y is not None:\n    raise ValueError('no')"),
    (CHECK, "if y is None or (x < 0).any():\n    raise ValueError('no')"),
    (CHECK, "if (s := x.sum()) > 0:\n    raise ValueError('no')\nx = x * s"),
    (CHECK, "if not torch.equal(x, y):\n    raise ValueError('no')"),
    (COND, "if x.sum() > 0:\n    x = y"),
    (COND, "if x.sum() > 0:\n    x += torch.softmax(y, 0)"),
    (COND, "if x.sum() > 0:\n    x[0] = 1"),
    (COND, "if x.sum() > 0:\n    y.append(x)"),
    (COND, "if x.sum() > 0:\n    z = y.pop()\n    x = x * z"),
    (COND, "if x.sum() > 0:\n    x = torch.dropout(x, 0.5, True)"),
    (COND, "if x.sum() > 0:\n    x = None\nelse:\n    x = y"),
    (COND, "if x.sum() > 0:\n    x = x > 0\nelse:\n    x = x * 2"),
    (COND, "if x.sum() > 0:\n    x = x.sum()\nelse:\n    x = x * 2"),
    (COND, "if x.sum() > 0:\n    x = (z := torch.softmax(x, 0)) * 2\nelse:\n    x = x * 2"),
    (COND, "if x.sum() > 0:\n    x = torch.softmax(x, 0)\nx.add_(1)"),
    (COND, "if x.sum() > 0:\n    z = torch.softmax(x, 0)\nx = z"),
    (COND, "if x.sum() > 0:\n    z, w = x, y\nelse:\n    z, w = y, x\nx = z"),
    (COND, "if x.sum() > 0:\n    z = lambda: x\nelse:\n    z = lambda: y\nx = z()"),
    (COND, "n = 1\nif x.sum() > 0:\n    n = n + 1\nx = x * n"),
    (COND, "if x.sum() > 0:\n    yield torch.softmax(x, 0)\nx = x * 2"),
    (COND, "global copy\nif x.sum() > 0:\n    copy = torch.softmax(x, 0)\nelse:\n    copy = x * 2"),
    (COND, "if x.sum() > 0 and y is not None:\n    x = torch.softmax(x, 0)"),
    (COND, "if x.sum() > 0:\n    x = torch.add(x, 1, out=y)"),
    (COND, "try:\n    if x.sum() > 0:\n        return x * 2\n    z = x @ y\n    return z\nfinally:\n    print(z)"),
    (LOOP, "while x.sum() < 10:\n    x = x * 2\n    print(x)"),
    (LOOP, "n = 0\nwhile x.sum() < 10:\n    x = x * 2\n    n = n + 1"),
    (LOOP, "while x.sum() < 10:\n    x = x * 2\n    x = x + 1"),
    (LOOP, "while x.sum() < 10:\n    x = x * 2\n    if y is None:\n        break"),
    (LOOP, "while x.sum() < 10:\n    x.mul_(2)"),
    (LOOP, "w = x * 2\nwhile x.sum() < 10:\n    w = w * 2\n    x = x * w"),
    (KEEP, "n = 0\nfor row in x:\n    n += row.max().item()\nx = x[:n]"),
    (KEEP, "s = x.sum().item()\nx = x * [s][0]"),
    (KEEP, "s = int(x.sum())\nx = x * s"),
    ("guard with", "torch = None\nprint(x)"),
    ("guard with", "x.requires_grad = True\nx = x * y"),
    ("guard with", "z = x * y\nz.requires_grad = True\nx = z * 2"),
    ("guard with", "z = x * y\nz.requires_grad = True\nw = z * 2\nx = torch.autograd.grad(w.sum(), z)[0]\nz = w"),
    ("guard with", "z = x * y\nz.requires_grad = x.is_leaf\nz = z * 2"),
    (CHECK, "torch = y\nif (x < 0).any():\n    raise ValueError(torch)"),
    (KEEP, "s = x.sum().item()\ndef f():\n    nonlocal s\nx = x * s"),
    ("assert on", "assert not x.max().item() > 5"),
    ("assert on", "assert x.max().item() <= 5, f'{x}'"),
    ("assert on", "assert x.max().item() in (1, 2)"),
    (ELEMENTS, "v = x.tolist()\nx = x * len(v)"),
    (ELEMENTS, "v = x.tolist()\nx = x * v[0]\nreturn x, v"),
    (ELEMENTS, "for v in x.tolist():\n    x = x + v"),
    (ELEMENTS, "a, *b = x.tolist()\nx = x + a"),
    (CLOSE, "return torch.equal(x, y)"),
    (CLOSE, "n = torch.allclose(x, y)\nreturn [1, 2][n]"),
    (CLOSE, "if torch.allclose(x, y):\n    x = x + 1"),
    ("select with", "if torch.rand(3) < 0.5:\n    x = x * 2"),
    ("select with", "if torch.rand(()) < 0.5:\n    x = torch.rand_like(x)"),
    ("pass the", 'kw = {"from": -1, "to": 1}\nkw["to"] = 2\nx = x.clone().uniform_(**kw)'),
    ("pass the", 'kw = {"from": y.shape[0]}\nx = x.clone().uniform_(**kw)'),
    ("pass the", 'kw = {"from": 0, "generator": None}\nx = x.clone().uniform_(**kw)'),
    ("copy from", "x = x.random_(1, 5)"),
    ("copy from", "x.random_()"),
    ("copy from", "x.random_(1, 5, generator=None)"),
    (UNUSED, "import time\nt = time.time()\nx = x * t"),
    (UNUSED, "import time\nt = time.time()\nx = x * locals()['t']"),
    (UNUSED, "import time\nt = time.time()  # why"),
    (UNUSED, "import time\nt = time.time()\nf = lambda: t"),
    (VECTOR, "z = x[x.argmax()]\nx.add_(1)\nx = x * z"),
    (VECTOR, "z = x[x.argmax()]\nz += 1"),
    (VECTOR, "x[x.argmax()].mul_(2)"),
    (VECTOR, "z = x.clone()\nz[x.argmax()] += 1\nx = z"),
    (VECTOR, "z = x[x.argmax(), 0]\nx = x * z"),
    (CLASSES, f"hot = {HOT}\nx = hot(y)"),
    (CLASSES, f"x = {HOT}(*[y])"),
    (CLASSES, f"x = {HOT}(tensor=y)"),
    (ROWS, "x = y.repeat_interleave(x, dim=0)"),
    (ROWS, "x = y.repeat_interleave(x) + y"),
    (ROWS, "r = torch.tensor([1, 2])\nr = r + 1\nx = torch.repeat_interleave(x, r)"),
    ("select with", "if torch.isinf(x).any():  # why\n    x = x.clamp(-1, 1)"),
    ("assert what", "assert x.sum() > 0, [x]"),
    ("assert what", "assert x.sum() > 0, ('a',\n        [x])"),
]


def whole(lines: str) -> str:
    return body(lines if lines.split("\n")[-1].startswith("return") else f"{lines}\nreturn x")


@pytest.mark.parametrize(("title", "before", "after"), LOUD)
def test_it_writes_what_one_would(project: ProjectOnDisk, title: str, before: str, after: str) -> None:
    assert fixed(project, whole(before), title) == whole(after)
    assert fixed(project, whole(after), title) == whole(after)


@pytest.mark.parametrize(("title", "lines"), SILENT)
def test_it_keeps_silent(project: ProjectOnDisk, title: str, lines: str) -> None:
    assert fixed(project, whole(lines), title) == whole(lines)
    assert project.check().findings, "a case without a finding proves nothing"
