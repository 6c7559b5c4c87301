"""Suggested edits: applied to the source they give the code one would write."""

from __future__ import annotations

import pytest
from fixing import body, fixed
from msgspec.structs import replace
from project_on_disk import ProjectOnDisk

from fullgraph.lint.apply import Contents, fix_all
from fullgraph.lint.findings import CheckReport, Edit, Finding, Fix

HEAD = "import logging\nimport torch\nlog = logging.getLogger()\n\n@torch.compile\ndef run(x):\n"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('    print("é", x)  # done\n', '    if not torch.compiler.is_compiling():\n        print("é", x)  # done\n'),
        (
            "    if x.shape[0] > 1:\n        log.info(\n            'big %s',\n            x.shape,\n        )\n",
            "    if x.shape[0] > 1:\n        if not torch.compiler.is_compiling():\n            log.info(\n"
            "                'big %s',\n                x.shape,\n            )\n",
        ),
        ("    if x.shape[0] > 1: print(x)\n", "    if x.shape[0] > 1: print(x)\n"),
        ("    x = x + 1; print(x)\n", "    x = x + 1; print(x)\n"),
        ("    y = [print(v) for v in x]\n", "    y = [print(v) for v in x]\n"),
    ],
    ids=["comment kept", "call over lines", "one-line if left alone", "shared line left alone", "no statement"],
)
def test_logging_is_guarded(project: ProjectOnDisk, before: str, after: str) -> None:
    tail = "    return x * 2\n"
    assert fixed(project, HEAD + before + tail) == HEAD + after + tail


def test_compile_moves_inside_ddp(project: ProjectOnDisk) -> None:
    before = (
        "import torch\nfrom torch.nn.parallel import DistributedDataParallel as DDP\n\n"
        "net = torch.compile(DDP(torch.nn.Linear(2, 2), device_ids=[0]), mode='max-autotune')  # trained below\n"
    )
    after = before.replace(
        "torch.compile(DDP(torch.nn.Linear(2, 2), device_ids=[0]), mode='max-autotune')",
        "DDP(torch.compile(torch.nn.Linear(2, 2), mode='max-autotune'), device_ids=[0])",
    )
    assert fixed(project, before) == after


def test_suppress_errors_is_switched_off(project: ProjectOnDisk) -> None:
    before = "import torch\n\nif True:\n    torch._dynamo.config.suppress_errors = True\n"
    assert fixed(project, before) == before.replace("errors = True", "errors = False")


