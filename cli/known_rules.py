"""The rules that hold here: the built-in ones, and those of the project that the working directory belongs to."""

from __future__ import annotations

from fullgraph.lint.config import load as load_config
from fullgraph.rules import load
from fullgraph.rules.model import Rule


def known_rules() -> dict[str, Rule]:
    """By their codes, in order of them."""
    own = load_config((), frozenset(load())).rules
    return dict(sorted({**load(), **{rule.code: rule for rule in own}}.items()))
