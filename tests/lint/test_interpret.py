"""What the interpreter makes of values: bodies reported on the marked lines, bodies that stay silent; Dynamo agrees."""

from __future__ import annotations

import re
import textwrap
from pathlib import Path

import pytest
from broken_lines import broken_lines
from project_on_disk import ProjectOnDisk

HEADER = """\
import itertools, functools, math, operator, random
from dataclasses import dataclass
import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

"""

LOUD = {
    "while": """
        while x.sum() < 10:  # FG101
            x = x * 2
        return x
    """,
    "conditional expression": "return x if (x > 0).all() else -x  # FG101",
    "and in a condition": """
        if x.dim() == 1 and torch.isfinite(x).all():  # FG101
            return x
        return -x
    """,
    "not": """
        bad = not x.any()  # FG101
        return x, bad
    """,
    "comprehension condition": "return [v for v in x if v > 0]  # FG101",
    "any over a generator": "return any(v > 0 for v in x)  # FG101",
    "chained comparison": """
        if 0 < x.max() < 1:  # FG101
            return x
        return -x
    """,
    "match": """
        match x.sum():
            case 3:  # FG101
                return x
        return -x
    """,
    "through a local function": """
        def small(t):
            return t.abs().max() < 1
        if small(x):  # FG101
            return x
        return -x
    """,
    "through a lambda": """
        norm = lambda t: t.norm()
        return x / 2 if norm(x) > 1 else x  # FG101
    """,
    "through functools.partial": """
        scaled = functools.partial(torch.mul, other=2)
        return x if scaled(x).sum() > 1 else -x  # FG101
    """,
    "through a tuple": """
        low, high = x.min(), x.max()
        return x if high > low else -x  # FG101
    """,
    "through a dict": """
        stats = {"mean": x.mean(), "count": x.numel()}
        return x if stats["mean"] > 0 else -x  # FG101
    """,
    "through a list": """
        parts = []
        parts.append(x.mean())
        return x if parts[0] > 0 else -x  # FG101
    """,
    "through numpy": """
        a = x.numpy()
        return a if a.sum() > 0 else -a  # FG101
    """,
    "a mask kept in a variable": """
        keep = (x > 0) & ~x.isnan()
        return x[keep]  # FG204
    """,
    "a mask among other indices": "return x[None][0, x > 0]  # FG204",
    "a mask that an update reads": """
        y = x.clone()
        y[x > 0] += 1  # FG204
        return y
    """,
    "int of a tensor": "return x * int(x.sum())  # FG201",
    "a slice to a tensor": """
        n = x.sum().long()
        return x[:n]  # FG105
    """,
    "layerdrop": """
        if torch.rand(()) < 0.1:  # FG102
            return x
        return x * 2
    """,
    "total that starts as a number": """
        total = 0
        for v in (x, x * 2):
            total = total + v.sum()
        return x if total > 0 else -x  # FG101
    """,
    "either of two tensors": """
        y = x.relu() if x.dim() > 1 else x.tanh()
        return y if y.sum() > 0 else x  # FG101
    """,
}

