"""An environment variable read in traced code: its value is baked in without a guard.

A warning where the project sets the variable itself, so that the baked value can be stale; else a note.
"""

from __future__ import annotations

from collections.abc import Iterator

from fullgraph.rules.model import Rule

from ..facts import Call, Fact
from ..findings import Confidence
from ..interpret.analysis import Analysis
from ..interpret.expressions import path_of
from ..interpret.frame import Frame, Hit
from ..interpret.usage import dotted, expressions_of
from ..ir import Node
from ..project import Module, all_statements
from ..values import Const, Host, Value

FACTS = (Call,)

READS = {"os.getenv", "os.environ.get", "os.environ.__contains__"}
CALLS = tuple(READS)
ANY = "*"


def check(fact: Fact, frame: Frame, rule: Rule) -> Iterator[Hit]:
    if not isinstance(fact, Call) or fact.symbol not in READS:
        return
    names = _written(frame.analysis)
    written = ANY in names or _name(fact.arguments.positional[:1]) in names
    note = "" if written else "nothing in the project sets it while the program runs"
    yield Hit(rule.code, fact.span, Confidence.CERTAIN if written else Confidence.LIKELY, note=note)


def _name(arguments: tuple[Value, ...]) -> str:
    match arguments:
        case (Const(value=str() as name),):
            return name
        case (Host(),):
            return ANY
    return ""


def _written(analysis: Analysis) -> frozenset[str]:
    """Names of the variables that the loaded modules set; `*` for a name that is not a literal."""
    key = "environment variables written"
    if key not in analysis.notes:
        analysis.notes[key] = frozenset(
            name for module in analysis.project.modules for name in _writes(analysis, module)
        )
    return analysis.notes[key]


def _writes(analysis: Analysis, module: Module) -> Iterator[str]:
    if b"environ" not in module.source and b"putenv" not in module.source:
        return
    for body in (module.body, *(symbol.body for symbol in module.symbols())):
        for statement in all_statements(body):
            if statement[0] == "assign":
                for target in statement[2]:
                    if target[0] == "sub" and _is_environment(analysis, module, target[2]):
                        yield _literal(target[3])
            for node in expressions_of(statement):
                if node[0] == "call" and dotted(analysis, module, node[2]) in ("os.putenv", "os.environ.setdefault"):
                    yield _literal(node[3][0]) if node[3] else ANY


def _is_environment(analysis: Analysis, module: Module, node: Node) -> bool:
    """`os.environ`, also where a function imports `os` for itself."""
    return dotted(analysis, module, node) == "os.environ" or path_of(node) == "os.environ"


def _literal(node: Node) -> str:
    return node[2] if node[0] == "const" and isinstance(node[2], str) else ANY