LOUD = {
    "both return": (
        "if x.sum() > 0:\n    return x.relu()\nelse:\n    return x",
        "return torch.where(x.sum() > 0, x.relu(), x)",
    ),
    "early return": (
        "# why\nif (x < 0).any():\n    return -x  \nreturn x * 2",
        "# why\nreturn torch.where((x < 0).any(), -x, x * 2)",
    ),
    "no else": (
        "if not torch.isfinite(x).all():\n    x = torch.nan_to_num(x)\nreturn x + y",
        "x = torch.where(torch.isfinite(x).all(), x, torch.nan_to_num(x))\nreturn x + y",
    ),
    "clamped": (
        "h = x * y\nif h.dtype == torch.float32 and not torch.isfinite(h).all():\n"
        "    bound = torch.finfo(h.dtype).max - 1000\n    h = torch.clamp(h, min=-bound, max=bound)\nreturn h",
        "h = x * y\nif h.dtype == torch.float32:\n    bound = torch.finfo(h.dtype).max - 1000\n"
        "    h = torch.where(torch.isfinite(h).all(), h, torch.clamp(h, min=-bound, max=bound))\nreturn h",
    ),
    "nan or inf": (
        "# big\nif torch.isinf(x).any() or torch.isnan(x).any():\n    top = 1e4\n    x = x.clamp(-top, top)\nreturn x",
        "# big\ntop = 1e4\nx = torch.where((torch.isinf(x).any()) | (torch.isnan(x).any()), x.clamp(-top, top), x)\n"
        "return x",
    ),
    "both assign": (
        "if x.max() > y.max():\n    z = x + y\nelse:\n    z = y - x\nreturn z",
        "z = torch.where(x.max() > y.max(), x + y, y - x)\nreturn z",
    ),
    "expression": (
        "z = x * 2\nw = z if torch.any(x > 1) else x\nreturn w + 1",
        "z = x * 2\nw = torch.where(torch.any(x > 1), z, x)\nreturn w + 1",
    ),
    "f-string": (
        'assert (x > 0).all(), f"{{x}}: {x.shape!r:>9}"  # why\nreturn x',
        'if torch.compiler.is_compiling():\n    assert (x > 0).all(), "{x}: {x.shape!r:>9}"\n'
        'else:\n    assert (x > 0).all(), f"{{x}}: {x.shape!r:>9}"  # why\nreturn x',
    ),
    "percent": (
        "assert x.min() > 0, '%s' % x.shape\nreturn x",
        "if torch.compiler.is_compiling():\n    assert x.min() > 0, '%s'\n"
        "else:\n    assert x.min() > 0, '%s' % x.shape\nreturn x",
    ),
    "not any": (
        "assert not (x < 0).any(), 'no'\nreturn x",
        "assert (~(x < 0)).all(), 'no'\nreturn x",
    ),
    "deep copy": ("z = copy.deepcopy(x)\nreturn z + y", "z = x.clone()\nreturn z + y"),
    "deep copy of a sum": ("z = copy.deepcopy(x + y)\nreturn z", "z = (x + y).clone()\nreturn z"),
    "item kept in a name": (
        "s = x.sum().item()  # read\nreturn y * s + (x - s)",
        "s = x.sum().detach()  # read\nreturn y * s + (x - s)",
    ),
    "item in place": ("return y / x.mean().item()", "return y / x.mean().detach()"),
    "masked sum": ("return x[x > 0].sum() + y", "return torch.where(x > 0, x, 0).sum() + y"),
    "masked mean": (
        "mask = torch.isfinite(x)\nreturn y * x[mask].mean()",
        "mask = torch.isfinite(x)\nreturn y * (torch.where(mask, x, 0).sum() / mask.sum())",
    ),
    "masked_select": ("return x.masked_select(x > 0).sum()", "return torch.where(x > 0, x, 0).sum()"),
    "gradient": (
        "z = x.detach()\nz.requires_grad = True\nreturn (z * y).sum().detach()",
        "z = x.detach()\nz.requires_grad_()\nreturn (z * y).sum().detach()",
    ),
}
SILENT = {
    "other shapes": "if x.sum() > 0:\n    return x\nreturn y",
    "a reduction against a tensor": "if x.sum() > 0:\n    return x.sum()\nreturn x",
    "a method nobody knows": "if x.sum() > 0:\n    return x.frobnicate()\nreturn x",
    "in-place arithmetic": "if x.sum() > 0:\n    return x.mul_(2)\nreturn x",
    "a random way": "if x.sum() > 0:\n    return torch.rand_like(x)\nreturn x",
    "a bool way": "if x.sum() > 0:\n    return x > 0\nreturn x",
    "an elif": "if x.dim() == 2:\n    return x\nelif x.sum() > 0:\n    return x * 2\nelse:\n    return x",
    "a name of one way only": "if y.dim() == 2:\n    z = x * 2\nif x.sum() > 0:\n    x = z\nreturn x",
    "an alias changed later": "z = x\nif x.sum() > 0:\n    z = x * 2\nz.add_(1)\nreturn z",
    "a view changed later": "z = x\nif x.sum() > 0:\n    z = x * 2\nz.view(-1).add_(1)\nreturn z",
    "an argument changed on the way out": "try:\n    return x * 2 if x.sum() > 0 else x\nfinally:\n    x.add_(1)",
    "part of a test": "if x.sum() > 0 and y is not None:\n    return x * 2\nreturn x",
    "numbers": "n = 2 if x.sum() > 0 else 3\nreturn x[:n]",
    "a walrus": "if (s := x.sum()) > 0:\n    return x * 2\nreturn x * s",
    "a bound used elsewhere": "if x.sum() > 0:\n    n = 2\n    x = x * n\nelse:\n    n = 3\nreturn x * n",
    "or": "if x.dim() == 2 or x.sum() > 0:\n    x = x * 2\nreturn x",
    "a joined message": "assert (x > 0).all(), 'a' + str(x.shape)\nreturn x",
    "a quote in a gap": "assert (x > 0).all(), f'{x.shape[\"a\"]}'\nreturn x",
    "not of an int tensor": "assert not x.any(), 'no'\nreturn x",
    "a shallow copy": "z = copy.copy(x)\nreturn z + y",
    "a copied module": "z = copy.deepcopy(torch.nn.Linear(2, 2))\nreturn z(x)",
    "a number that leaves": "s = x.sum().item()\nreturn y * s, s",
    "a number compared": "s = x.sum().item()\nreturn y * s if s > 0 else y",
    "a number bound twice": "s = x.sum().item()\ny = y * s\ns = 2\nreturn y * s",
    "an element": "return y * x[0].item()",
    "a closure": "s = x.sum().item()\nf = lambda: s\nreturn y * f()",
    "another mask": "mask = x * y > 0\nreturn x[mask].sum()",
    "rows": "return x[x.sum(1) > 0].sum()",
    "the largest": "return x[x > 0].max()",
    "over a dimension": "return x[x > 0].sum(0)",
    "a gradient that leaves": "z = x.detach()\nz.requires_grad = True\nreturn (z * y).sum()",
    "a gradient of an argument": "x.requires_grad = True\nreturn x.detach()",
    "a gradient switched off": "z = x.detach()\nz.requires_grad = False\nreturn z.detach()",
}