SILENT = {
    "shapes": """
        if x.shape[0] > 2 and x.size(-1) % 2 == 0 and len(x) > 1:
            return x[: x.shape[0] // 2]
        return x
    """,
    "a size kept in a variable": """
        t, *rest = x.shape
        while t > 4:
            t = t // 2
        return x.view(-1) if len(rest) > 1 else x
    """,
    "dtype and device": """
        if x.dtype == torch.float16 or x.device.type == "cuda" or x.is_floating_point():
            x = x.float()
        return x
    """,
    "None": """
        y = None
        if y is None:
            y = x
        return y + 1 if y is not None else x
    """,
    "dead by is_compiling": """
        if not torch.compiler.is_compiling():
            print(x.sum().item())
        return x
    """,
    "what follows an early return": """
        if torch.compiler.is_compiling():
            return x + 1
        print(x)
        return x
    """,
    "dead by isinstance": """
        if isinstance(x, (list, tuple)):
            return [v.item() for v in x]
        return x + 1
    """,
    "dead by a constant": """
        verbose = False
        if verbose:
            print(x)
        return x
    """,
    "identity of tensors": "return x if x is x else -x",
    "where and cond": """
        y = torch.where(x > 0, x, -x)
        return torch.cond(x.sum() > 0, lambda t: t + 1, lambda t: t - 1, (y,))
    """,
    "max and min of tensors": "return max(x[0], x[1]) + min(x[0], 1)",
    "assert": """
        assert (x > -5).all(), "must be above -5"
        assert x.sum() > 0
        return x
    """,
    "a mask written through": """
        y = x.clone()
        y[x > 0] = 0
        return y
    """,
    "loops over a tensor and zip": """
        total = 0
        for i, (a, b) in enumerate(zip(x, x * 2)):
            total = total + a * b * i
        return total
    """,
    "text of constants": """
        name = "layer_%d" % x.dim() + "{}-{}".format(1, "a") + f"{x.shape[0]}"
        return x + len(name)
    """,
    "an f-string nobody uses": """
        message = f"mean is {x.mean()}"
        return x + 1
    """,
    "math on numbers": "return x * math.sqrt(x.shape[-1]) + math.floor(2.5)",
    "uniform and randint": "return x + random.uniform(0, 1) + random.randint(0, 3)",
    "optional arguments of a helper": """
        def attend(q, mask=None):
            if mask is not None:
                q = q.masked_fill(mask, 0)
            return q.softmax(-1)
        return attend(x) + attend(x, x > 0)
    """,
    "truth of containers": """
        parts = [x]
        if parts:
            x = parts[-1]
        cache = {}
        if not cache:
            cache["x"] = x
        return cache["x"]
    """,
    "an exception handler": """
        try:
            y = x.view(2, -1)
        except RuntimeError:
            print("odd")
            y = x
        return y
    """,
    "booleans that were counted": """
        where = (x > 0).cumsum(0) - 1
        return x[where]
    """,
    "what may be a tensor, times a number of numpy's": """
        y = operator.attrgetter("data")(x) * np.sqrt(2)
        return y.to(y.dtype)
    """,
    "integer index tensors": """
        order = x.argsort()
        return x[order] + x[torch.arange(4)]
    """,
}


def program(body: str) -> str:
    inner = textwrap.indent(textwrap.dedent(body).strip("\n"), "    ")
    return f"{HEADER}@torch.compile\ndef run(x: torch.Tensor):\n{inner}\n"


def found(project: ProjectOnDisk, body: str) -> list[tuple[int, str]]:
    project.write({"net.py": program(body)})
    return [(finding.span.line, finding.code) for finding in project.check().findings]


def marked(body: str) -> list[tuple[int, str]]:
    first = HEADER.count("\n") + 3
    rows = textwrap.dedent(body).strip("\n").splitlines()
    return [(first + i, code) for i, row in enumerate(rows) for code in re.findall(r"# (FG\d+)", row)]


@pytest.mark.parametrize("body", LOUD.values(), ids=LOUD.keys())
def test_reported(project: ProjectOnDisk, body: str) -> None:
    assert found(project, body) == marked(body)


@pytest.mark.parametrize("body", SILENT.values(), ids=SILENT.keys())
def test_silent(project: ProjectOnDisk, body: str) -> None:
    assert found(project, body) == []


@pytest.mark.torch
@pytest.mark.parametrize("body", [*LOUD.values(), *SILENT.values()], ids=[*LOUD.keys(), *SILENT.keys()])
def test_dynamo_agrees(tmp_path: Path, body: str) -> None:
    pytest.importorskip("torch")
    assert broken_lines(tmp_path, program(body)) == [line for line, _ in marked(body)]
