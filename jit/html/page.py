"""The reports of all targets as one HTML file that needs nothing else.

Whatever a program, a path or a message holds is shown as text: templates escape it, and the page's policy admits no
style and no script but its own, by their hashes.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from ..verify import TargetReport
from .view import roots, view


def render(reports: Sequence[TargetReport], read: Callable[[str], str]) -> str:
    """`read` gives the source of a path, or raises OSError or ValueError."""
    several = len(reports) > 1
    targets = [view(report, number if several else None, read) for number, report in enumerate(reports, 1)]
    totals = Counter[str]()
    for target in targets:
        totals.update(target.counts)
    style, script = _text("page.css"), _text("page.js")
    text = (
        _environment()
        .get_template("page.html.j2")
        .render(
            title=reports[0].observation.target if len(reports) == 1 else f"{len(reports)} targets",
            torch=next((report.observation.torch for report in reports), ""),
            targets=targets,
            totals=totals,
            roots=roots(targets),
            style=Markup(style),
            script=Markup(script),
            policy=_policy(style, script),
        )
    )
    return text.encode("utf-8", "backslashreplace").decode()  # a path may hold bytes that are no text


@cache
def _environment() -> Environment:
    made = Environment(
        loader=PackageLoader(__package__),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters.update(seconds=_seconds, count=_count, prose=_prose)
    return made


def _text(name: str) -> str:
    loader = _environment().loader
    assert loader is not None
    return loader.get_source(_environment(), name)[0]


def _policy(style: str, script: str) -> str:
    return (
        f"default-src 'none'; style-src '{_hash(style)}'; script-src '{_hash(script)}'; "
        "base-uri 'none'; form-action 'none'"
    )


def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def _seconds(value: float) -> str:
    return f"{value:.1f} s" if value >= 1 else f"{1000 * value:.0f} ms"


def _prose(text: str) -> Markup:
    """What stands in backquotes is code."""
    parts = re.split(r"`([^`\n]+)`", text)
    return Markup("").join(Markup("<code>{}</code>").format(part) if at % 2 else part for at, part in enumerate(parts))


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