@pytest.mark.parametrize("name", LOUD)
def test_tensors_stay_in_the_graph(project: ProjectOnDisk, name: str) -> None:
    before, after = LOUD[name]
    assert fixed(project, body(before)) == body(after)
    assert fixed(project, body(after)) == body(after)


@pytest.mark.parametrize("name", SILENT)
def test_what_may_not_be_moved_is_left_alone(project: ProjectOnDisk, name: str) -> None:
    assert fixed(project, body(SILENT[name])) == body(SILENT[name])
    assert project.check().findings, "a case without a finding proves nothing"


def report_with(project: ProjectOnDisk, *texts: str) -> CheckReport:
    """Findings for the prints in two functions, each with a fix that puts one of the texts there."""
    project.write({"net.py": "import torch\n" + "".join(PRINTING.format(name=name) for name in "fg")})
    report = project.check()
    fixes = [
        (Fix("", "safe", (Edit("net.py", (finding.span.line, 4), (finding.span.line, 12), text),)),)
        for finding, text in zip(report.findings, texts, strict=True)
    ]
    rows = zip(report.findings, fixes, strict=True)
    return replace(report, findings=tuple(replace(finding, fixes=fix) for finding, fix in rows))


PRINTING = "\n@torch.compile\ndef {name}(x):\n    print(x)\n    return x\n"


@pytest.mark.parametrize("bad", ["print(x", "log.info(x)"], ids=["does not parse", "does not help"])
def test_a_bad_fix_is_taken_back_and_the_others_stay(project: ProjectOnDisk, bad: str) -> None:
    first = report_with(project, "pass", bad)

    def check(contents: Contents) -> CheckReport:
        left = [finding for finding in first.findings if b"pass" not in contents["net.py"] or finding.function == "g"]
        return replace(first, findings=tuple(left))

    outcome = fix_all(first, check, lambda finding: finding.fixes)
    ((path, before, after),) = outcome.changed
    assert (path, after) == ("net.py", before.replace(b"print(x)", b"pass", 1))
    assert (outcome.fixed, outcome.refused) == (1, (("net.py", "FG301", "g"),))


def test_fixes_that_meet_take_turns_and_one_edit_in_two_is_made_once(project: ProjectOnDisk) -> None:
    first = report_with(project, "pass", "pass")
    top = Edit("net.py", (1, 0), (1, 0), "import os\n")
    both = [replace(finding, fixes=(Fix("", "safe", (top, *finding.fixes[0].edits)),)) for finding in first.findings]
    seen: list[bytes] = []

    def rival(line: int) -> Finding:
        fix = Fix("", "safe", (Edit("net.py", (line, 4), (line, 8), "None;pass"),))
        return replace(both[1], fixes=(fix,), function="h")

    def check(contents: Contents) -> CheckReport:
        seen.append(contents["net.py"])
        return replace(first, findings=(rival(6),) if len(seen) == 1 else ())

    outcome = fix_all(replace(first, findings=(*both, rival(5))), check, lambda finding: finding.fixes)
    assert (seen[0].count(b"import os"), seen[0].count(b"    pass"), seen[0].count(b"None")) == (1, 2, 0)
    assert (outcome.fixed, outcome.changed[0][2].count(b"    None;pass\n    return")) == (3, 1)
