"""What an exception of Dynamo's says about a break: kind, cause, explanation and hints."""

from __future__ import annotations

import re
from dataclasses import dataclass

from torch._dynamo import exc

LIMITS = {
    "Dynamo recompile limit exceeded",
    "FailOnRecompileLimitHit",
    "accumulated_recompile_limit reached",
    "recompile_limit reached",
}
"""The last two are torch 2.9's words."""
WHILE_HANDLING = "*** While handling this graph break, another graph break occurred: ***"


@dataclass(frozen=True, slots=True)
class Account:
    """`root_type` differs from `gb_type` where this break was raised while handling another one."""

    gb_type: str
    root_type: str
    reason: str
    hints: tuple[str, ...]


def account(error: BaseException) -> Account:
    message = str(getattr(error, "msg", error))
    root, _, text = message.rpartition(WHILE_HANDLING)
    gb_type = _type(error)
    if root:
        root_type = _first_line(root)
    else:
        root_type = _type(error.__cause__) if isinstance(error.__cause__, exc.Unsupported) else gb_type
    found = re.search(r"^  Explanation: (.+)$", text, re.MULTILINE)
    reason = found[1] if found else _first_line(text) or gb_type
    return Account(gb_type, root_type, reason, tuple(re.findall(r"^  Hint: (.+)$", text, re.MULTILINE)))


WRAPPED = re.compile(r"\bgot (\w+)\((['\"])(?P<said>.+?)\2,?\)", re.DOTALL)
"""How Dynamo quotes the error of an operator that it ran on fake tensors."""


def told(error: BaseException) -> str:
    """The first line of an error's text; of one that Dynamo wraps, what the operator itself said."""
    text = str(error)
    wrapped = WRAPPED.search(text) if isinstance(error, exc.TorchDynamoException) else None
    return _first_line(wrapped["said"].replace("\\n", "\n") if wrapped else text)


def is_soft(error: BaseException) -> bool:
    """Whether Dynamo leaves the frame to Python because of it, unless the user wants a whole graph."""
    return isinstance(error, exc.Unsupported | exc.UserError)


def is_limit(error: BaseException) -> bool:
    return _type(error) in LIMITS


def _type(error: BaseException) -> str:
    """Before torch 2.10 only the message of an `Unsupported` begins with it."""
    known: str | None = getattr(error, "gb_type", None)
    if known:
        return known
    return _first_line(str(error)) if isinstance(error, exc.Unsupported) else type(error).__name__


def _first_line(text: str) -> str:
    return text.strip().partition("\n")[0]
