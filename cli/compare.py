"""`fullgraph check --compare-torch`: what another version of torch would make of the same code."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import click

from fullgraph.lint.emit.concise import headline, shown
from fullgraph.lint.emit.json import finding_as_json
from fullgraph.lint.emit.look import Look
from fullgraph.lint.findings import CheckReport, Finding


class Comparison:
    """The findings of one version that the other does not have."""

    def __init__(self, old: CheckReport, new: CheckReport, notes: bool) -> None:
        before, after = _by_place(old, notes), _by_place(new, notes)
        self.versions = (old.torch, new.torch)
        self.appear = [finding for place, finding in after.items() if place not in before]
        self.vanish = [finding for place, finding in before.items() if place not in after]

    def render(self, output_format: str, look: Look) -> str:
        return self._json() if output_format == "json" else "\n".join((*self._lines(look), ""))

    def _lines(self, look: Look) -> Iterator[str]:
        old, new = self.versions
        both = [(finding, "-", "red") for finding in self.vanish] + [(finding, "+", "green") for finding in self.appear]
        for finding, sign, colour in sorted(both, key=lambda item: item[0].sort_key):
            yield f"{click.style(sign, fg=colour)} {headline(finding, look)}"
        yield f"from torch {old} to {new}: {len(self.appear)} findings appear, {len(self.vanish)} vanish"

    def _json(self) -> str:
        old, new = self.versions
        document: dict[str, Any] = {
            "schema": "fullgraph.compare/1",
            "torch": old,
            "compare_torch": new,
            "appear": [finding_as_json(finding) for finding in self.appear],
            "vanish": [finding_as_json(finding) for finding in self.vanish],
        }
        return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def _by_place(report: CheckReport, notes: bool) -> dict[tuple[object, ...], Finding]:
    return {finding.sort_key: finding for finding in shown(report, notes)}
