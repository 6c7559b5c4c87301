"""`fullgraph rules`: the catalogue and the project's own rules, for people."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from difflib import get_close_matches

import click

from fullgraph.rules.page import page

from .known_rules import known_rules
from .prove import diff, prove


@click.group(no_args_is_help=False)
def rules() -> None:
    """List the rules, explain them, and prove them by compiling."""


rules.add_command(prove)
rules.add_command(diff)


@rules.command("list")
def list_rules() -> None:
    """One line a rule: code, name, effect."""
    catalogue = known_rules()
    code_width, width = (max(map(len, words)) for words in (catalogue, [rule.name for rule in catalogue.values()]))
    for rule in catalogue.values():
        click.echo(f"{rule.code:<{code_width}}  {rule.name:<{width}}  {rule.effect}")


@rules.command()
@click.argument("code")
def explain(code: str) -> None:
    """Say what a rule finds, why it matters and what to do; CODE is a code or a name."""
    catalogue = known_rules()
    by_word = {word: rule for rule in catalogue.values() for word in (rule.code, rule.name)}
    rule = by_word.get(code) or by_word.get(code.upper())
    if rule is None:
        near = get_close_matches(code, by_word, n=3, cutoff=0.6) or get_close_matches(code.upper(), by_word, n=3)
        hint = f"did you mean {' or '.join(near)}?" if near else "`fullgraph rules list` shows all"
        raise click.UsageError(f"no rule {code!r}; {hint}")
    text = page(rule)
    click.echo("\n".join(readable(text)) if sys.stdout.isatty() else text, nl=False)


def readable(markdown: str) -> Iterator[str]:
    """A page's Markdown for a terminal: headings stand out, code is indented, marks are gone."""
    code = False
    for line in markdown.split("\n"):
        if line.startswith("```"):
            code = not code
        elif code:
            yield f"    {click.style(line, fg='cyan')}" if line else ""
        elif line.startswith("#"):
            yield click.style(line.lstrip("# "), bold=True)
        elif line.startswith("|"):
            label, text = (cell.strip() for cell in line.strip("|").split("|", 1))
            if label.strip("- "):
                yield f"{label}: {text}"
        else:
            plain = re.sub("<(https?:[^>]*)>", r"\1", line)
            yield re.sub("`([^`]+)`", lambda match: click.style(match[1], fg="cyan"), plain)
