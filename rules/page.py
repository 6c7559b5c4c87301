"""A rule's documentation, from the rule: a Markdown page with the same headings for every rule, and the index."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from .model import Example, Rule

FAMILIES = {
    "FG1": "Data-dependent control flow",
    "FG2": "Values and shapes that leave the graph",
    "FG3": "Builtins, C functions and side effects",
    "FG4": "Recompiles",
    "FG5": "Frozen values",
    "FG6": "Placement and configuration of torch.compile",
    "FG7": "User errors in traced code",
    "FG8": "Autograd, modules, contexts and hooks",
    "FG9": "The tool's own",
}


def page(rule: Rule) -> str:
    """The page of one rule."""
    return "\n".join(_page(rule))


def _page(rule: Rule) -> Iterator[str]:
    yield f"# {rule.code}: {rule.name}\n"
    yield from ("| | |", "| --- | --- |", *(f"| {label} | {text} |" for label, text in facts(rule)), "")
    yield f"## What it does\n\n{rule.what.strip()}\n"
    yield f"## Why is this bad\n\n{rule.why.strip()}\n"
    yield "## Example\n"
    yield from (_example(example) for example in rule.bad)
    yield f"## Use instead\n\n{rule.use_instead.strip()}\n"
    yield from (_example(example) for example in rule.good)
    yield f"## Fix safety\n\n{rule.fix_safety.strip()}\n"
    yield "## References\n"
    yield from (f"- <{reference}>" for reference in rule.references)
    yield from (f"- {gb} in PyTorch's registry of graph breaks" for gb in rule.gb)
    if not (rule.references or rule.gb):
        yield "None."
    yield ""


def facts(rule: Rule) -> list[tuple[str, str]]:
    """The rule's classification as (label, text) pairs."""
    modes = f"default: {rule.modes.default}; fullgraph=True: {rule.modes.fullgraph}"
    return [
        ("Effect", rule.effect),
        *([("Cause", rule.cause)] if rule.cause else []),
        ("Severity", rule.severity),
        *([("Modes", modes)] if rule.effect in ("graph-break", "skipped-frame") else []),
    ]


def _example(example: Example) -> str:
    title = [f"{example.title.strip()}\n"] if example.title else []
    return "\n".join([*title, f"```python\n{example.code.strip()}\n```\n"])


def index(rules: Iterable[Rule]) -> str:
    """The table of all rules, a section a family."""
    lines = ["# Rules\n"]
    rules = list(rules)
    for prefix, title in FAMILIES.items():
        if family := [rule for rule in rules if rule.code.startswith(prefix)]:
            lines += [f"## {title}\n", "| Code | Name | Effect | What it does |", "| --- | --- | --- | --- |"]
            lines += [
                f"| [{rule.code}]({rule.code}.md) | {rule.name} | {rule.effect} | {rule.summary} |" for rule in family
            ]
            lines.append("")
    return "\n".join(lines)
