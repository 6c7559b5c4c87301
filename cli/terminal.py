"""Who reads the output: a terminal, with its width, colours and links, or a pipe."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterable

import click

from fullgraph import rules
from fullgraph.lint.emit.look import WIDTH, Look
from fullgraph.rules.model import Rule

BREAKS = "https://meta-pytorch.github.io/compile-graph-break-site/gb/{}.html"
"""PyTorch's page about a kind of graph break."""


def colour() -> bool | None:
    """Whether to keep the styles; None leaves it to click, which keeps them on a terminal."""
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR", "0") not in ("", "0"):
        return True
    return False if os.environ.get("TERM") == "dumb" else None


def width() -> int | None:
    """The columns of the terminal, or what COLUMNS says of it; None for a pipe."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def look(own_rules: Iterable[Rule]) -> Look:
    """Links are for terminals only; one that does not know them leaves the marks out."""
    if not sys.stdout.isatty() or os.environ.get("TERM") == "dumb":
        return Look(width() or WIDTH)
    pages = ((rule.code, _page(rule)) for rule in (*rules.load().values(), *own_rules))
    return Look(width() or WIDTH, {code: url for code, url in pages if url is not None})


def _page(rule: Rule) -> str | None:
    """Where more is said: the rule's first reference, or what PyTorch says of the graph break."""
    return next(iter((*rule.references, *(BREAKS.format(gb.lower()) for gb in rule.gb))), None)


def show(text: str, err: bool = False) -> None:
    click.echo(text, nl=False, color=colour(), err=err)
