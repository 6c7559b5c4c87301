"""Reports for the page, made without torch: one with something of everything, a hostile and a large one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from fullgraph.jit.events import (
    BackendError,
    Break,
    BreakKind,
    Called,
    CallSite,
    CompileTime,
    Failure,
    Frame,
    Graph,
    Guard,
    GuardNode,
    Left,
    Lowered,
    Mismatch,
    Observation,
    Phase,
    Process,
    Recompile,
    Share,
    Stage,
    Status,
    Symbol,
)
from fullgraph.jit.verify import Basis, Judged, Stale, TargetReport
from fullgraph.lint.findings import Confidence, Effect, Finding, Fix, Severity, Span, Verdict

Read = Callable[[str], str]
HOSTILE = (
    "</script></style></pre><img src=x onerror=\"document.title='ran'\"><script>document.title='ran'</script>&lt;'"
)
FX = """class GraphModule(torch.nn.Module):
    def forward(self, arg0_1: "f32[8]"):
        # code: y = x.sin()
        sin: "f32[8]" = torch.ops.aten.sin.default(arg0_1);  arg0_1 = None
        return (sin,)
"""
MLIR = """#map = affine_map<(d0) -> (d0)>
module {
  func.func @main(%arg0: tensor<8xf32>) -> tensor<8xf32> {
    %cst = arith.constant 0.000000e+00 : f32  // zero
    return %arg0 : tensor<8xf32>
  }
}
"""


def finding(path: str, line: int, message: str = "`x.item()` reads a tensor's value") -> Finding:
    return Finding(
        code="FG201",
        rule="tensor-item",
        span=Span(path, line, 8, line, 16),
        function="f",
        message=message,
        advice="keep it a tensor",
        effect=Effect.GRAPH_BREAK,
        severity=Severity.WARNING,
        cause=None,
        confidence=Confidence.CERTAIN,
        modes=(),
        via=("Net.forward", "f"),
        fixes=(Fix("use `torch.where`", "unsafe", ()),),
    )


def broken(number: int, path: str, line: int) -> Break:
    stack = (CallSite(path, 1, "<module>"),)
    gb, root = "GB0124", f"{path}:{line}"
    return Break(
        number,
        BreakKind.GRAPH_BREAK,
        path,
        line,
        8,
        16,
        "f",
        "it reads `x`",
        gb,
        "Tensor.item()",
        root,
        gb,
        stack,
        ("no",),
    )


def frame(name: str, path: str, line: int, stack: tuple[CallSite, ...] = ()) -> Frame:
    guard = Guard("TENSOR_MATCH", f"check_tensor(x) of {name}", CallSite(path, line + 1, "f"))
    tree = GuardNode("L", "", (), (GuardNode("L['x']", "Tensor", (guard,), ()),))
    symbols = (Symbol("s0", "L['x'].size()[0]", "8"), Symbol("s1", "n", "2", "2", CallSite(path, line, "f")))
    phases = CompileTime(0.5, 0.25, 1.0, 0.01)
    return Frame(name, path, line, "f", 1, 3, 1.76, (guard.expression,), tree, symbols, phases, stack)


def whole(path: str = "net/model.py", text: str = "", target: str = "train.py") -> tuple[TargetReport, Read]:
    """Something of everything, told of a file of 80 lines; `text` goes into whatever can hold text."""
    lines = [f"value_{number} = f(x, {text!r})" for number in range(1, 81)]
    stack = (CallSite(target, 3, "<module>"), CallSite(path, 20, "main"))
    again = Recompile(
        "0/1",
        path,
        10,
        "f",
        (f"0/0: n == 2 {text}",),
        (CallSite(path, 11, "f"),),
        False,
        (Mismatch(f"n == 2 {text}", "2", "3"),),
    )
    observation = Observation(
        target,
        Status.FAILED,
        f"ValueError: no {text}",
        torch="2.13.0",
        breaks=(broken(1, path, 12), replace(broken(2, path, 40), reason=text, hints=(text,), count=3)),
        recompiles=(again, replace(again, frame="0/2", limit_hit=True, variation="batch")),
        frames=(frame("0/0", path, 10, stack), frame("0/1", path, 10, stack), frame("1/0", path, 14, stack)),
        graphs=(Graph("0/0", 3, 0.5, 1), Graph("0/1", 3, 0.5, 2)),
        failures=(Failure("Unsupported", path, 70, "f", f"cannot {text}"),),
        backend_errors=(BackendError("0/1", "inductor", "RuntimeError", f"bad {text}", CallSite(path, 71, "f")),),
        lowered=(Lowered(1, Phase.INFERENCE, 2, (Left("aten.sin.default", "tuned kernel", 2),), 0.2, 1e-7, (text,)),),
        stages=(
            Stage(1, Phase.INFERENCE, None, "aten", FX + f"# {text}\n"),
            Stage(1, Phase.INFERENCE, "region_0", "linalg", MLIR + f"// {text}\n"),
        ),
        calls=(Called(1, "batch", "2 → 3", f"no {text}"),),
        remarks=(f"made up: {text}",),
        shares=(Share(Process(7, f"python {text}", 0), 2, 1, 2),),
        output=(f"Traceback {text}",),
    )
    judged = (
        Judged(
            finding(path, 12, f"breaks {text}"), Verdict.CONFIRMED, "GB0124: graph break", Basis(True, (1,), ("0",))
        ),
        Judged(finding(path, 50), Verdict.REFUTED, "traced without a break", Basis(True)),
        Judged(finding(path, 51), Verdict.NOT_REACHED, "not traced", Basis(False)),
        Judged(finding("gone.py", 3), Verdict.NOT_REACHED, "not traced", Basis(False)),
    )
    stale = (Stale("f", path, 60, 2),)
    report = TargetReport(observation, judged, observation.breaks[1:], (observation.recompiles,), stale)
    return report, partial(_read, {path: "\n".join(lines) + "\n", target: "import net\n\nnet.main()\n"})


def _read(sources: dict[str, str], path: str) -> str:
    if path not in sources:
        raise FileNotFoundError(path)
    return sources[path]


def hostile() -> tuple[TargetReport, Read]:
    return whole(f"net/{HOSTILE}.py", HOSTILE, f"{HOSTILE}.py")


def large(findings: int) -> tuple[TargetReport, Read]:
    """Fifty findings and ten breaks in each of many files, with frames and guards around them."""
    paths = [f"package/layers/module_{number:03}.py" for number in range(findings // 50)]
    body = (
        "def forward_{0}(self, x, mask):\n    total = x.sum() + {0}\n    if total > mask.item():\n        x = x * 2\n"
    )
    source = "".join(body.format(number) + "    return x\n\n\n" for number in range(100))
    places = [(path, 7 * number + 3) for path in paths for number in range(50)]
    verdicts = (Verdict.CONFIRMED, Verdict.NOT_REACHED, Verdict.REFUTED, Verdict.NOT_REACHED, Verdict.NOT_REACHED)
    judged = tuple(
        Judged(
            finding(path, line), verdicts[at % 5], "GB0124: graph break", Basis(True, (at + 1,) if at % 5 == 0 else ())
        )
        for at, (path, line) in enumerate(places)
    )
    observation = Observation(
        "train.py",
        Status.OK,
        None,
        torch="2.13.0",
        breaks=tuple(broken(at + 1, path, line) for at, (path, line) in enumerate(places) if at % 5 == 0),
        frames=tuple(frame(f"{at}/0", path, line - 2) for at, (path, line) in enumerate(places) if at % 5 == 0),
    )
    return TargetReport(observation, judged, (), ()), lambda path: source
