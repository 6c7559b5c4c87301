"""The data model of a rule, read from one YAML file each and carried by the packed catalogue. Imports nothing of ours.

A field's type, default and `pattern` also make the JSON schema of rule files; underscores at the end of a field's name
are not part of its key.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

Effect = Literal["graph-break", "skipped-frame", "recompile", "frozen-value", "placement", "user-error"]
Severity = Literal["error", "warning", "note"]
Cause = Literal["fundamental", "unsupported", "user-error"]
Confidence = Literal["certain", "likely", "possible"]
Outcome = Literal["breaks", "captured"]
Proof = Literal["break", "recompile", "frozen", "raise", "lint"]
"""What compiling a bad example must show at its marked lines; `lint` when compiling shows nothing."""

Kind = Literal["tensor", "host", "size", "string", "constant", "none", "any"]
"""What a `given` argument must be: a tensor; a Python value read from one; a size; a string; a literal or config
constant; None; whatever, but passed."""

PROOF_OF: dict[Effect, Proof] = {
    "graph-break": "break",
    "skipped-frame": "break",
    "recompile": "recompile",
    "frozen-value": "frozen",
    "placement": "lint",
    "user-error": "raise",
}

SYMBOL = r"^[A-Za-z_]\w*(\.([A-Za-z_]\w*|\*))*$"
"""A qualified name; `*` stands for any one name, as in `time.*`."""


@dataclass(frozen=True, slots=True)
class Modes:
    """What happens in each mode of torch.compile."""

    default: Outcome = "breaks"
    fullgraph: Outcome = "breaks"


@dataclass(frozen=True, slots=True)
class Match:
    """A declarative trigger: a call of, or an attribute read from, one of these symbols.

    `measured` names modules and classes instead: calls of whatever in them no rule names, and breaks by the evidence.
    """

    call: tuple[str, ...] = field(default=(), metadata={"pattern": SYMBOL})
    attribute: tuple[str, ...] = field(default=(), metadata={"pattern": SYMBOL})
    measured: tuple[str, ...] = field(default=(), metadata={"pattern": SYMBOL})
    except_: tuple[str, ...] = field(default=(), metadata={"pattern": SYMBOL})
    given: tuple[tuple[str, Kind], ...] = field(
        default=(), metadata={"pattern": r"^(\d+|[A-Za-z_]\w*)(\|[A-Za-z_]\w*)?$"}
    )
    """`(argument, kind)`: the argument, a name, a position or both as in `1|repeats`, is passed and of that kind."""
    absent: tuple[str, ...] = field(default=(), metadata={"pattern": r"^(\d+|[A-Za-z_]\w*)(\|[A-Za-z_]\w*)?$"})
    """Arguments that must not be passed."""
    arguments: int | None = None
    """The exact number of arguments."""

    @property
    def unconditional(self) -> bool:
        return not (self.given or self.absent) and self.arguments is None


@dataclass(frozen=True, slots=True)
class Example:
    """Runnable code; in a bad one, a trailing comment with the rule's code marks each line where the rule fires."""

    code: str
    run: tuple[str, ...] = ()
    """Statements executed in order after the code."""
    title: str = ""
    proof: Proof | None = None
    """None: what the rule's effect implies."""


@dataclass(frozen=True, slots=True)
class Rule:
    """One thing that breaks, and all that is said about it."""

    code: str = field(metadata={"pattern": r"^[A-Z]{2,10}[1-9]\d\d$"})
    name: str = field(metadata={"pattern": r"^[a-z][a-z0-9]*(-[a-z0-9]+)*$"})
    effect: Effect
    message: str
    """The finding's text; `{source}` and other facts about the finding are filled in."""
    advice: str
    what: str
    why: str
    use_instead: str
    fix_safety: str
    cause: Cause | None = None
    severity: Severity = "warning"
    confidence: Confidence = "certain"
    """The most that a finding of this rule may claim."""
    in_branch: Confidence | None = None
    """The most it may claim in a branch that an unknown Python value decides: a warning is seldom issued; of a user
    error in any branch."""
    gb: tuple[str, ...] = field(default=(), metadata={"pattern": r"^GB\d{4}$"})
    """Ids in PyTorch's registry of graph breaks."""
    modes: Modes = Modes()
    unless_config: tuple[str, ...] = field(default=(), metadata={"pattern": r"^[a-z][a-z0-9_]*$"})
    """Switches of `torch._dynamo.config` that make Dynamo capture it in default mode too."""
    match: tuple[Match, ...] = ()
    check: str | None = field(default=None, metadata={"pattern": r"^[a-z][a-z0-9_]*$"})
    """The module in `lint/checks/` that decides, in place of or beside `match`."""
    fix: tuple[str, ...] = field(default=(), metadata={"pattern": r"^[a-z][a-z0-9_]*$"})
    """The modules in `lint/fixes/` that edit the code, the one to prefer first."""
    references: tuple[str, ...] = field(default=(), metadata={"pattern": r"^https://"})
    bad: tuple[Example, ...] = ()
    good: tuple[Example, ...] = ()

    @property
    def summary(self) -> str:
        """The first sentence of `what`, on one line."""
        return " ".join(self.what.split()).partition(". ")[0].removesuffix(".")

    def proof(self, example: Example) -> Proof:
        return example.proof or PROOF_OF[self.effect]
